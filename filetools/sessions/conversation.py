"""The tree of a log's entries, and the conversation in it: what was said on the way to the newest entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from filetools.sessions.log import LogEntry

_SPOKEN = ("user", "assistant")


class _Node(NamedTuple):
    """What the tree keeps of an entry: its text may be large, and goes."""

    uuid: str
    type: str
    parent: str
    logical_parent: str
    is_main: bool
    is_linked: bool
    """Whether it names its parent, or says that it has none; entries of the oldest writers did neither."""
    timestamp: str
    writer: tuple[bool, str]
    response: str
    """Id of the answer of a model that it is a part of."""
    calls: tuple[str, ...]
    results: tuple[str, ...] | None
    """Calls whose results it brings; None if it brings none."""
    source: str


class Conversation:
    """The tree of one log. Lives as long as the log is read; takes about 500 bytes an entry."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._parents: set[str] = set()

    def add(self, entry: LogEntry) -> bool:
        """Take an entry in, in the order of the log. Of two with one uuid the later counts; then this returns False."""
        node = _node(entry)
        if not node.uuid:
            return True
        is_new = self._nodes.pop(node.uuid, None) is None
        self._nodes[node.uuid] = node
        self._parents.add(node.parent)
        return is_new

    def uuids(self) -> list[str]:
        """Return the uuids of the conversation's entries, from the first to the last.

        It is the chain of parents from the newest entry of a user or model on the main line that nothing follows. A cycle
        and a missing parent end it. Calls and results that ran beside those on the chain are put back.
        """
        return [node.uuid for node in self._chain(lambda node: self._nodes.get(node.parent))]

    def left(self) -> set[str]:
        """Return the uuids of what was left when somebody went back: entries of the main line outside of the conversation.

        What a summary stands for was not left; so here, but not in `uuids`, the chain goes on where a log was compacted,
        and where the line of a parent is broken, with the entry above.
        """
        main = [node for node in self._nodes.values() if node.is_main and node.is_linked]
        above = {node.uuid: before for before, node in pairwise(main)}

        def parent_of(node: _Node) -> _Node | None:
            parent = node.parent or node.logical_parent
            return self._nodes.get(parent, above.get(node.uuid)) if parent else None

        return {node.uuid for node in main} - {node.uuid for node in self._chain(parent_of)}

    def _chain(self, parent_of: Callable[[_Node], _Node | None]) -> list[_Node]:
        chain: dict[str, _Node] = {}
        node = self._leaf()
        while node is not None and node.uuid not in chain:
            chain[node.uuid] = node
            node = parent_of(node)
        return self._with_parallel(list(reversed(chain.values())))

    def _leaf(self) -> _Node | None:
        """Return where the conversation ends: on the main line, if anything stands there."""
        position = {uuid: number for number, uuid in enumerate(self._nodes)}
        # Where each entry has a child, as in a cycle, the newest is the end.
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

    def _with_parallel(self, chain: list[_Node]) -> list[_Node]:
        """Return a chain with the calls and results that ran beside it: each call of one answer is an entry of its own, and
        what follows hangs below one of them."""
        responses = self._responses()
        results = self._results(owners := _owners(responses))
        position = {uuid: number for number, uuid in enumerate(self._nodes)}
        seen = {node.uuid for node in chain}
        answered = {call for node in chain for call in node.results or ()}
        beside: dict[str, list[_Node]] = {}
        for response, end in {node.response: node.uuid for node in chain if node.response}.items():
            calls = {node.uuid: node for node in responses[response]}
            found = {each.uuid: each for uuid in calls for each in results.get(uuid, ()) if each.uuid not in seen}
            near = [each for each in found.values() if each.parent in calls]
            done = {call for each in near for call in each.results or ()}
            far = (each for each in found.values() if each.parent not in calls)
            for each in sorted(far, key=lambda each: position[each.uuid]):
                callers = [owners.get(call) for call in each.results or () if not (call in done or call in answered)]
                if any(caller.uuid in calls for caller in callers if caller is not None):
                    done.update(each.results or ())
                    near.append(each)
            lost = [each for each in calls.values() if each.uuid not in seen]
            beside[end] = [each for part in (lost, near) for each in sorted(part, key=lambda each: each.timestamp)]
            seen.update(each.uuid for each in beside[end])
        return [each for node in chain for each in (node, *beside.get(node.uuid, ()))]

    def _responses(self) -> dict[str, list[_Node]]:
        found: dict[str, list[_Node]] = {}
        for node in self._nodes.values():
            if node.response:
                found.setdefault(node.response, []).append(node)
        return found

    def _results(self, owners: dict[str, _Node | None]) -> dict[str, list[_Node]]:
        """Return what brings results, by the entries it may belong to: its parent, its source, the callers."""
        found: dict[str, list[_Node]] = {}
        for node in self._nodes.values():
            if node.results is None or not node.parent:
                continue
            others = (self._nodes.get(node.source), *(owners.get(call) for call in node.results))
            same = (other.uuid for other in others if other is not None and other.writer == node.writer)
            for uuid in dict.fromkeys((node.parent, *same)):
                found.setdefault(uuid, []).append(node)
        return found


def conversation(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """Return the entries of a log that are its conversation, in order; see `Conversation.uuids`."""
    tree, by_uuid = Conversation(), dict[str, LogEntry]()
    for entry in entries:
        tree.add(entry)
        by_uuid[entry.uuid] = entry
    return [by_uuid[uuid] for uuid in tree.uuids()]


def _node(entry: LogEntry) -> _Node:
    # Each entry of each log comes by here, so it is looked at once, and without the entry's own descriptors.
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
        timestamp=_text(raw, "timestamp"),
        writer=(is_sidechain, _text(raw, "agentId")),
        response=_text(message, "id") if kind == "assistant" else "",
        calls=calls,
        results=results,
        source=_text(raw, "sourceToolAssistantUUID"),
    )


def _text(given: Any, key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _ids(blocks: Iterable[Mapping[str, Any]], kind: str, key: str) -> tuple[str, ...]:
    return tuple([text for block in blocks if block.get("type") == kind and (text := _text(block, key))])


def _owners(responses: dict[str, list[_Node]]) -> dict[str, _Node | None]:
    """Return which entry made each call; None where two answers claim it."""
    found: dict[str, _Node | None] = {}
    for nodes in responses.values():
        for node in nodes:
            for call in node.calls:
                known = found.get(call, node)
                found[call] = node if known is not None and known.response == node.response else None
    return found
