"""Builds the ASGI application of one server from an open workspace and its options."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from msgspec.structs import replace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from filetools.app.agent_runs import AgentRuns
from filetools.app.registration import Registration
from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.editor_page import installed_page
from filetools.servers.http.live.hub import Hub
from filetools.servers.http.openapi import FAILURES, DescribedApplication
from filetools.servers.http.options import HttpOptions
from filetools.servers.http.problems import adding, answer_failures
from filetools.servers.http.routes import changes, chat, files, live, pages, queries, tools
from filetools.servers.http.security import Bodies, Guard
from filetools.servers.http.shared import Callers, Logins, Shared
from filetools.servers.http.telemetry import Metrics, tracing
from filetools.servers.mcp.options import DEFAULT_GROUP
from filetools.servers.mcp.transports import MCP_PATH
from filetools.servers.mcp.transports import http_application as mcp_application
from filetools.tools.call_log import CallLog
from filetools.tools.handlers.descriptors import GROUP as DESCRIPTOR_GROUP


@asynccontextmanager
async def http_application(
    files: FileToolsFacade, options: HttpOptions, *, registration: Registration | None = None
) -> AsyncIterator[ServerApplication]:
    """Build the application of a workspace; leaving the block ends everything that it started.

    Args:
        files: The open workspace.
        options: The server's options; `port` is the actual port.
        registration: Records that calls happen; None records nothing.

    Raises:
        InvalidArgumentError: The options name an unknown tool or group.
    """
    log = CallLog()
    hub = Hub(files, log)
    # Any HTTP client could claim that a person has approved its request; only a login proves it.
    is_enabled = files.settings.file_descriptor.enabled
    usual = (DEFAULT_GROUP, DESCRIPTOR_GROUP) if is_enabled and options.mcp.dialect is None else None
    mcp_options = replace(options.mcp, tools=options.mcp.tools or usual, asks=False, is_editor=False)
    keeps = is_enabled or any(tool.group == DESCRIPTOR_GROUP for tool in mcp_options.selected())
    callers = Callers(files, person=options.person, log=log, keeps_results=keeps)
    agent = options.agent
    agents = None if agent is None else AgentRuns(agent.command, max_steps=agent.max_steps, limits=agent.limits)
    shared = Shared(
        files=files, options=options, callers=callers, log=log, hub=hub, logins=Logins(), metrics=Metrics(),
        agents=agents, page=installed_page(), registration=registration,
    )  # fmt: skip
    async with mcp_application(files, mcp_options, is_guarded=True, log=log, registration=registration) as mcp:
        try:
            yield ServerApplication(shared, mcp)
        finally:
            shared.closing.set()
            log.abort_all()
            hub.close()
            if agents is not None:
                await agents.aclose()


class ServerApplication:
    """One server as an ASGI application: requests are counted, guarded, limited, and then routed.

    Args:
        shared: Objects that all routes share.
        mcp: The application at `/mcp`.
    """

    def __init__(self, shared: Shared, mcp: ASGIApp) -> None:
        self.shared = shared
        self._mcp = mcp
        self._rest = _routes(shared)
        self._tracing = tracing()
        self._guarded = Guard(Bodies(self._routed, shared.options.limits), shared.options, shared.logins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one WebSocket."""
        # Route on the raw path: only path parameters are decoded, once and later.
        scope["path"] = scope["raw_path"].decode("ascii", "backslashreplace")
        send = adding(send, [(b"x-content-type-options", b"nosniff")])  # browsers must not guess another type
        if scope["type"] != "http":
            await self._guarded(scope, receive, send)
            return
        started, status = time.monotonic(), 500
        metrics = self.shared.metrics

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        metrics.open_requests += 1
        try:
            with self._tracing(scope) as note_status:
                await self._guarded(scope, receive, counted)
                note_status(status)
        finally:
            metrics.open_requests -= 1
            metrics.note(scope["method"], status, time.monotonic() - started)

    async def _routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_mcp = scope["type"] == "http" and scope["path"] == MCP_PATH
        # The other paths are pages and monitoring.
        is_call = scope["type"] == "http" and scope["path"].startswith("/v1/")
        # Tool calls are recorded by their route, which knows the tool.
        if is_call and not scope["path"].startswith(tools.PATHS):
            self.shared.note_call()
        await (self._mcp if is_mcp else self._rest)(scope, receive, send)


def _routes(shared: Shared) -> FastAPI:
    application = DescribedApplication(
        title="filetools",
        version="1",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        openapi_url="/openapi.json",
        responses=FAILURES,
    )
    application.state.shared = shared
    modules = (pages, files, queries, tools, changes, live, *(() if shared.agents is None else (chat,)))
    routers = [module.router for module in modules]
    for router in routers:
        application.include_router(router)
    for prefix, assets in () if shared.page is None else shared.page.files.items():
        application.mount(prefix, assets)
    answer_failures(application, routers)
    return application
