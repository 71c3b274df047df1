"""The application: what is answered at each address, from values alone."""

import asyncio
import contextlib
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
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

from freewill.collector import openapi
from freewill.collector.answers import Application, json_bytes, refuse, with_safe_headers
from freewill.collector.database import StoreError
from freewill.collector.estimates import MIN_PEOPLE, Estimates
from freewill.collector.holdings import evidence_of, people_by_day, people_of
from freewill.collector.intake import Intake
from freewill.collector.openapi import CSV, PARQUET, SURVEY, TEXT, Operation, operation
from freewill.collector.planning import Plans, question_of
from freewill.collector.refusals import Refusal, RefusedError, busy, refused
from freewill.collector.site import Endpoint, site_routes
from freewill.collector.store import Store, is_token
from freewill.collector.surveys import survey_id
from freewill.collector.uploads import Uploads, metrics_text, unknown_survey
from freewill.collector.writer import Writer, today
from freewill.domain.survey import Survey
from freewill.io.evidence_file import save_evidence

_REPORTS = re.compile("/v1/surveys/([^/]*)/reports")
_FILE = "evidence.parquet"
_HEALTH_SECONDS = 1.0
"""For which a store that could be read is not asked again, however many ask."""
_METRICS = f"{TEXT}; version=0.0.4; charset=utf-8"
_QUESTION = (
    openapi.parameter(
        "target",
        "Half of the widest 95 % interval: 0.01 is a percentage point of people",
        {"type": "number", "exclusiveMinimum": 0},
    ),
    openapi.parameter(
        "of",
        "Every value's share, or the mean of a line or grid, in its unit",
        {"type": "string", "enum": ["shares", "mean"], "default": "shares"},
        required=False,
    ),
)


@dataclass(eq=False)
class Collector:
    """Answers for the surveys of one store.

    Each function that is marked as an operation answers at an address, with JSON unless it returns
    a response of its own; those that are no coroutines run beside the event loop.
    """

    store: Store
    intakes: Mapping[str, Intake]
    writer: Writer
    estimates: Estimates
    public: bool = False
    """Whether everyone may see estimates, and how many people chose what."""

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.intakes, self.writer)
        self.plans = Plans(self.store, self.estimates)
        self._token_hash = self.store.token_hash
        self._well_until = 0.0

    @operation("/v1/surveys", openapi.Surveys)
    def surveys(self, request: Request) -> openapi.Surveys:
        """List the surveys that are served."""
        with self.store.view() as view:
            return {
                "surveys": [
                    {
                        "id": own,
                        "title": intake.survey.title,
                        "alphabet": str(intake.survey.alphabet),
                        "mechanisms": list(intake.survey.mechanisms),
                        "closed": self.store.survey(view, own).closed,
                    }
                    for own, intake in self.intakes.items()
                ]
            }

    @operation(SURVEY, openapi.Survey, 404)
    def survey(self, request: Request, intake: Intake) -> Response:
        """Return a survey: what a device needs to answer it."""
        with self.store.view() as view:
            closed = self.store.survey(view, intake.id).closed
        head = json_bytes({"id": intake.id, "closed": closed, "public": self.public})
        body = head[:-1] + b',"survey":' + intake.spec + b"}"
        return Response(body, media_type="application/json")

    @operation(f"{SURVEY}/people", openapi.People, 404, access="readers")
    def people(self, request: Request, intake: Intake) -> openapi.People:
        """Return how many people chose each mechanism, by day."""
        with self.store.view() as view:
            stored = self.store.survey(view, intake.id)
            return {
                "id": intake.id,
                "people": people_of(view, stored),
                "min_people": self.estimates.min_people,
                "closed": stored.closed,
                "days": people_by_day(view, stored),
            }

    @operation(f"{SURVEY}/estimate", openapi.Estimate, 404, 409, access="readers")
    async def estimate(self, request: Request, intake: Intake) -> Response:
        """Return the estimate of what is stored now, with intervals and checks."""
        return Response(await self.estimates.current(intake.id), media_type="application/json")

    @operation(f"{SURVEY}/table", CSV, 404, 409, access="readers")
    async def table(self, request: Request, intake: Intake) -> Response:
        """Return the estimate as CSV, as `freewill estimate --csv` writes it."""
        text = await self.estimates.after(self.estimates.table, intake.id)
        headers = {"content-disposition": f'attachment; filename="{intake.id}.csv"'}
        return Response(text, 200, headers, media_type=CSV)

    @operation(f"{SURVEY}/plan", openapi.Plan, 404, 409, 422, access="readers", query=_QUESTION)
    async def plan(self, request: Request, intake: Intake) -> Any:
        """Return how many more people it takes until intervals are short enough."""
        question = question_of(request.query_params.multi_items())
        return await self.estimates.after(self.plans.made, intake.id, question)

    @operation(f"{SURVEY}/evidence", PARQUET, 404, 409, access="administrator")
    def evidence(self, request: Request, intake: Intake) -> Response:
        """Return the evidence of a survey as Parquet, which `freewill estimate` reads."""
        with contextlib.ExitStack() as undo:
            folder = tempfile.mkdtemp(prefix="freewill-evidence-")
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            with self.store.view() as view:
                evidence = evidence_of(view, self.store.survey(view, intake.id))
                if not evidence.people:
                    raise refused(409, "nobody has answered yet", "Wait for the first reports.")
                save_evidence(evidence, Path(folder, _FILE))
            # Sent from the file, piece by piece: it may be larger than memory.
            return FileResponse(
                Path(folder, _FILE),
                media_type=PARQUET,
                filename=f"{intake.id}.parquet",
                background=BackgroundTask(undo.pop_all().close),
            )

    @operation(f"{SURVEY}/close", openapi.Survey, 404, access="administrator", method="POST")
    def close(self, request: Request, intake: Intake) -> Response:
        """Close a survey: it takes no more reports."""
        self.store.close_survey(intake.id, today())
        return self.survey(request, intake)

    @operation("/v1/health", openapi.Health, 503)
    async def health(self, request: Request) -> openapi.Health:
        """Say whether reports can be stored."""
        if monotonic() > self._well_until:
            await run_in_threadpool(self._read_store)
            self._well_until = monotonic() + _HEALTH_SECONDS
        if self.writer.failing:
            raise busy("the last reports could not be stored")
        return {"status": "ok", "surveys": len(self.intakes)}

    def _read_store(self) -> None:
        with self.store.view() as view:
            list(view.rows("SELECT count(*) FROM surveys"))

    @operation("/v1/metrics", TEXT, access="administrator")
    async def metrics(self, request: Request) -> Response:
        """Return counts of what was done since the start, for Prometheus."""
        return Response(metrics_text(self.uploads), media_type=_METRICS)

    @operation("/v1/openapi.json", dict[str, Any])
    async def description(self, request: Request) -> dict[str, Any]:
        """Return the description of this interface."""
        operations = openapi.operations_of(Collector, Uploads).values()
        return openapi.description(operations, self.intakes)

    def stop(self) -> None:
        """Write what waits, and end the threads."""
        self.writer.stop()
        self.estimates.close()

    def routes(self) -> list[Route]:
        """Return where all operations are found, but that of reports."""
        return [
            Route(own.path, self._endpoint(getattr(self, name), own), methods=[own.method])
            for name, own in openapi.operations_of(Collector).items()
        ]

    def _endpoint(self, handler: Callable[..., Any], own: Operation) -> Endpoint:
        """Return a handler for surveys that there are, and those who may ask."""
        free = ("everyone", "readers") if self.public else ("everyone",)
        run = handler if iscoroutinefunction(handler) else partial(run_in_threadpool, handler)

        async def endpoint(request: Request) -> Response:
            name = request.path_params.get("survey")
            if name is not None and name not in self.intakes:
                raise unknown_survey(name)
            if own.access not in free:
                self._check_admin(request)
            content = await run(request, *([] if name is None else [self.intakes[name]]))
            return content if isinstance(content, Response) else json_response(content)

        return endpoint

    def _check_admin(self, request: Request) -> None:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not is_token(given.strip(), self._token_hash):
            raise refused(
                401,
                "this is for the administrator",
                "Send Authorization: Bearer and the token that the first start showed; `freewill "
                "serve --new-token` makes a new one.",
                headers={"www-authenticate": "Bearer"},
            )


