"""The application: what is asked for at each address, from values alone."""

import asyncio
import contextlib
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from freewill.collector.answers import SAFE_HEADERS, json_bytes, refuse
from freewill.collector.bodies import Bodies
from freewill.collector.database import StoreError
from freewill.collector.estimates import Estimates
from freewill.collector.holdings import evidence_of, people_by_day, people_of
from freewill.collector.intake import Intake
from freewill.collector.metrics import metrics_text
from freewill.collector.openapi import description
from freewill.collector.planning import Plans, asked
from freewill.collector.refusals import Refusal, RefusedError, busy, refused
from freewill.collector.site import Site
from freewill.collector.store import Store, is_token
from freewill.collector.uploads import Uploads, unknown_survey
from freewill.collector.writer import Writer, today
from freewill.io.evidence_file import save_evidence

_REPORTS = re.compile("/v1/surveys/([^/]*)/reports")
_PARQUET = "application/vnd.apache.parquet"
_FILE = "evidence.parquet"
_HEALTH_SECONDS = 1.0
"""For which a store that could be read is not looked at again, however many ask."""
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(eq=False)
class Collector:
    """Answers for the surveys of one store."""

    store: Store
    intakes: Mapping[str, Intake]
    writer: Writer
    estimates: Estimates
    bodies: Bodies
    token_hash: bytes
    public: bool = False
    """Whether everyone may see estimates, and how many people chose what."""

    def __post_init__(self) -> None:
        self.plans = Plans(self.store, self.estimates)
        self._well_until = 0.0

    async def surveys(self, request: Request) -> Response:
        """List the surveys that are served."""
        listed = await run_in_threadpool(self._listed)
        return told({"surveys": listed})

    def _listed(self) -> list[dict[str, Any]]:
        with self.store.view() as view:
            return [
                {
                    "id": own,
                    "title": intake.survey.title,
                    "alphabet": str(intake.survey.alphabet),
                    "mechanisms": list(intake.survey.mechanisms),
                    "closed": self.store.survey(view, own).closed,
                }
                for own, intake in self.intakes.items()
            ]

    async def survey(self, request: Request) -> Response:
        """Return a survey: what a device needs to answer it."""
        intake = self._intake(request)

        def closed() -> str | None:
            with self.store.view() as view:
                return self.store.survey(view, intake.id).closed

        told = {"id": intake.id, "closed": await run_in_threadpool(closed), "public": self.public}
        head = json_bytes(told)
        body = head[:-1] + b',"survey":' + intake.spec + b"}"
        return Response(body, media_type="application/json")

    async def people(self, request: Request) -> Response:
        """Return how many people chose each mechanism, by day."""
        intake = self._intake(request)
        self._check_reader(request)

        def found() -> dict[str, Any]:
            with self.store.view() as view:
                kept = self.store.survey(view, intake.id)
                total, days = people_of(view, kept), people_by_day(view, kept)
                closed = kept.closed
            least = self.estimates.min_people
            return {
                "id": intake.id,
                "people": total,
                "min_people": least,
                "closed": closed,
                "days": days,
            }

        return told(await run_in_threadpool(found))

    async def estimate(self, request: Request) -> Response:
        """Return the estimate of what is stored now, with intervals and checks."""
        intake = self._intake(request)
        self._check_reader(request)
        return Response(await self.estimates.current(intake.id), media_type="application/json")

    async def table(self, request: Request) -> Response:
        """Return the estimate as CSV, as `freewill estimate --csv` writes it."""
        intake = self._intake(request)
        self._check_reader(request)
        text = await self.estimates.after(self.estimates.table, intake.id)
        headers = {"content-disposition": f'attachment; filename="{intake.id}.csv"'}
        return Response(text, 200, headers, media_type="text/csv")

    async def plan(self, request: Request) -> Response:
        """Return how many more people it takes until intervals are short enough."""
        intake = self._intake(request)
        self._check_reader(request)
        question = asked(request.query_params.multi_items())
        return told(await self.estimates.after(self.plans.made, intake.id, question))

    async def evidence(self, request: Request) -> Response:
        """Return the evidence of a survey as Parquet, which `freewill estimate` reads."""
        intake = self._intake(request)
        self._check_admin(request)
        folder = await run_in_threadpool(self._evidence_folder, intake.id)
        # Sent from the file, piece by piece: it may be larger than memory.
        return FileResponse(
            Path(folder, _FILE),
            media_type=_PARQUET,
            filename=f"{intake.id}.parquet",
            background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
        )

    def _evidence_folder(self, survey: str) -> str:
        folder = tempfile.mkdtemp(prefix="freewill-evidence-")
        try:
            with self.store.view() as view:
                evidence = evidence_of(view, self.store.survey(view, survey))
                if not evidence.people:
                    raise refused(409, "nobody has answered yet", "Wait for the first reports.")
                save_evidence(evidence, Path(folder, _FILE))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder

    async def close(self, request: Request) -> Response:
        """Close a survey: it takes no more reports."""
        intake = self._intake(request)
        self._check_admin(request)
        await run_in_threadpool(self.store.close_survey, intake.id, today())
        return await self.survey(request)

    async def health(self, request: Request) -> Response:
        """Say whether reports can be stored."""
        if monotonic() > self._well_until:
            await run_in_threadpool(self._look)
            self._well_until = monotonic() + _HEALTH_SECONDS
        if self.writer.failing:
            raise busy("the last reports could not be stored")
        return told({"status": "ok", "surveys": len(self.intakes)})

    def _look(self) -> None:
        with self.store.view() as view:
            list(view.rows("SELECT count(*) FROM surveys"))

    async def metrics(self, request: Request) -> Response:
        """Return counts of what was done since the start, for Prometheus."""
        self._check_admin(request)
        return Response(metrics_text(self.writer, self.bodies), media_type=_METRICS)

    async def openapi(self, request: Request) -> Response:
        """Return the description of this interface."""
        return told(description(self.intakes))

    def stop(self) -> None:
        """Write what waits, and end the threads."""
        self.writer.stop()
        self.estimates.close()

    def _intake(self, request: Request) -> Intake:
        name = request.path_params["survey"]
        if name not in self.intakes:
            raise unknown_survey(name)
        return self.intakes[name]

    def _check_reader(self, request: Request) -> None:
        if not self.public:
            self._check_admin(request)

    def _check_admin(self, request: Request) -> None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not is_token(given.strip(), self.token_hash):
            raise refused(
                401,
                "this is for the administrator",
                "Send Authorization: Bearer and the token that the first start showed; `freewill "
                "serve --new-token` makes a new one.",
                headers={"www-authenticate": "Bearer"},
            )


