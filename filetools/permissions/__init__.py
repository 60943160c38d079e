"""Who may do what: presets, rules, protected paths, and the questions that people answer."""

from __future__ import annotations

from filetools.permissions.approvals import Approvals
from filetools.permissions.audience import Attendance
from filetools.permissions.call_watch import CallWatch, current_watch, uncounted, watched
from filetools.permissions.gatekeeper import Describe, Gatekeeper
from filetools.permissions.policy import Decision, DecisionReason, PermissionPolicy, ToolOperation
from filetools.permissions.requests import (
    ApprovalAnswer,
    ApprovalAsked,
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
from filetools.permissions.tickets import Approver

__all__ = [
    "ApprovalAnswer",
    "ApprovalAsked",
    "ApprovalGranted",
    "ApprovalRefused",
    "ApprovalRequest",
    "Approvals",
    "Approver",
    "Attendance",
    "CallWatch",
    "Decision",
    "DecisionReason",
    "Describe",
    "Gatekeeper",
    "Level",
    "Notice",
    "Notify",
    "PermissionPolicy",
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
