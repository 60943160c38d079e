"""Who may do what: presets, rules, protected paths, and the questions that people answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.permissions.approvals import Approvals
    from filetools.permissions.audience import Attendance
    from filetools.permissions.book import ApprovalBook, BookRow
    from filetools.permissions.call_watch import CallWatch, current_watch, uncounted, watched
    from filetools.permissions.gatekeeper import Describe, Gatekeeper, Permit
    from filetools.permissions.policy import Decision, DecisionReason, PermissionPolicy, ToolOperation
    from filetools.permissions.requests import (
        ApprovalAnswer,
        ApprovalAsked,
        ApprovalDecision,
        ApprovalGranted,
        ApprovalRefused,
        ApprovalRequest,
        Notice,
        Notify,
        PolicyChanged,
        Proposal,
        digest_of,
    )
    from filetools.permissions.rule_file import RuleFile, SavedPermissions
    from filetools.permissions.rules import Level, Rule
    from filetools.permissions.tickets import Approver, Case
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.permissions.approvals": "Approvals",
            "filetools.permissions.audience": "Attendance",
            "filetools.permissions.book": "ApprovalBook, BookRow",
            "filetools.permissions.call_watch": "CallWatch, current_watch, uncounted, watched",
            "filetools.permissions.gatekeeper": "Describe, Gatekeeper, Permit",
            "filetools.permissions.policy": "Decision, DecisionReason, PermissionPolicy, ToolOperation",
            "filetools.permissions.requests": "ApprovalAnswer, ApprovalAsked, ApprovalDecision, "
            "ApprovalGranted, ApprovalRefused, "
            "ApprovalRequest, Notice, Notify, PolicyChanged, "
            "Proposal, digest_of",
            "filetools.permissions.rule_file": "RuleFile, SavedPermissions",
            "filetools.permissions.rules": "Level, Rule",
            "filetools.permissions.tickets": "Approver, Case",
        },
    )

__all__ = [
    "ApprovalAnswer",
    "ApprovalAsked",
    "ApprovalBook",
    "ApprovalDecision",
    "ApprovalGranted",
    "ApprovalRefused",
    "ApprovalRequest",
    "Approvals",
    "Approver",
    "Attendance",
    "BookRow",
    "CallWatch",
    "Case",
    "Decision",
    "DecisionReason",
    "Describe",
    "Gatekeeper",
    "Level",
    "Notice",
    "Notify",
    "PermissionPolicy",
    "Permit",
    "PolicyChanged",
    "Proposal",
    "Rule",
    "RuleFile",
    "SavedPermissions",
    "ToolOperation",
    "current_watch",
    "digest_of",
    "uncounted",
    "watched",
]
