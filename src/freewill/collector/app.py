"""What is answered at each address, from values alone."""

import asyncio
import contextlib
import re
import tempfile
from collections import Counter
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

from freewill.collector import answers, openapi, surveys
from freewill.collector.answers import JSON, RefusedError, allowing, given_once
from freewill.collector.database import StoreError
from freewill.collector.estimates import Estimates, Live, asked_for
from freewill.collector.intake import Found, Uploads, addresses_of
from freewill.collector.journal import metrics_text
from freewill.collector.openapi import CSV, OF_DAYS, PARQUET, SURVEY, TEXT, Operation, handlers_of
from freewill.collector.planning import plan_of, question_of
from freewill.collector.questions import Subject, days_asked, subject_of
from freewill.collector.releases import ReleaseRule, Releases, releasing
from freewill.collector.rounds import log_end, log_entries
from freewill.collector.site import site_routes
from freewill.collector.store import Store
from freewill.collector.surveys import EVER, MIN_PEOPLE, evidence_of, people_by_day, people_of
from freewill.collector.tokens import STORE_ALONE, Access, Role, Sources, Tokens, not_yours
from freewill.collector.trends import asked_of, trend_of
from freewill.collector.writer import Writer
from freewill.core.presented import json_bytes
from freewill.core.texts import whole
from freewill.domain.survey import Questionnaire, Survey
from freewill.errors import shown
from freewill.io.evidence_file import save_evidence

if TYPE_CHECKING:
    from freewill.collector.journal import Watch

_WHOLE = "Ask without it: people by day, and periods, are told whole."
"""Where all is told: whoever asks for a week would take all for it."""
_METRICS = f"{TEXT}; version=0.0.4; charset=utf-8"
_MOST_ENTRIES = 1000
_REPORTS = re.compile("/v1/surveys/([^/]*)/reports")


