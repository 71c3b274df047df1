"""One command: surveys in, a server on an address, and an end that loses nothing."""

import gc
import signal
import socket
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec

from freewill import __version__
from freewill.collector.database import StoreError
from freewill.collector.releases import ReleaseRule
from freewill.collector.rounds import asked_before
from freewill.collector.store import Store, open_store
from freewill.collector.surveys import MIN_PEOPLE
from freewill.collector.tokens import STORE_ALONE, Sources
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, why

_BACKLOG = 2048
_GRACE_SECONDS = 20
_TURN_SECONDS = 0.001
_FILES = 256
"""Files that may be open beside connections: the store, its readers, evidence that is sent."""
_GARBAGE = 50_000
"""New objects after which garbage is looked for."""


def require_serve() -> None:
    """Refuse to serve without the libraries that it needs."""
    needed = ("httptools", "msgspec", "plotly", "starlette", "uvicorn")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise ParameterError(
            f"{missing[0]} is not installed, which `freewill serve` needs: pip install "
            f"'freewill[serve]'."
        )


def serve(
    surveys: dict[str, Survey],
    started: Callable[[dict[str, str], str | None], None],
    host: str = "127.0.0.1",
    port: int = 8000,
    store: str = "collector.db",
    min_people: int = MIN_PEOPLE,
    public: bool = False,
    new_token: bool = False,
    rule: ReleaseRule | None = None,
    tokens: Sources = STORE_ALONE,
    mended: bool = False,
    remark: Callable[[str], None] = lambda _: None,
    origins: Collection[str] = (),
    drain_seconds: float = 0.0,
    log: Callable[[str], None] | None = None,
) -> None:
    """Serve surveys, by the names of their files, until the process is told to end.

    `started` is called with the pages on which people answer, by the same names, and with the
    administrator's token where it is new: this is the one time that it can be shown. At the end no
    more is taken in, what waits is written and answered, and the store is written anew, in an order
    that tells nothing. A signal that comes while all is made ready waits until then. `mended` says
    that questions in the store were mended, and are none other. `remark` is called with what else
    the operator should know, and `log` with lines about the server itself. Pages of `origins` may
    ask for surveys and send reports. For `drain_seconds` after a signal all goes on, but for the
    health check: whoever sends people here notices, and sends them elsewhere.
    """
    require_serve()
    import uvicorn  # noqa: PLC0415

    from freewill.collector.app import Collector, application  # noqa: PLC0415
    from freewill.collector.journal import Journal, Watch  # noqa: PLC0415
    from freewill.collector.server import Server  # noqa: PLC0415

    journal = Journal(log) if log else Journal()
    _check_distinct(surveys)
    token_given = "administrator" in tokens.roles
    if new_token and token_given:
        raise ParameterError(
            "--new-token, and a token for the administrator in a file or the environment: put a "
            "new one there, or leave one of them out."
        )
    with listening(host, port) as listener, closing(open_store(store)) as opened:
        with _noted_signals() as signals:
            with opened.view() as view:
                asked = [asked_before(view, survey) for survey in surveys.values()]
            for text in filter(None, (*tokens.remarks(), opened.renewal, *asked)):
                remark(text)
            token = None if token_given else opened.new_token(first=not new_token)
            made = Collector(opened, surveys.values(), min_people, public, rule, tokens, mended)

            def draining() -> None:
                made.writer.draining = True
                journal.say("stopping")

            config = uvicorn.Config(
                application(made, origins, Watch(made, journal) if log else None),
                access_log=False,
                # Warnings are of what others send: they would fill whatever keeps them.
                log_level="error",
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="on",
                backlog=_BACKLOG,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
            server = Server(
                config,
                most_connections=most_connections(),
                signals=signals,
                drain_seconds=drain_seconds,
                draining=draining,
                refused=made.refused,
            )
            made.connections = server.server_state.connections
            if log:
                journal.faults()
            _unhurried()
            at, number = listener.getsockname()[:2]
            root = f"http://{f'[{at}]' if ':' in at else at}:{number}"
            pages = {name: f"{root}/{made.addresses.page(own.id)}" for name, own in surveys.items()}
            try:
                started(pages, token)
                journal.say("started", version=__version__, surveys=len(pages), store=str(opened))
                server.run(sockets=[listener])
            finally:
                made.stop()
        try:
            _put_in_order(opened)
        except StoreError:
            journal.say("stopped", in_order=False)
            raise
        journal.say("stopped", in_order=True)


def _unhurried() -> None:
    """Let the process do less that nobody asked for."""
    # What is there now stays, and rows of reports hold no cycles: the collector of garbage need not
    # look at them again and again.
    gc.freeze()
    gc.set_threshold(_GARBAGE, *gc.get_threshold()[1:])
    # A thread that works through a batch lets the others have their turn sooner than usual.
    sys.setswitchinterval(_TURN_SECONDS)


def _put_in_order(store: Store) -> None:
    """Write a store anew at the end; where that fails, say what holds all the same."""
    try:
        store.tidy()
    except (StoreError, KeyboardInterrupt) as error:
        why_not = str(error) or "it was interrupted."
        kind = type(error) if isinstance(error, StoreError) else StoreError
        raise kind(
            f"{store} was not put in order at the end: {why_not} Everything that was acknowledged "
            f"is in it, in an order that may tell when reports came. Leave any files beside it "
            f"(-wal, -shm) where they are, mend what is wrong, and start and stop `freewill serve` "
            f"once more."
        ) from None


def most_connections() -> int:
    """Return how many connections there may be, for which more files may be open if need be."""
    from freewill.collector.server import MOST_CONNECTIONS  # noqa: PLC0415

    try:
        import resource  # noqa: PLC0415
    except ImportError:  # Windows, which has no such limit
        return MOST_CONNECTIONS
    needed = MOST_CONNECTIONS + _FILES
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < needed:
        files = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(files // 2, files - _FILES))


@contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Note signals instead of ending by them: a server that is told of the list ends.

    The server has handlers of its own while it runs; one that comes before that must not be lost.
    """
    signals: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda n, _: signals.append(n)) for number in numbers]
    try:
        yield signals
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, before anything else is done: a port in use is told at once."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(
            (host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both
        )
    except (OSError, OverflowError, UnicodeError) as error:
        reason = why(error) if isinstance(error, OSError) else str(error)
        raise ParameterError(
            f"--host {host} --port {port}: {reason}. Choose another port, or end what listens "
            f"there."
        ) from None


def _check_distinct(surveys: dict[str, Survey]) -> None:
    """Refuse surveys, by the names of their files, that are one survey, or two rounds of one."""
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    for file, survey in surveys.items():
        first = ids.setdefault(survey.id, file)
        if first != file:
            raise StoreError(
                f"{first} and {file} are one survey: the same values and mechanisms. If they ask "
                f'the same, name it once; if not, give each a "name" of its own.'
            )
        if survey.name and (other := names.setdefault(survey.name, file)) != file:
            raise StoreError(
                f"{other} and {file} are two rounds of {survey.name!r}: people answer one at a "
                f"time. Serve the last; what earlier ones collected stays, and adds up."
            )
