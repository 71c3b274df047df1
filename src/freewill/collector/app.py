"""The application: what is answered at each address, from values alone."""

import asyncio
import contextlib
import re
import tempfile
from collections.abc import Collection, Iterable
from contextlib import asynccontextmanager
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from freewill.collector import answers, openapi
from freewill.collector.answers import JSON, RefusedError
from freewill.collector.database import StoreError
from freewill.collector.estimates import Estimates
from freewill.collector.faults import answering
from freewill.collector.health import Health
from freewill.collector.intake import Intake, Uploads, unknown_survey
from freewill.collector.metrics import Refusals, metrics_text
from freewill.collector.openapi import CSV, PARQUET, SURVEY, TEXT, Operation, handlers_of
from freewill.collector.origins import allowing
from freewill.collector.planning import Plans, question_of
from freewill.collector.questions import Subject, subject_of
from freewill.collector.records import intake_of
from freewill.collector.releases import ReleaseRule, Releases, releasing
from freewill.collector.site import site_routes
from freewill.collector.sources import Live
from freewill.collector.store import Store
from freewill.collector.survey_log import log_end, log_entries
from freewill.collector.surveys import MIN_PEOPLE, evidence_of, people_by_day, today
from freewill.collector.tokens import STORE_ALONE, Access, Role, Sources, Tokens, not_yours
from freewill.collector.writer import Writer
from freewill.core.presented import json_bytes
from freewill.core.texts import whole
from freewill.domain.questionnaire import Questionnaire
from freewill.domain.survey import Survey
from freewill.errors import shown
from freewill.io.evidence_file import save_evidence

if TYPE_CHECKING:
    from freewill.collector.journal import Watch

_REPORTS = re.compile("/v1/surveys/([^/]*)/reports")
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


_MOST_ENTRIES = 1000
_FROM = openapi.parameter(
    "from",
    "The number of the first entry",
    {"type": "integer", "minimum": 1, "default": 1},
    required=False,
)
_OF = openapi.parameter(
    "of",
    "Of a survey of several questions: which one, or two of them with a comma between",
    {"type": "string"},
    required=False,
)


def _subject(request: Request, intake: Intake) -> Subject:
    return subject_of(intake.id, intake.survey, request.query_params.multi_items())


