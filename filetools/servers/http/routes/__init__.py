"""The routes of the server, one router a theme."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from filetools.servers.http.routes import (
    about,
    approvals,
    changes,
    descriptors,
    files,
    live,
    logging_in,
    looking,
    pages,
    runs,
    together,
    tools,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    about.router,
    pages.router,
    files.router,
    logging_in.router,
    looking.router,
    together.router,
    tools.router,
    descriptors.router,
    approvals.router,
    changes.router,
    runs.router,
    live.router,
)
