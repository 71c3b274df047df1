"""What mechanisms promise, and the audit that recomputes the promise from the law."""