def told(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer of JSON."""
    body, own = json_bytes(content), dict(headers or {})
    return Response(body, status, own, media_type="application/json")


async def refusal_answer(request: Request, error: Exception) -> Response:
    """Answer what was refused on purpose."""
    refusal = error.refusal if isinstance(error, RefusedError) else _unforeseen(error)
    return told(refusal.describe(), refusal.status, refusal.headers)


async def http_answer(request: Request, error: Exception) -> Response:
    """Answer what Starlette refuses: addresses that are not there, methods that are not taken."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    what = f"{request.method} {request.url.path}"
    refusal = Refusal(status, f"{what}: not here", "GET /v1/openapi.json has what there is.")
    headers = getattr(error, "headers", None) or {}
    return told(refusal.describe(), status, headers)


def _unforeseen(error: Exception) -> Refusal:
    if isinstance(error, StoreError):
        return Refusal(503, str(error), "Try again; if it stays so, tell the operator.")
    return Refusal(500, f"a fault of the collector's own ({type(error).__name__})", "Tell them.")


class _Safe:
    """Puts the safe headers on answers that do not have them yet.

    Reports, of which thousands come in a second, go past the router: it takes as long as all else.
    """

    def __init__(self, app: Any, uploads: Uploads) -> None:
        self.app, self.uploads = app, uploads

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            if found := _REPORTS.fullmatch(scope["path"]):
                scope["path_params"] = {"survey": found[1]}
                await self.uploads(scope, receive, send)
            else:
                await self._safely(scope, receive, send)
        except asyncio.CancelledError:
            # The server ends, and has waited for this long enough.
            with contextlib.suppress(RuntimeError):
                await refuse(send, busy("the collector is stopping").refusal)

    async def _safely(self, scope: Any, receive: Any, send: Any) -> None:
        async def safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                extra = [pair for pair in SAFE_HEADERS if pair[0] not in there]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        await self.app(scope, receive, safely)


def application(collector: Collector) -> Any:
    """Return the ASGI application of a collector; its end is the end of its threads."""
    root = "/v1/surveys/{survey}"
    uploads = Uploads(collector.intakes, collector.writer, collector.bodies)
    reading: dict[str, Handler] = {
        "/v1/surveys": collector.surveys,
        root: collector.survey,
        f"{root}/estimate": collector.estimate,
        f"{root}/table": collector.table,
        f"{root}/plan": collector.plan,
        f"{root}/people": collector.people,
        f"{root}/evidence": collector.evidence,
        "/v1/health": collector.health,
        "/v1/metrics": collector.metrics,
        "/v1/openapi.json": collector.openapi,
    }
    routes = [
        Route(f"{root}/close", collector.close, methods=["POST"]),
        *(Route(path, handler, methods=["GET"]) for path, handler in reading.items()),
        *Site(collector.intakes).routes(),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        yield
        await run_in_threadpool(collector.stop)

    handlers: dict[Any, Any] = {
        HTTPException: http_answer,
        RefusedError: refusal_answer,
        StoreError: refusal_answer,
        Exception: refusal_answer,
    }
    inner = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    inner.router.redirect_slashes = False
    return _Safe(inner, uploads)