def _headings(survey: Survey) -> dict[str, dict[str, str]]:
    """Return the titles and questions of a survey in other languages."""
    named = ("title", "question")
    return {
        tag: {field: own[field] for field in named if field in own}
        for tag, own in survey.translations.items()
    }


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
        mended: bool = False,
    ) -> None:
        self.store, self.public, self.rule = store, public, rule or ReleaseRule()
        self.tokens = Tokens(store.token_hashes, tokens)
        self.addresses = addresses_of(store, surveys, mended=mended)
        offered = [intake.survey for intake in self.addresses.served.values()]
        self.releases = Releases(store, offered if public else (), self.rule, min_people)
        self.writer, self.estimates = Writer(store), Estimates(Live(store), min_people)
        self.published = Estimates(self.releases, min_people)
        self.uploads = Uploads(self.addresses, self.writer, refused=self.refused)
        self.refusals = Counter[tuple[int, str]]()
        """By status and reason: words of ours, none that was sent."""
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
                        "name": intake.survey.name,
                        "title": intake.survey.title,
                        "question": intake.survey.question,
                        "language": intake.survey.language,
                        "translations": _headings(intake.survey),
                        "alphabet": str(intake.survey.alphabet),
                        "mechanisms": list(intake.survey.mechanisms),
                        "questions": list(getattr(intake.survey, "questions", {})),
                        "closed": self.store.survey(view, own).closed,
                    }
                    for own, intake in self.addresses.served.items()
                ]
            }

    @Operation(SURVEY, openapi.Survey, (404,))
    def survey(self, request: Request, found: Found) -> Response:
        """Return a survey: what a device needs to answer it."""
        intake = self.addresses.asked_now(found)
        with self.store.view() as view:
            closed = self.store.survey(view, intake.id).closed
        logged = self.store.logged[intake.id]._asdict()
        head = json_bytes({"id": intake.id, "closed": closed, "public": self.public, "log": logged})
        body = head[:-1] + b',"explained":' + intake.explained + b',"survey":' + intake.spec + b"}"
        return Response(body, media_type=JSON)

    @Operation("/v1/log", openapi.Log, (422,), query=(openapi.FROM,))
    def log(self, request: Request) -> openapi.Log:
        """Return the public log of surveys, a hash chain of what was served and closed.

        At most 1,000 entries at once, beginning with number `from`.
        """
        first = whole(request.query_params.get("from", "1"))
        if first is None or first < 1:
            what = f"from={shown(request.query_params['from'])}"
            raise RefusedError(422, what, "Expected the number of an entry: 1, 2, ...")
        with self.store.view() as view:
            entries: Any = log_entries(view, first, _MOST_ENTRIES)
            return {**log_end(view)._asdict(), "entries": entries}  # type: ignore[typeddict-item]

    @Operation(f"{SURVEY}/people", openapi.People, (404, 422), access="viewer")
    def people(self, request: Request, found: Found) -> openapi.People:
        """Return how many people chose each mechanism; of several questions, for each.

        With a token: live numbers, by day. Without one: those of the last release, rounded or with
        noise.
        """
        seen = self._seen(request)
        given_once(request.query_params.multi_items(), (), _WHOLE)
        with self.store.view() as view:
            release = self.releases.last(view, found.key)
            stored = self.store.survey(view, found.key)
            answer: openapi.People = {
                "id": stored.id,
                "roles": sorted(request.state.roles),
                "live": seen is self.estimates,
                "release": release and release.described(),
                "rule": self.rule.described(),
                "people": 0,
                "min_people": seen.min_people,
                "closed": stored.closed,
                "mechanisms": {},
            }
            if answer["live"] or release:
                answer.update(seen.people(view, found.key))
            if answer["live"]:
                answer["days"] = people_by_day(view, stored)
            return answer

    @Operation(f"{SURVEY}/periods", openapi.Periods, (404, 409, 422), access="viewer")
    def periods(self, request: Request, found: Found) -> openapi.Periods:
        """Return how many people answered in each period: a day, a week or a month, or several.

        The end is the first day of the next one, null of the last, which goes on. Only for those
        who may see what is stored now: from one release to the next, a period may gain few people.
        """
        self._check_live(request)
        given_once(request.query_params.multi_items(), (), _WHOLE)
        with self.store.view() as view:
            stored = self.store.survey(view, found.key)
            return {
                "id": stored.id,
                "every": surveys.every_of(stored.survey),
                "periods": [
                    {"start": start, "end": end, "people": people_of(view, some)}
                    for start, end, some in stored.spans
                ],
            }

    @Operation(f"{SURVEY}/estimate", openapi.Estimate, (404, 409, 422), "viewer", query=OF_DAYS)
    async def estimate(self, request: Request, found: Found) -> Response:
        """Return the estimate of what is stored now, or was published last, with its uncertainty.

        Of several questions, of one of them, or of two with their cross table. From some day to
        another for those who may see what is stored now.
        """
        seen, subject = self._seen_of(request, found)
        return Response(await seen.current(subject), media_type=JSON)

    @Operation(f"{SURVEY}/table", CSV, (404, 409, 422), access="viewer", query=OF_DAYS)
    async def table(self, request: Request, found: Found) -> Response:
        """Return the estimate as CSV, as `freewill estimate --csv` writes it.

        What is not for publication is called so: the name of the file ends in -live.
        """
        seen, subject = self._seen_of(request, found)
        text = await seen.after(seen.table, subject)
        called = found.file_name(subject.days)
        name = f"{called}-live.csv" if seen is self.estimates else f"{called}.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text, 200, headers, media_type=CSV)

    @Operation(f"{SURVEY}/plan", openapi.Plan, (404, 409, 422), "viewer", query=openapi.QUESTION)
    async def plan(self, request: Request, found: Found) -> Any:
        """Return how many more people it takes until intervals are short enough."""
        target, of = question_of(request.query_params.multi_items())
        if isinstance(found.intake.survey, Questionnaire):
            advice = "Take the evidence, and run `freewill plan`."
            raise RefusedError(409, "plans of several questions are not made here yet", advice)
        seen = self._seen(request)
        return await seen.after(plan_of, seen, found.key, target, of)

    @Operation(f"{SURVEY}/trend", openapi.Trend, (404, 409, 422), "viewer", query=openapi.TREND)
    async def trend(self, request: Request, found: Found) -> Any:
        """Return the mean, the median or shares by period, with bands and tests of change.

        Only for those who may see what is stored now.
        """
        self._check_live(request)
        asked = asked_of(found.key, found.intake.survey, request.query_params.multi_items())
        return await self.estimates.after(trend_of, self.estimates, asked)

    @Operation(f"{SURVEY}/evidence", PARQUET, (404, 409, 422), "administrator", query=openapi.DAYS)
    def evidence(self, request: Request, found: Found) -> Response:
        """Return the evidence of a survey as Parquet, which `freewill estimate` reads.

        From some day to another, of the periods in between.
        """
        days, rest = days_asked(request.query_params.multi_items())
        given_once(rest, (), "Ask for ?from= and &to=, or for all.")
        with contextlib.ExitStack() as undo:
            folder = undo.enter_context(
                tempfile.TemporaryDirectory(prefix="freewill-evidence-", ignore_cleanup_errors=True)
            )
            path = Path(folder, "evidence.parquet")
            with self.store.view() as view:
                stored = asked_for(self.store.survey(view, found.key), days)
                evidence = evidence_of(view, stored)
                if not evidence.people:
                    advice = "Wait for the first reports."
                    raise RefusedError(409, "nobody has answered yet", advice)
                save_evidence(evidence, path)
            # Sent from the file, piece by piece: it may be larger than memory.
            return FileResponse(
                path,
                media_type=PARQUET,
                filename=f"{found.file_name(days)}.parquet",
                background=BackgroundTask(undo.pop_all().close),
            )

    @Operation(f"{SURVEY}/close", openapi.Survey, (404,), access="administrator", method="POST")
    def close(self, request: Request, found: Found) -> Response:
        """Close a survey: it takes no more reports."""
        self.store.close_survey(self.addresses.asked_now(found).id, surveys.today())
        return self.survey(request, found)

    @Operation("/v1/health", openapi.Health, (503,))
    async def health(self, request: Request) -> openapi.Health:
        """Say whether reports can be stored, which is tried at most once a second.

        For load balancers (readiness). 503 while they cannot, and while the server stops.
        """
        if fault := await self.writer.fault():
            raise fault
        return {"status": "ok", "surveys": len(self.addresses.served)}

    @Operation("/v1/alive", openapi.Alive)
    async def alive(self, request: Request) -> openapi.Alive:
        """Say that the process answers, whatever the state of its store.

        For process managers (liveness): a database that is away is no reason to restart.
        """
        return {"status": "ok"}

    @Operation("/v1/metrics", TEXT, access="metrics")
    async def metrics(self, request: Request) -> Response:
        """Return counts of what was done since the start, for Prometheus."""
        return Response(metrics_text(self), media_type=_METRICS)

    @Operation("/v1/openapi.json", dict[str, Any])
    async def description(self, request: Request) -> dict[str, Any]:
        """Return the description of this interface."""
        keys = [*self.addresses.served, *self.addresses.named]
        return openapi.description(handlers_of(Collector, Uploads), keys)

    def refused(self, refusal: RefusedError) -> None:
        """Count what was refused."""
        self.refusals[refusal.status, refusal.reason] += 1

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
            found = [] if name is None else [self.addresses.found(name)]
            roles = request.state.roles = await self._roles(request)
            if own.access not in free and not roles & {own.access, "administrator"}:
                raise not_yours(own.access)
            content = await run(request, *found)
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

    def _seen_of(self, request: Request, found: Found) -> tuple[Estimates, Subject]:
        """Return what a request sees, and of what; of some days what is stored now alone."""
        subject = subject_of(found.key, found.intake.survey, request.query_params.multi_items())
        if subject.days != EVER:
            self._check_live(request)
        return self._seen(request), subject

    def _check_live(self, request: Request) -> None:
        """Refuse periods to who sees releases: one may gain few people from one to the next."""
        if self._seen(request) is not self.estimates:
            raise RefusedError(
                409,
                "what came in a period is not published",
                "Ask for all of it, without from and to. Viewers and administrators see periods.",
            )


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

    async def answer(request: Request, error: Exception) -> Response:
        refusal = refusal_of(request, error)
        collector.refused(refusal)
        return Response(refusal.body(), refusal.status, refusal.headers, JSON)

    errors: tuple[Any, ...] = (HTTPException, RefusedError, StoreError, Exception)
    routed = Starlette(
        routes=[*collector.routes(), *site_routes(collector.addresses)],
        exception_handlers=dict.fromkeys(errors, answer),
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
                await routed(scope, receive, answers.with_headers(send, answers.SAFE_HEADERS))
        except asyncio.CancelledError:
            # The server ends, and has waited for this long enough.
            with contextlib.suppress(RuntimeError):
                await answers.refuse(send, answers.busy("the collector is stopping", "stopping"))

    return allowing(answered, origins)


def refusal_of(request: Request, error: Exception) -> RefusedError:
    """Return the refusal of an error: ours, Starlette's (addresses, methods), or a fault."""
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, HTTPException):
        what = f"{request.method} {request.url.path}: not here"
        advice = "GET /v1/openapi.json has what there is."
        return RefusedError(error.status_code, what, advice, headers=error.headers or {})
    if isinstance(error, StoreError):
        advice = "Try again; if it stays so, tell the operator."
        # It names files, or the database's address, which are for those who have a token.
        known = getattr(request.state, "roles", None)
        what = str(error) if known else "the collector's store cannot be read just now"
        return RefusedError(503, what, advice)
    return RefusedError(
        500, f"a fault of the collector's own ({type(error).__name__})", "Tell them."
    )