class Collector:
    """Answers for the surveys of one store; where it is `public`, everyone sees its releases.

    Each function that is marked as an operation answers at an address, with JSON unless it returns
    a response of its own; those that are no coroutines run beside the event loop.
    """

    def __init__(
        self,
        store: Store,
        surveys: Iterable[Survey],
        min_people: int = MIN_PEOPLE,
        public: bool = False,
        rule: ReleaseRule | None = None,
        tokens: Sources = STORE_ALONE,
    ) -> None:
        self.store, self.public, self.rule = store, public, rule or ReleaseRule()
        self.tokens = Tokens(store.token_hashes, tokens)
        self.intakes = {survey.id: intake_of(survey, store.add(survey)) for survey in surveys}
        offered = [intake.survey for intake in self.intakes.values()]
        self.releases = Releases(store, offered if public else (), self.rule, min_people)
        self.writer, self.estimates = Writer(store), Estimates(Live(store), min_people)
        self.published = Estimates(self.releases, min_people)
        self.refusals, self.health_of = Refusals(), Health(store, self.writer)
        self.uploads = Uploads(self.intakes, self.writer, refused=self.refusals.count)
        self.plans, self.published_plans = Plans(self.estimates), Plans(self.published)
        self.connections: Collection[Any] = ()
        """Those that are open, where a server tells."""

    @Operation("/v1/surveys", openapi.Surveys)
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
                        "questions": list(getattr(intake.survey, "questions", {})),
                        "closed": self.store.survey(view, own).closed,
                    }
                    for own, intake in self.intakes.items()
                ]
            }

    @Operation(SURVEY, openapi.Survey, (404,))
    def survey(self, request: Request, intake: Intake) -> Response:
        """Return a survey: what a device needs to answer it."""
        with self.store.view() as view:
            closed = self.store.survey(view, intake.id).closed
        logged = self.store.logged(intake.id)._asdict()
        head = json_bytes({"id": intake.id, "closed": closed, "public": self.public, "log": logged})
        body = head[:-1] + b',"explained":' + intake.explained + b',"survey":' + intake.spec + b"}"
        return Response(body, media_type=JSON)

    @Operation("/v1/log", openapi.Log, (422,), query=(_FROM,))
    def log(self, request: Request) -> openapi.Log:
        """Return the public log of surveys: what was served and closed, each entry bound to all.

        At most 1,000 entries at once, from the number that is asked for on.
        """
        first = whole(request.query_params.get("from", "1"))
        if first is None or first < 1:
            what = f"from={shown(request.query_params['from'])}"
            raise RefusedError(422, what, "Expected the number of an entry: 1, 2, ...")
        with self.store.view() as view:
            entries: Any = log_entries(view, first, _MOST_ENTRIES)
            return {**log_end(view)._asdict(), "entries": entries}  # type: ignore[typeddict-item]

    @Operation(f"{SURVEY}/people", openapi.People, (404,), access="viewer")
    def people(self, request: Request, intake: Intake) -> openapi.People:
        """Return how many people chose each mechanism; of several questions, for each.

        Those who may see what is stored now are told by day; everyone, of the last release, rounded
        numbers or ones with noise.
        """
        seen = self._seen(request)
        with self.store.view() as view:
            release = self.releases.last(view, intake.id)
            answer: openapi.People = {
                "id": intake.id,
                "roles": sorted(request.state.roles),
                "live": seen is self.estimates,
                "release": release and release.described(),
                "rule": self.rule.described(),
                "people": 0,
                "min_people": seen.min_people,
                "closed": self.store.survey(view, intake.id).closed,
                "mechanisms": {},
            }
            if answer["live"] or release:
                answer.update(seen.people(view, intake.id))
            if answer["live"]:
                answer["days"] = people_by_day(view, self.store.survey(view, intake.id))
            return answer

    @Operation(
        f"{SURVEY}/estimate", openapi.Estimate, (404, 409, 422), access="viewer", query=(_OF,)
    )
    async def estimate(self, request: Request, intake: Intake) -> Response:
        """Return the estimate of what is stored now, or was published last, with its uncertainty.

        Of several questions, of one of them, or of two with their cross table.
        """
        subject = _subject(request, intake)
        return Response(await self._seen(request).current(subject), media_type=JSON)

    @Operation(f"{SURVEY}/table", CSV, (404, 409, 422), access="viewer", query=(_OF,))
    async def table(self, request: Request, intake: Intake) -> Response:
        """Return the estimate as CSV, as `freewill estimate --csv` writes it.

        What is not for publication is called so: the name of the file ends in -live.
        """
        seen = self._seen(request)
        text = await seen.after(seen.table, _subject(request, intake))
        name = f"{intake.id}-live.csv" if seen is self.estimates else f"{intake.id}.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text, 200, headers, media_type=CSV)

    @Operation(f"{SURVEY}/plan", openapi.Plan, (404, 409, 422), access="viewer", query=_QUESTION)
    async def plan(self, request: Request, intake: Intake) -> Any:
        """Return how many more people it takes until intervals are short enough."""
        target, of = question_of(request.query_params.multi_items())
        if isinstance(intake.survey, Questionnaire):
            advice = "Take the evidence, and run `freewill plan`."
            raise RefusedError(409, "plans of several questions are not made here yet", advice)
        seen = self._seen(request)
        plans = self.plans if seen is self.estimates else self.published_plans
        return await seen.after(plans.made, intake.id, target, of)

    @Operation(f"{SURVEY}/evidence", PARQUET, (404, 409), access="administrator")
    def evidence(self, request: Request, intake: Intake) -> Response:
        """Return the evidence of a survey as Parquet, which `freewill estimate` reads."""
        with contextlib.ExitStack() as undo:
            folder = undo.enter_context(
                tempfile.TemporaryDirectory(prefix="freewill-evidence-", ignore_cleanup_errors=True)
            )
            path = Path(folder, "evidence.parquet")
            with self.store.view() as view:
                evidence = evidence_of(view, self.store.survey(view, intake.id))
                if not evidence.people:
                    advice = "Wait for the first reports."
                    raise RefusedError(409, "nobody has answered yet", advice)
                save_evidence(evidence, path)
            # Sent from the file, piece by piece: it may be larger than memory.
            return FileResponse(
                path,
                media_type=PARQUET,
                filename=f"{intake.id}.parquet",
                background=BackgroundTask(undo.pop_all().close),
            )

    @Operation(f"{SURVEY}/close", openapi.Survey, (404,), access="administrator", method="POST")
    def close(self, request: Request, intake: Intake) -> Response:
        """Close a survey: it takes no more reports."""
        self.store.close_survey(intake.id, today())
        return self.survey(request, intake)

    @Operation("/v1/health", openapi.Health, (503,))
    async def health(self, request: Request) -> openapi.Health:
        """Say whether reports can be stored: it is tried, at most once a second.

        For whoever sends people here, or elsewhere while it is not so; 503 also while it ends.
        """
        if fault := await self.health_of.fault():
            raise fault
        return {"status": "ok", "surveys": len(self.intakes)}

    @Operation("/v1/alive", openapi.Alive)
    async def alive(self, request: Request) -> openapi.Alive:
        """Say that the process answers, whatever its store does.

        For whoever starts it anew where it does not: a database that is away is no reason to.
        """
        return {"status": "ok"}

    @Operation("/v1/metrics", TEXT, access="metrics")
    async def metrics(self, request: Request) -> Response:
        """Return counts of what was done since the start, for Prometheus."""
        return Response(self.measured(), media_type=_METRICS)

    def measured(self) -> str:
        """Return what is counted, as Prometheus reads it."""
        return metrics_text(self.uploads, self.releases, self.refusals, len(self.connections))

    @Operation("/v1/openapi.json", dict[str, Any])
    async def description(self, request: Request) -> dict[str, Any]:
        """Return the description of this interface."""
        return openapi.description(handlers_of(Collector, Uploads), self.intakes)

    def stop(self) -> None:
        """Write what waits, and end the threads."""
        self.writer.stop()
        for estimates in (self.estimates, self.published):
            estimates.close()

    def routes(self) -> list[Route]:
        """Return where all operations are found, but that of reports."""
        return [self._route(handler) for handler in handlers_of(Collector)]

    def _route(self, handler: Any) -> Route:
        """Return where a handler answers, for surveys that there are and those who may ask."""
        own: Operation = handler.operation
        free: tuple[Access, ...] = ("everyone", "viewer") if self.public else ("everyone",)
        run = partial(handler, self)
        if not iscoroutinefunction(handler):
            run = partial(run_in_threadpool, run)

        async def endpoint(request: Request) -> Response:
            name = request.path_params.get("survey")
            if name is not None and name not in self.intakes:
                raise unknown_survey(name)
            roles = request.state.roles = await self._roles(request)
            if own.access not in free and not roles & {own.access, "administrator"}:
                raise not_yours(own.access)
            content = await run(request, *([] if name is None else [self.intakes[name]]))
            if isinstance(content, Response):
                return content
            return Response(json_bytes(content), media_type=JSON)

        return Route(own.path, endpoint, methods=[own.method])

    async def _roles(self, request: Request) -> frozenset[Role]:
        """Return the roles of who asks, by the tokens that hold now."""
        authorization = request.headers.get("authorization", "")
        # Who sends no token does not wait for a store that is away.
        if authorization and self.tokens.due:
            await run_in_threadpool(self.tokens.refresh)
        return self.tokens.roles_of(authorization)

    def _seen(self, request: Request) -> Estimates:
        """Return what a request sees: with a token what is stored now, without one the release."""
        if request.state.roles & {"viewer", "administrator"}:
            return self.estimates
        # A token that holds no longer is not passed over.
        if "authorization" in request.headers and not request.state.roles:
            raise not_yours("viewer")
        return self.published


