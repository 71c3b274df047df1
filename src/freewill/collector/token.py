"""The administrator's token: made at the first start, shown once, kept as a hash."""

import hashlib
import hmac
import secrets

from freewill.collector.store import Store

_BYTES = 32


def first_token(store: Store) -> str | None:
    """Return a new token if the store has none yet: this is the one time that it can be shown.

    Of several collectors that start at once, one makes it.
    """
    token = secrets.token_urlsafe(_BYTES)
    return token if store.set_token_hash(digest(token), first=True) else None


def new_token(store: Store) -> str:
    """Put a new token in the place of the one before."""
    token = secrets.token_urlsafe(_BYTES)
    store.set_token_hash(digest(token))
    return token


def digest(token: str) -> bytes:
    """Return what is kept of a token; of 256 random bits no slow hash is needed.

    >>> len(digest("a"))
    32
    """
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def is_token(given: str, kept: bytes) -> bool:
    """Say whether this is the token, in a time that tells nothing of how near it is."""
    return bool(kept) and hmac.compare_digest(digest(given), kept)
