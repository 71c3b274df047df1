"""Whether reports fit their laws, and what sticks out where they do not."""
