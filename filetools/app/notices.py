"""Notices of the permissions as events of the bus; the two share a floor and do not know each other."""

from __future__ import annotations

import filetools.events as events
from filetools.events.types import Event
from filetools.permissions.requests import ApprovalAsked, ApprovalGranted, ApprovalRefused, Notice


def event_of(notice: Notice) -> Event:
    """Return the event that tells of a notice."""
    match notice:
        case ApprovalAsked(request=request):
            return events.ApprovalRequired(
                tool_name=request.tool,
                tool_call_id=request.actor.call or "",
                path=request.path,
                approval_id=request.id,
                reason=request.reason,
            )
        case ApprovalGranted(request=request):
            return events.ToolApproved(
                tool_name=request.tool, tool_call_id=request.actor.call or "", path=request.path, approval_id=request.id
            )
        case ApprovalRefused(request=request, reason=reason):
            return events.ToolRejected(
                tool_name=request.tool,
                tool_call_id=request.actor.call or "",
                path=request.path,
                approval_id=request.id,
                reason=reason,
            )
        case _:
            return events.PermissionChanged(preset=notice.preset, tool=notice.tool)
