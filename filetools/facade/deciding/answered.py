"""Carries out a person's answer about a change of one text: replace unsaved text, or write another text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.editing import with_text
from filetools.changes.knowledge import refuse_size
from filetools.content.differences.diff import structured_patch
from filetools.content.formats import UTF8
from filetools.errors import VersionMismatchError
from filetools.facade.deciding.seeing import seen_by
from filetools.facade.parts import Parts
from filetools.facade.steps.look import Look, content_of, facts_of
from filetools.facade.steps.put import Decide
from filetools.facade.steps.unsaved import (
    UnsavedQuestion,
    disk_text,
    overwritten,
    put_beside,
    unsaved_text,
)
from filetools.models.records import Actor
from filetools.models.words import OnConflict
from filetools.permissions.gatekeeper import Permit

DecideWith: TypeAlias = Callable[[OnConflict], Decide]
"""Returns the decision of a call for one policy about unsaved text."""


class AnsweredPut(Struct, frozen=True, kw_only=True):
    """Applies a person's answer if the file and its unsaved text are still what they saw. A `Decide`."""

    text: str
    """The text that the person allowed or gave."""
    unsaved_version: str | None
    disk_version: str | None
    own: Decide
    """The call's own decision; what it refuses is refused."""
    again: Decide | None = None
    """Decides about unsaved text that they have not seen; None if they saw none that would be dropped."""
    actor: Actor

    def __call__(self, parts: Parts, look: Look) -> PutDecision:
        """Return the decision for the person's text.

        Raises:
            VersionMismatchError: The file is not what the person saw.
            UnsavedQuestion: The unsaved text is not what they saw, so they must be asked again.
            FileToolsError: As the call itself.
        """
        opened = unsaved_text(parts, look)
        unsaved = None if opened is None else parts.documents.texts.bytes_of(opened)[1]
        if (unsaved, look.version) != (self.unsaved_version, self.disk_version):
            if self.again is not None:
                return self.again(parts, look)
            seen, current = (self.unsaved_version or self.disk_version), (unsaved or look.version)
            reason = "it is not what the person saw who gave it another text; repeat the call unchanged"
            raise VersionMismatchError(look.path, seen, current, reason=reason)
        own = self.own(parts, look)
        if own.text_for(look.path) == self.text:
            return own
        made = self._instead(parts, look, own, (disk_text(parts, look) or "") if opened is None else opened.text)
        if opened is not None and self.again is None:
            # They saw the unsaved text, and their change of it is merged into it like any other change.
            made = put_beside(parts, look, opened, opened.text, self.text, made)
        elif opened is not None:
            made = overwritten(parts, look, opened, made)
        hunks = structured_patch(own.text_for(look.path) or "", made.text_for(look.path) or "")
        return replace(made, is_merged=True, foreign=tuple(dict(hunk.to_dict()) for hunk in hunks))

    def _instead(self, parts: Parts, look: Look, own: PutDecision, before: str) -> PutDecision:
        """Return the decision for the person's text, ignoring unsaved text."""
        now, knowledge = seen_by(parts, look, self.actor)
        there = facts_of(parts, look)
        form = own.facts.text_format or (there and there.text_format) or UTF8
        made = with_text(own, look.path, self.text, form, before)
        refuse_size(look.path, len(made.content), parts.settings)
        known = knowledge.newest
        if made.sent is None and known is not None and known.base in now.standing:
            # Its actor knows only what it sent, so that its next whole text is merged with the person's.
            if own.shown is not None and known.base == own.shown.before:
                made = replace(made, sent=own.shown.content, sent_version=own.shown.version)
            elif own.in_buffer:  # it knows the file as it is
                made = replace(made, sent=content_of(parts, look), sent_version=known.base)
            else:
                made = replace(made, sent=own.content, sent_version=own.facts.version)
        return made


def decide_as_allowed(permit: Permit, decide: DecideWith, on_conflict: OnConflict, actor: Actor) -> Decide:
    """Return the decision of a call that a person has allowed."""
    drops = permit.settled is not None
    text = permit.settled if drops else permit.edited_text
    if text is None:
        return decide(on_conflict)
    return AnsweredPut(
        text=text, unsaved_version=permit.proposal.unsaved_version, disk_version=permit.proposal.version,
        own=decide("allow" if drops else on_conflict), again=decide("ask") if drops else None, actor=actor,
    )  # fmt: skip


def decide_as_settled(question: UnsavedQuestion, text: str | None, decide: DecideWith, actor: Actor) -> Decide:
    """Return the decision of a call after a person let it replace unsaved text, by its own text or by one that they gave."""
    return AnsweredPut(
        text=question.proposed if text is None else text, unsaved_version=question.unsaved_version,
        disk_version=question.disk_version, own=decide("allow"), again=decide("ask"), actor=actor,
    )  # fmt: skip
