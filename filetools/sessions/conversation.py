"""The tree of a log's entries, and which of them were abandoned by rewinding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from filetools.sessions.log import LogEntry


class _Node(NamedTuple):
    """The part of an entry that the tree keeps; its text may be large and is dropped."""

    uuid: str
    parent: str
    is_main: bool
    """True if it is on the main line and names its parent or states that it has none; the oldest writers did neither."""
    is_spoken: bool
    """True for a message of the user or the model."""
    response: str
    """ID of the model's answer that it is a part of."""
    calls: tuple[str, ...]
    """IDs of the calls that it makes or answers."""


class Conversation:
    """The tree of one log; uses about 500 bytes per entry."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}

    def add(self, entry: LogEntry) -> bool:
        """Add an entry, in log order. A later entry with the same UUID replaces the earlier one; then this returns False."""
        node = _node(entry)
        if not node.uuid:
            return True
        is_new = self._nodes.pop(node.uuid, None) is None
        self._nodes[node.uuid] = node
        return is_new

    def left(self) -> set[str]:
        """Return the UUIDs of entries abandoned by rewinding: those of the main line that the newest one does not follow.

        Entries replaced by a summary were not abandoned: the chain of parents continues past it, and past an unreadable
        parent or a cycle with the entry above it in the log.
        """
        main = [node for node in self._nodes.values() if node.is_main]
        above = {node.uuid: before for before, node in pairwise(main)}
        chain: dict[str, _Node] = {}
        node = next((node for node in reversed(main) if node.is_spoken), None)
        while node is not None and node.uuid not in chain:
            chain[node.uuid] = node
            parent = self._nodes.get(node.parent)
            is_lost = node.parent != "" and (parent is None or parent.uuid in chain)
            node = above.get(node.uuid) if is_lost else parent
        # Each of several calls at once is an entry of its own, but only one of them and one of their results continue it.
        responses = {node.response for node in chain.values()} - {""}
        calls = {call for node in main if node.response in responses for call in node.calls}
        return {
            node.uuid
            for node in main
            if node.uuid not in chain and node.response not in responses and calls.isdisjoint(node.calls)
        }


def _node(entry: LogEntry) -> _Node:
    # A hot path, called for every entry of every log: it avoids the entry's own descriptors.
    raw = entry.raw
    kind, message = _text(raw, "type"), raw.get("message")
    message = message if isinstance(message, dict) else {}
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    is_aside = raw.get("isSidechain") is True or raw.get("teamName") or raw.get("isMeta") is True
    return _Node(
        uuid=_text(raw, "uuid"),
        parent=_text(raw, "parentUuid") or _text(raw, "logicalParentUuid"),
        is_main=not is_aside and isinstance(raw.get("parentUuid", 0), str | None),
        is_spoken=kind in ("user", "assistant"),
        response=_text(message, "id") if kind == "assistant" else "",
        calls=(*_ids(blocks, "tool_use", "id"), *_ids(blocks, "tool_result", "tool_use_id")),
    )


def _text(given: Any, key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _ids(blocks: Iterable[Mapping[str, Any]], kind: str, key: str) -> list[str]:
    return [text for block in blocks if block.get("type") == kind and (text := _text(block, key))]
