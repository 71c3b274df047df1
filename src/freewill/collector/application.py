"""The application of a collector: its addresses, its pages, and reports past the router."""

import asyncio
import contextlib
import re
from collections.abc import Collection
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from freewill.collector import answers
from freewill.collector.answers import RefusedError
from freewill.collector.database import StoreError
from freewill.collector.faults import answering
from freewill.collector.origins import allowing
from freewill.collector.releases import releasing
from freewill.collector.site import site_routes

if TYPE_CHECKING:
    from freewill.collector.app import Collector
    from freewill.collector.journal import Watch

_REPORTS = re.compile("/v1/surveys/([^/]*)/reports")


def application(
    collector: "Collector", origins: Collection[str] = (), watch: "Watch | None" = None
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
        routes=[*collector.routes(), *site_routes(collector.addresses)],
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
                await answers.refuse(send, answers.busy("the collector is stopping", "stopping"))

    return allowing(answered, origins)
