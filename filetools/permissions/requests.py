"""Approval requests: what a person is asked, and the possible answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, structs

from filetools.content.differences.diff import shortened
from filetools.content.differences.merging import merge
from filetools.errors import InvalidArgumentError
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath

ApprovalAnswer = Literal["allow", "allow_for_run", "deny", "merge"]
Risk = Literal["low", "medium", "high"]
AskReason = Literal["prompt", "protected", "conflict"]

ANSWERS: Final[tuple[ApprovalAnswer, ...]] = ("allow", "allow_for_run", "deny", "merge")


class ApprovalDecision(Struct, frozen=True, kw_only=True):
    """What a person decided about a request."""

    answer: ApprovalAnswer
    edited_text: str | None = None
    """For "merge": the whole text to write instead."""


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return a digest that two calls share if, and only if, their JSON arguments are equal."""
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class ShownChange(Struct, frozen=True, kw_only=True):
    """What a call would do, as shown to the person who decides."""

    description: str
    """One sentence, such as "Replace src/app.py"."""
    version: str | None = None
    """Version of the path before the change; None if nothing is there."""
    old_text: str | None = None
    """Current text; for conflicts the unsaved text."""
    new_text: str | None = None
    """New text; for conflicts what the call wants to write."""
    base_text: str | None = None
    """For conflicts: the text that both sides started from."""
    by_words: bool | None = None
    """For conflicts: True if the file is prose, whose lines may be merged by words."""
    diff: str | None = None
    """Unified diff from the old to the new text."""
    can_merge: bool = False
    """True if the call writes one text file, so that a person can replace its text by "merge"."""


class Proposal(ShownChange, frozen=True, kw_only=True):
    """A call before a person is asked about it."""

    digest: str
    """`digest_of` everything the call would do; an approval holds for this digest only."""
    unsaved_version: str | None = None
    """Version of the unsaved text that was shown in place of the file's."""
    replacing_unsaved: str | None = None
    """The text that would replace unsaved text, if the call would drop that."""
    is_destructive: bool = False
    """True if it deletes or covers something on the way."""
    is_cut: bool = False
    """True if the diff leaves something out."""


class ApprovalRequest(ShownChange, frozen=True, kw_only=True):
    """One question to a person. Open until it is answered or expires."""

    id: str
    """Unguessable name of the request."""
    tool: str
    path: WorkspacePath
    """The path that made the question necessary."""
    paths: tuple[WorkspacePath, ...]
    """All paths of the call."""
    risk: Risk
    reason: AskReason
    """"protected" if the path is protected, "conflict" if the call conflicts with unsaved text, otherwise "prompt"."""
    actor: Actor
    created: float
    """Seconds since the epoch."""
    expires: float
    """Seconds since the epoch; without an answer by then it is denied."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-compatible form, without the fields that are None."""
        plain = {name: value for name, value in structs.asdict(self).items() if value is not None}
        return plain | {"paths": list(self.paths), "actor": self.actor.to_dict()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ApprovalRequest:
        """Return the request from the form that `to_dict` returns."""
        paths = {"path": WorkspacePath(plain["path"]), "paths": tuple(map(WorkspacePath, plain["paths"]))}
        return cls(**{**plain, **paths, "actor": Actor(**plain["actor"])})


MOST_SHOWN_CHARACTERS: Final = 4000
"""Characters of the change in a question that cannot be scrolled."""


def short_diff(request: ApprovalRequest) -> str:
    """Return the change, shortened for small displays, with a note of what is left out and how to show it."""
    diff = request.diff or ""
    shown = shortened(diff, MOST_SHOWN_CHARACTERS)
    return shown if shown == diff else f"{shown}'filetools approvals --diff' shows them.\n"


def decided(answer: object, request: ApprovalRequest, edited_text: str | None = None) -> ApprovalDecision:
    """Validate a decision that came from outside.

    Args:
        answer: One of the answers, "cancel" for the "deny" of a conflict, or a whole decision.
        request: The request it answers.
        edited_text: Text to write instead; with "merge" only. A conflict's "merge" without it keeps both sides: where they
            overlap, the unsaved text and after it what the call wants to write.

    Raises:
        InvalidArgumentError: It is not an answer to this request.
    """
    if isinstance(answer, ApprovalDecision):
        return decided(answer.answer, request, answer.edited_text)
    if answer == "cancel" and request.reason == "conflict":
        answer = "deny"
    known = next((one for one in ANSWERS if one == answer), None)
    if known is None:
        raise InvalidArgumentError(f"An approval is answered with allow, allow_for_run, deny or merge, not {answer!r}")
    if known == "allow_for_run" and request.reason == "conflict":
        raise InvalidArgumentError("A conflict is answered with allow, cancel or merge: each is a decision of its own")
    if known == "merge" and not request.can_merge:
        raise InvalidArgumentError("Only a call that writes the text of one file can be given another text")
    if known == "merge" and edited_text is None and request.reason == "conflict":
        edited_text = _both_texts(request)
    if (known == "merge") != isinstance(edited_text, str):
        raise InvalidArgumentError("The answer merge, and no other, comes with edited_text")
    return ApprovalDecision(answer=known, edited_text=edited_text)


def _both_texts(request: ApprovalRequest) -> str:
    if request.base_text is None or request.old_text is None or request.new_text is None:
        raise InvalidArgumentError("The common base of both texts is not known; give the text to write as edited_text")
    texts = request.base_text, request.old_text, request.new_text
    text = merge(*texts, keep="both", by_words=bool(request.by_words)).text
    if text is None:
        raise InvalidArgumentError("The texts are too large to merge; give the text to write as edited_text")
    return text
