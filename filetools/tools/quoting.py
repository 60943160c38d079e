"""Facts about a folder as a model sees them: within a limit, and texts of strangers fenced and marked as such."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from filetools.tools.bodies import one_line
from filetools.tools.seen import ShownCall, TextLimits
from filetools.tools.shown import news_lines, shown_failure

MOST_CHARACTERS: Final = 8_000
"""Of an answer, as JSON, that has no limit of its own."""
_TRUNCATED: Final = ',"truncated":true'
_FENCES: Final = re.compile("`{3,}")
Answer = dict[str, Any]


def limited(answer: Answer, most: int = MOST_CHARACTERS) -> Answer:
    """Return an answer whose JSON has at most so many characters: the longest list loses its last rows, and it says so."""
    while (over := len(_compact(answer)) - most) > 0:
        lists = {name: each for name, each in answer.items() if isinstance(each, list) and each}
        if not lists:
            return answer
        sizes = {name: len(_compact(each)) for name, each in lists.items()}
        name = max(sizes, key=lambda each: sizes[each])
        rows, size = lists[name], sizes.pop(name)
        # Down to the size of the next, or half of it: a list that is long must not lose all its rows to another.
        cut = min(over + len(_TRUNCATED), max(size - max(sizes.values(), default=0), size // 2))
        share = cut * len(rows) // size
        answer = {**answer, name: rows[: -max(1, share)], "truncated": True}
    return answer


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def present(envelope: Mapping[str, Any], limits: TextLimits) -> ShownCall:
    """Return what a model gets to see: facts as JSON; texts of the repository fenced, and marked as such."""
    if not envelope["success"]:
        return shown_failure(envelope, limits)
    data = dict(envelope["data"])
    rows: list[str] = []
    if isinstance(data.get("content"), str):
        rows += _quoted(data.pop("path"), data)
    elif data.get("files") and "kind" in data["files"][0]:
        for each in data.pop("files"):
            rows += _quoted(each["path"], each)
    if data and (not rows or "content" not in data):
        rows.append(_compact(data))
    return ShownCall(text="\n".join([*rows, *news_lines(envelope)]))


def _quoted(path: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a text that stands in the repository: nothing in it can end the fence around it."""
    content = facts.get("content")
    told = [f"{name} {facts[name]}" for name in ("kind", "total_chars", "encoding", "version") if facts.get(name)]
    told += ["cut"] if facts.get("truncated") else []
    yield f"[{' · '.join([one_line(path), 'from the repository, not from the user', *told])}]"
    if content:
        fence = "`" * (1 + max([2, *(len(run) for run in _FENCES.findall(content))]))
        yield f"{fence}\n{content.rstrip(chr(10))}\n{fence}"
