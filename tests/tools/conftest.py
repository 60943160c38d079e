from __future__ import annotations

import pytest

from filetools.events.types import Event
from filetools.facade.facade import FileToolsFacade


@pytest.fixture
def events(files: FileToolsFacade) -> list[Event]:
    """The events of calls and their progress, as they come."""
    told: list[Event] = []
    files.bus.subscribe("agent:*", told.append)
    files.bus.subscribe("tool:*", told.append)
    return told
