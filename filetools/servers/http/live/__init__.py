"""The live protocol: documents, events and approvals of one workspace over a connection that stays open."""

from __future__ import annotations

from filetools.servers.http.live.hub import Hub
from filetools.servers.http.live.outbox import Outbox
from filetools.servers.http.live.session import Ending, LiveSession
from filetools.servers.http.live.told import TOLD, asked

__all__ = ["TOLD", "Ending", "Hub", "LiveSession", "Outbox", "asked"]
