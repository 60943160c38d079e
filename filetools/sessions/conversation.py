"""The tree of a log's entries, and the conversation in it: the path to the newest entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from filetools.sessions.log import LogEntry

_SPOKEN = ("user", "assistant")


class _Node(NamedTuple):
    """The part of an entry that the tree keeps; its text may be large and is dropped."""

    uuid: str
    type: str
    parent: str
    logical_parent: str
    is_main: bool
    is_linked: bool
    """True if it names its parent or states that it has none; entries of the oldest writers did neither."""
    writer: tuple[bool, str]
    response: str
    """ID of the model's answer that it is a part of."""
    calls: tuple[str, ...]
    results: tuple[str, ...] | None
    """Calls whose results it contains; None if it contains none."""


class Conversation:
    """The tree of one log; uses about 500 bytes per entry."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._parents: set[str] = set()

    def add(self, entry: LogEntry) -> bool:
        """Add an entry, in log order. A later entry with the same UUID replaces the earlier one; then this returns False."""
        node = _node(entry)
        if not node.uuid:
            return True
        is_new = self._nodes.pop(node.uuid, None) is None
        self._nodes[node.uuid] = node
        self._parents.add(node.parent)
        return is_new

    def uuids(self) -> set[str]:
        """Return the UUIDs of the conversation's entries.

        It is the chain of parents from the newest childless entry of a user or model on the main line. A cycle or a missing
        parent ends it. It includes calls and results that ran in parallel to those on the chain.
        """
        return self._chain(lambda node: self._nodes.get(node.parent))

    def left(self) -> set[str]:
        """Return the UUIDs of entries abandoned by rewinding: those of the main line outside the conversation.

        Entries replaced by a summary were not abandoned. Here, unlike in `uuids`, the chain therefore continues past a
        compaction, and past an unreadable parent with the entry above it in the log.
        """
        main = [node for node in self._nodes.values() if node.is_main and node.is_linked]
        above = {node.uuid: before for before, node in pairwise(main)}

        def parent_of(node: _Node) -> _Node | None:
            parent = node.parent or node.logical_parent
            return self._nodes.get(parent, above.get(node.uuid)) if parent else None

        return {node.uuid for node in main} - self._chain(parent_of)

    def _chain(self, parent_of: Callable[[_Node], _Node | None]) -> set[str]:
        chain: dict[str, _Node] = {}
        node = self._leaf()
        while node is not None and node.uuid not in chain:
            chain[node.uuid] = node
            node = parent_of(node)
        return {*chain, *self._beside(chain)}

    def _leaf(self) -> _Node | None:
        """Return the last entry of the conversation, on the main line if that has any."""
        position = {uuid: number for number, uuid in enumerate(self._nodes)}
        # If every entry has a child, as in a cycle, the newest is the end.
        leaves = list(self._leaves()) or [node for node in self._nodes.values() if node.type in _SPOKEN]
        return max(leaves, key=lambda node: (node.is_main, node.is_linked, position[node.uuid]), default=None)

    def _leaves(self) -> Iterator[_Node]:
        seen = set[str]()
        for end in self._nodes.values():
            node = end if end.uuid not in self._parents else None
            while node is not None and node.uuid not in seen:
                seen.add(node.uuid)
                if node.type in _SPOKEN:
                    yield node
                    break
                node = self._nodes.get(node.parent)

    def _beside(self, chain: Mapping[str, _Node]) -> Iterator[str]:
        """Yield the parallel entries of a chain: each call of an answer is a separate entry, but only one continues it."""
        responses = {node.response for node in chain.values()} - {""}
        parts = {node.uuid: node for node in self._nodes.values() if node.response in responses}
        callers = {call: node.writer for node in parts.values() for call in node.calls}
        answered = {call for node in chain.values() for call in node.results or ()}
        results = (node for node in self._nodes.values() if node.results is not None and node.uuid not in chain)
        yield from parts
        # A result with another parent counts only if no other entry contains the same result.
        for node in sorted(results, key=lambda node: node.parent not in parts):
            new = (call for call in node.results or () if call not in answered)
            if node.parent in parts or any(node.parent and callers.get(call) == node.writer for call in new):
                answered.update(node.results or ())
                yield node.uuid


def _node(entry: LogEntry) -> _Node:
    # A hot path, called for every entry of every log: it avoids the entry's own descriptors.
    raw = entry.raw
    kind, message = _text(raw, "type"), raw.get("message")
    message = message if isinstance(message, dict) else {}
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else ()
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] | None = None
    if kind == "assistant":
        calls = _ids(blocks, "tool_use", "id")
    elif kind == "user" and any(block.get("type") == "tool_result" for block in blocks):
        results = _ids(blocks, "tool_result", "tool_use_id")
    is_sidechain = raw.get("isSidechain") is True
    return _Node(
        uuid=_text(raw, "uuid"),
        type=kind,
        parent=_text(raw, "parentUuid"),
        logical_parent=_text(raw, "logicalParentUuid"),
        is_main=not (is_sidechain or raw.get("teamName") or raw.get("isMeta") is True),
        is_linked=isinstance(raw.get("parentUuid", 0), str | None),
        writer=(is_sidechain, _text(raw, "agentId")),
        response=_text(message, "id") if kind == "assistant" else "",
        calls=calls,
        results=results,
    )


def _text(given: Any, key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _ids(blocks: Iterable[Mapping[str, Any]], kind: str, key: str) -> tuple[str, ...]:
    return tuple([text for block in blocks if block.get("type") == kind and (text := _text(block, key))])
