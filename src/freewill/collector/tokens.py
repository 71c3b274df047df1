"""Who may ask what: a token for each role, from a file, the environment or the store."""

import hashlib
import hmac
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias, get_args

from freewill.collector.answers import RefusedError
from freewill.collector.database import StoreError
from freewill.errors import ParameterError, why

Role: TypeAlias = Literal["administrator", "viewer", "metrics"]
"""A viewer sees people, estimates, tables and plans; metrics are sums of what the server does."""
Access: TypeAlias = Literal["everyone"] | Role
"""Who may ask for something; the administrator may ask for everything."""
ROLES: tuple[Role, ...] = get_args(Role)
_PLACES: Mapping[Role, tuple[str, str]] = {
    "administrator": ("--token-file", "FREEWILL_ADMIN_TOKEN"),
    "viewer": ("--viewer-token-file", "FREEWILL_VIEWER_TOKEN"),
    "metrics": ("--metrics-token-file", "FREEWILL_METRICS_TOKEN"),
}
"""The option of a file with a token, and the variable with one."""
_FOR: Mapping[Access, str] = {
    "administrator": "the administrator",
    "viewer": "viewers and the administrator",
    "metrics": "who reads the metrics, and the administrator",
}
_LEAST = 16
"""Characters of a token; ours have 43."""
_MOST_BYTES = 1 << 12
"""Of a file with a token: a head of a request has 16 KiB."""
_TOKEN = re.compile(rf"[!-~]{{{_LEAST},}}")
_SECONDS = 1.0
"""For which files and the store are not asked again."""
_OTHERS = stat.S_IRGRP | stat.S_IROTH


def token_digest(token: str) -> bytes:
    """Return the hash of a token that is stored; of 256 random bits no slow hash is needed.

    >>> len(token_digest("a"))
    32
    """
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True)
class Sources:
    """Where tokens come from that are not made by the server itself."""

    files: Mapping[Role, Path] = field(default_factory=dict)
    """Read again and again: a token may change."""
    given: Mapping[Role, str] = field(default_factory=dict)
    """Tokens of the environment."""

    @property
    def roles(self) -> frozenset[Role]:
        """The roles whose tokens come from here, and not from the store."""
        return frozenset((*self.files, *self.given))

    def remarks(self) -> list[str]:
        """Say which files others than their owner may read."""
        return [
            f"{path}, the file of the {role} token, can be read by others: chmod 600 {path}"
            for role, path in self.files.items()
            if path.stat().st_mode & _OTHERS
        ]


STORE_ALONE = Sources()


def sources(files: Mapping[Role, Path | None], environment: Mapping[str, str]) -> Sources:
    """Return where the tokens come from: of each role one file, or one variable, or the store.

    >>> sources({}, {"FREEWILL_VIEWER_TOKEN": "correct-horse-battery"}).roles
    frozenset({'viewer'})
    """
    paths: dict[Role, Path] = {}
    given: dict[Role, str] = {}
    owners: dict[str, Role] = {}
    for role, (option, variable) in _PLACES.items():
        ways = {
            option: files.get(role),
            f"{variable}_FILE": environment.get(f"{variable}_FILE"),
            variable: environment.get(variable),
        }
        named = {way: place for way, place in ways.items() if place}
        if len(named) > 1:
            raise ParameterError(
                f"{' and '.join(named)}: expected one place of the {role} token. Name one of them."
            )
        for way, place in named.items():
            if way == variable:
                token = given[role] = _checked(str(place), way)
            else:
                paths[role] = Path(place)
                token = read_token(paths[role])
            if token in owners:
                raise ParameterError(
                    f"{way}: the {role} token is the {owners[token]} token, too, and whoever has "
                    f"one has both roles. Give each role a token of its own."
                )
            owners[token] = role
    return Sources(paths, given)


def read_token(path: Path) -> str:
    """Return the token of a file; blanks and the end of the line around it are none of it."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ParameterError(f"{path}: expected a file with a token, and this is none.")
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("ascii", "replace")
    except OSError as error:
        raise ParameterError(f"{path}: {why(error)}. Expected a file with a token.") from None
    return _checked(text.strip(), str(path))


def _checked(token: str, place: str) -> str:
    """Refuse what can be guessed, or cannot be sent; the message does not show it."""
    if not _TOKEN.fullmatch(token):
        raise ParameterError(
            f"{place}: expected a token of at least {_LEAST} characters of ASCII without blanks. "
            f"`openssl rand -base64 32` makes one."
        )
    return token


class Tokens:
    """The tokens that hold now; a file that cannot be read, or has a weak one, opens nothing.

    >>> tokens = Tokens(dict, Sources(given={"viewer": "correct-horse-battery"}))
    >>> tokens.roles_of("Bearer correct-horse-battery"), tokens.roles_of("Bearer of bad news")
    (frozenset({'viewer'}), frozenset())
    """

    def __init__(
        self, stored: Callable[[], Mapping[Role, bytes]], named: Sources = STORE_ALONE
    ) -> None:
        self._stored, self._named = stored, named
        self._made: Mapping[Role, bytes] = {}
        self._until = 0.0
        self.refresh()

    @property
    def due(self) -> bool:
        """Whether to look again; true for one who asks, once a second."""
        now = monotonic()
        due = now >= self._until
        if due:
            self._until = now + _SECONDS
        return due

    def refresh(self) -> None:
        """See what changed in files, and in the store by whichever process."""
        with suppress(StoreError):  # while it is away, what held before holds
            self._made = self._stored()
        of_files = dict.fromkeys(self._named.files, b"")
        for role, path in self._named.files.items():
            with suppress(ParameterError):
                of_files[role] = token_digest(read_token(path))
        given = {role: token_digest(token) for role, token in self._named.given.items()}
        self._digests = {**self._made, **of_files, **given}

    def roles_of(self, authorization: str) -> frozenset[Role]:
        """Return the roles of a header's token, in a time that tells nothing of how near it is."""
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer":
            return frozenset()
        digest = token_digest(token.strip())
        return frozenset(
            role for role, own in self._digests.items() if hmac.compare_digest(digest, own)
        )


def not_yours(needed: Access) -> RefusedError:
    """Return the refusal of who has not the role; it is the same whatever tokens there are."""
    return RefusedError(
        401,
        f"this is for {_FOR[needed]}",
        "Send Authorization: Bearer and a token of this role. Whoever runs the server has it, or "
        "makes a new one by `freewill token`.",
        headers={"www-authenticate": "Bearer"},
    )
