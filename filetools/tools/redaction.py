"""Arguments and results as they may be kept in logs and events: short, without file contents, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

MAX_CHARACTERS: Final = 200
MAX_ITEMS: Final = 20
MAX_NAME_CHARACTERS: Final = 64
MAX_DEPTH: Final = 4
HIDDEN: Final = "***"

_BODIES: Final = frozenset(
    (
        "content", "text", "old", "new", "patch", "diff", "input", "output", "base64", "oldstring", "newstring", "oldstr",
        "newstr", "oldtext", "newtext", "filetext", "inserttext", "patchtext", "newsource", "oldsource", "originalfile",
        "updatedfile",
    )
)  # fmt: skip
"""Names of contents, ours and those of dialects, without capitals and underscores."""
_SECRET_NAME: Final = re.compile(
    r"pass(?:word|wd|phrase)|secret|api[_-]?key|private[_-]?key|access[_-]?key|credential|authorization|cookie"
    r"|(?:^|[_-])(?:token|auth|pwd)$|(?<=[a-z])Token$",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
    r"|\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b(?:sk|pk|rk)[-_][\w-]{16,}"
    r"|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bA(?:KIA|SIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?:password|passwd|secret|token|api[_-]?key)\s*[=:]\s*[^\s&;,]+",
    re.IGNORECASE,
)


def summarised(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a log may keep them.

    Contents of files become their length, values that look like secrets or stand under a name that does become `***`,
    long texts and lists are cut. What is returned shares nothing with the arguments.
    """
    return _of_mapping(arguments, MAX_DEPTH)


def facts_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the single values of a result, without contents and lists."""
    single = {name: value for name, value in data.items() if not isinstance(value, Mapping | list | tuple)}
    return summarised(single)


def _of_mapping(values: Mapping[str, Any], depth: int) -> dict[str, Any]:
    kept = {
        (cut := str(name)[:MAX_NAME_CHARACTERS]): _of_named(cut, value, depth)
        for name, value in islice(values.items(), MAX_ITEMS)
    }
    if len(values) > MAX_ITEMS:
        kept["..."] = f"{len(values) - MAX_ITEMS} more"
    return kept


def _of_named(name: str, value: Any, depth: int) -> Any:
    if value is not None and _SECRET_NAME.search(name):
        return HIDDEN
    if isinstance(value, str) and name.replace("_", "").lower() in _BODIES:
        return f"<{len(value)} characters>"
    return _of_value(value, depth)


def _of_value(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _short(value)
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        return _of_mapping(value, depth - 1)
    if isinstance(value, Sequence):
        kept = [_of_value(item, depth - 1) for item in value[:MAX_ITEMS]]
        return kept if len(value) <= MAX_ITEMS else [*kept, f"... {len(value) - MAX_ITEMS} more"]
    return f"<{type(value).__name__}>"


def _short(text: str) -> str:
    # Cut first, so that the patterns never run over megabytes; a secret that the cut goes through is hidden to its end.
    cut = _SECRET_VALUE.sub(HIDDEN, text[: 2 * MAX_CHARACTERS])
    if len(text) <= MAX_CHARACTERS:
        return cut
    return f"{cut[:MAX_CHARACTERS]}... ({len(text)} characters)"
