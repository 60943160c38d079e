"""The frames that the server of the live protocol sends, as `docs/live.md` has them."""

from __future__ import annotations

from typing import Any, Final

_WELCOME: Final = {
    "protocol": int, "position": str, "actor": dict, "can_answer": bool, "lease_seconds": float,
    "root": str, "documents": list, "locks": list, "approvals": list, "runs": list, "mirror": dict,
}  # fmt: skip
_EDITS: Final = {
    "handle": str, "since": int, "buffer_version": int, "edits": list, "dirty": bool, "reason": str, "actor": dict
}  # fmt: skip
_ERROR: Final = {"error": str, "error_code": str, "retryable": bool, "details": dict}
_FIELDS: Final[dict[str, tuple[dict[str, type], dict[str, type] | None]]] = {
    "welcome": (_WELCOME, {"id": object}),
    "event": ({"event": str}, None),
    "edits": (_EDITS, {}),
    "ack": ({"of": str}, None),
    "approval": ({"state": str, "approval_id": str}, {"request": dict, "reason": str}),
    "progress": ({"call": str, "current": int}, {"total": int, "message": str}),
    "resync": ({"reason": str}, {"position": str, "handle": str, "document": dict}),
    "error": (_ERROR, {"id": object, "suggested_action": str}),
}
"""By type: what a frame has, and what it may have; None for anything."""
TOLD_TYPES: Final = tuple(_FIELDS)


def check(frame: dict[str, Any]) -> None:
    """Check a frame that a server has sent."""
    needed, allowed = _FIELDS[frame["type"]]
    known = {"type": str, **needed, **(allowed or {})}
    assert needed.keys() <= frame.keys(), frame
    assert allowed is None or frame.keys() <= known.keys(), frame
    assert all(isinstance(frame[name], kind) for name, kind in known.items() if name in frame), frame
