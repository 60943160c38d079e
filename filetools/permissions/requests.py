"""What a person is asked, what they may answer, and the notices about it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from filetools.errors import InvalidArgumentError
from filetools.models import Actor, Preset
from filetools.paths import WorkspacePath

ApprovalAnswer = Literal["allow", "allow_for_run", "deny"]
Risk = Literal["low", "medium", "high"]
AskReason = Literal["prompt", "protected"]

ANSWERS: Final[tuple[ApprovalAnswer, ...]] = ("allow", "allow_for_run", "deny")


def checked_answer(answer: str) -> ApprovalAnswer:
    """Return an answer that came from outside.

    Raises:
        InvalidArgumentError: It is none of allow, allow_for_run, deny.
    """
    for known in ANSWERS:
        if answer == known:
            return known
    raise InvalidArgumentError(f"An approval is answered with allow, allow_for_run or deny, not {answer!r}")


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return a digest that two calls share if, and only if, their JSON arguments are equal."""
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a call would do, in the words and texts a person decides by."""

    description: str
    """One sentence, such as "Replace src/app.py"."""
    digest: str
    """`digest_of` everything the call would do; an approval holds for this digest only."""
    version: str | None = None
    """Version of the path before the change; None if nothing is there."""
    old_text: str | None = None
    new_text: str | None = None
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """One question to a person. Open until it is answered or expires."""

    id: str
    """Unguessable name of the request."""
    tool: str
    path: WorkspacePath
    """The path that made the question necessary."""
    paths: tuple[WorkspacePath, ...]
    """All paths of the call."""
    version: str | None
    description: str
    risk: Risk
    reason: AskReason
    """"protected" where the path is protected, else "prompt"."""
    old_text: str | None
    new_text: str | None
    diff: str | None
    actor: Actor
    created: float
    """Seconds since the epoch."""
    expires: float
    """Seconds since the epoch; without an answer until then it is denied."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without the fields that are None."""
        names = ("id", "tool", "path", "version", "description", "risk", "reason", "old_text", "new_text", "diff")
        plain: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        plain |= {"paths": list(self.paths), "created": self.created, "expires": self.expires}
        known = {"kind": self.actor.kind, "id": self.actor.id, "session": self.actor.session, "call": self.actor.call}
        plain["actor"] = {name: value for name, value in known.items() if value is not None}
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked:
    """A request was opened; told as `tool:approval_required`."""

    request: ApprovalRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGranted:
    """A person allowed a request; told as `tool:approved`."""

    request: ApprovalRequest
    answer: ApprovalAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRefused:
    """A person denied a request, or nobody answered in time; told as `tool:rejected`."""

    request: ApprovalRequest
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChanged:
    """Other permissions are in force; told as `permission:changed`."""

    preset: Preset
    tool: str | None = None
    """The one tool whose rule changed; None if more than that changed."""


Notice = ApprovalAsked | ApprovalGranted | ApprovalRefused | PolicyChanged
Notify = Callable[[Notice], None]
"""Receives every notice on the loop; the floor above makes events of them, since this floor cannot know the bus."""


def ignore_notice(notice: Notice) -> None:
    """Do nothing: the `Notify` of a policy that nobody follows."""
