"""Events as records: frozen, named, and plain JSON on the way out."""

from __future__ import annotations

import json

from filetools import events
from filetools.events.types import Event, FileCreated, FileModified
from filetools.models.records import Actor

ALICE = Actor(kind="agent", id="alice", session="s1")

NAMES = {
    "file:created", "file:modified", "file:deleted", "file:read", "file:renamed",
    "directory:created", "directory:deleted", "directory:renamed",
    "sync:started", "sync:progress", "sync:completed", "sync:error", "sync:paused", "sync:resumed",
    "agent:tool:started", "agent:tool:completed", "agent:tool:failed", "tool:progress",
    "tool:approval_required", "tool:approved", "tool:rejected",
    "feed:resync",
    "project:created", "project:updated", "project:deleted", "instance:changed",
    "buffer:opened", "buffer:changed", "buffer:saved", "buffer:closed", "buffer:abandoned", "buffer:behind", "buffer:moved",
}  # fmt: skip


def test_every_name_of_the_specification_has_one_class() -> None:
    public = [getattr(events, name) for name in events.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, Event)]
    names = [kind.name for kind in kinds if kind.name != Event.name]
    assert sorted(names) == sorted(NAMES)


def test_to_dict_is_json_without_empty_fields_and_without_the_loader() -> None:
    async def load() -> str | None:
        return "text"

    event = FileModified(path="a", actor=ALICE, seq=7, version="sha256:x", size=4, content_loader=load)
    plain = event.to_dict()
    assert json.loads(json.dumps(plain)) == {
        "event": "file:modified",
        "path": "a",
        "actor": {"kind": "agent", "id": "alice", "session": "s1"},
        "source": "agent",
        "seq": 7,
        "version": "sha256:x",
        "size": 4,
    }


async def test_content_is_loaded_only_when_asked_for() -> None:
    asked: list[str] = []

    async def load() -> str | None:
        asked.append("a")
        return "text"

    event = FileCreated(path="a", actor=ALICE, content_loader=load)
    assert asked == []
    assert await event.content() == "text"