def application(
    collector: Collector, origins: Collection[str] = (), watch: "Watch | None" = None
) -> ASGIApp:
    """Return the ASGI application of a collector; its end is the end of its threads.

    Pages of some origins may ask for surveys and send reports; a watch tells what it does.

    Reports, of which thousands come in a second, go past the router: it takes as long as all else.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> Any:
        tasks = [asyncio.create_task(releasing(collector.releases))]
        if watch:
            tasks.append(asyncio.create_task(watch.run()))
        yield
        for task in tasks:
            task.cancel()
        if watch:
            watch.refusals()
        await run_in_threadpool(collector.stop)

    errors: tuple[Any, ...] = (HTTPException, RefusedError, StoreError, Exception)
    routed = Starlette(
        routes=[*collector.routes(), *site_routes(collector.intakes)],
        exception_handlers=dict.fromkeys(errors, answering(collector.refusals.count)),
        lifespan=lifespan,
    )
    routed.router.redirect_slashes = False

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await routed(scope, receive, send)
            return
        try:
            if match := _REPORTS.fullmatch(scope["path"]):
                scope["path_params"] = {"survey": match[1]}
                await collector.uploads(scope, receive, send)
            else:
                await routed(scope, receive, answers.with_safe_headers(send))
        except asyncio.CancelledError:
            # The server ends, and has waited for this long enough.
            with contextlib.suppress(RuntimeError):
                await answers.refuse(send, answers.busy("the collector is stopping"))

    return allowing(answered, origins)
