"""The envelope of a tool call: the one shape in which every door hands results and errors on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from filetools.errors import FileToolsError
from filetools.models.records import ChangedFile
from filetools.models.result import Result

MOST_CHANGED_FILES: Final = 20
"""Files that others have changed, told by one envelope; of more it tells the number."""


def success_envelope(result: Result | Mapping[str, Any]) -> dict[str, Any]:
    """Return the envelope of a success; warnings of the result, and of the results of a batch, move beside its data."""
    data = result.to_dict() if isinstance(result, Result) else dict(result)
    rows = [data, *(row for row in data.get("results", ()) if isinstance(row, dict))]
    warnings = [warning for row in rows for warning in row.pop("warnings", ())]
    envelope: dict[str, Any] = {"success": True, "data": data}
    return envelope | {"warnings": warnings} if warnings else envelope


def news_of(changed: Sequence[ChangedFile]) -> dict[str, Any]:
    """Return what an envelope tells of files that others have changed, the newest last; empty if there are none."""
    if not changed:
        return {}
    shown = [each.to_dict() for each in changed[-MOST_CHANGED_FILES:]]
    more = len(changed) - len(shown)
    return {"changed_since_read": shown, **({"changed_since_read_more": more} if more else {})}


def failure_envelope(error: FileToolsError, attempts: int = 1) -> dict[str, Any]:
    """Return the envelope of a failure.

    Args:
        error: What went wrong.
        attempts: How often the call was tried.
    """
    return {
        "success": False,
        "error": error.message,
        "error_code": error.code,
        "retryable": error.retryable,
        **({"suggested_action": error.suggested_action} if error.suggested_action else {}),
        "details": ({} if error.path is None else {"path": str(error.path)}) | error.details,
        "attempts": attempts,
    }