def collector(
    store: Store,
    surveys: Sequence[Survey],
    min_people: int = MIN_PEOPLE,
    public: bool = False,
) -> Collector:
    """Return a collector of surveys, ready to answer."""
    intakes = {survey_id(survey): Intake(survey, store.add(survey)) for survey in surveys}
    return Collector(store, intakes, Writer(store), Estimates(store, min_people), public)


def json_response(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an answer of JSON."""
    body, own = json_bytes(content), dict(headers or {})
    return Response(body, status, own, media_type="application/json")


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer what is refused, by us or (addresses, methods) by Starlette, and what went wrong."""
    if isinstance(error, RefusedError):
        refusal = error.refusal
    elif isinstance(error, HTTPException):
        what = f"{request.method} {request.url.path}: not here"
        advice = "GET /v1/openapi.json has what there is."
        refusal = Refusal(error.status_code, what, advice, headers=error.headers or {})
    elif isinstance(error, StoreError):
        refusal = Refusal(503, str(error), "Try again; if it stays so, tell the operator.")
    else:
        fault = f"a fault of the collector's own ({type(error).__name__})"
        refusal = Refusal(500, fault, "Tell them.")
    return json_response(refusal.describe(), refusal.status, refusal.headers)


def application(collector: Collector) -> Application:
    """Return the ASGI application of a collector; its end is the end of its threads.

    Reports, of which thousands come in a second, go past the router: it takes as long as all else.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        yield
        await run_in_threadpool(collector.stop)

    errors: tuple[Any, ...] = (HTTPException, RefusedError, StoreError, Exception)
    routed = Starlette(
        routes=[*collector.routes(), *site_routes(collector.intakes)],
        exception_handlers=dict.fromkeys(errors, answer_error),
        lifespan=lifespan,
    )
    routed.router.redirect_slashes = False

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await routed(scope, receive, send)
            return
        try:
            if match := _REPORTS.fullmatch(scope["path"]):
                scope["path_params"] = {"survey": match[1]}
                await collector.uploads(scope, receive, send)
            else:
                await routed(scope, receive, with_safe_headers(send))
        except asyncio.CancelledError:
            # The server ends, and has waited for this long enough.
            with contextlib.suppress(RuntimeError):
                await refuse(send, busy("the collector is stopping").refusal)

    return answered
