"""Texts that people gave in place of those they were asked about: what a call would write, and what it writes instead."""

from __future__ import annotations

from dataclasses import replace

from filetools.content.diff import minimal_edits, structured_patch
from filetools.content.edits import BytesOutcome, EditOutcome
from filetools.content.facts import describe
from filetools.content.formats import TextFormat, decode, encode
from filetools.content.version import version_of
from filetools.errors import FileTooLargeError, VersionMismatchError
from filetools.facade.editing import TextChange
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.decision import Decision, SentText
from filetools.facade.steps.unsaved import unsaved_text
from filetools.facade.writing import DecideWrite, decide_write, encoded
from filetools.models.records import Actor
from filetools.permissions.gatekeeper import Permit


def whole_text(request: WriteRequest, _parts: Parts, _old_text: str | None) -> str | None:
    """Return the text that a write would leave; a `Preview`."""
    return request.content if isinstance(request.content, str) and request.encoding != "base64" else None


def appended_text(request: WriteRequest, parts: Parts, old_text: str | None) -> str | None:
    """Return the text that an append would leave; a `Preview`."""
    added = whole_text(request, parts, old_text)
    return None if added is None else (old_text or "") + added


def changed_text(change: TextChange, parts: Parts, _old_text: str | None) -> str:
    """Return the text that edits would leave; a `Preview`."""
    change.preview(parts)
    return change.outcome.text


class WriteInstead:
    """Decides a write by the text that a person gave, where the call's own could have been written. A `DecideWrite`.

    Args:
        permit: What the person said; it holds for the version they saw.
        decide: How the call itself decides; what it refuses stays refused.
    """

    def __init__(self, permit: Permit, decide: DecideWrite) -> None:
        self._permit = permit
        self._decide = decide

    def __call__(self, parts: Parts, seen: Look, request: WriteRequest, actor: Actor) -> Decision:
        """Return what shall stand there.

        Raises:
            VersionMismatchError: It is not what the person saw.
            FileTooLargeError, EncodingError, FileToolsError: As the call itself.
        """
        _refuse_other_version(self._permit, seen)
        text = self._permit.edited_text or ""
        if unsaved_text(parts, seen) is not None:
            # It meets the unsaved text as any other would; what a person decided about that is in the request by now.
            mine = replace(request, content=text, newline="exact", expected_version=seen.version)
            return decide_write(parts, seen, mine if request.asked is None else request, actor)
        proposed = self._decide(parts, seen, request, actor)
        instead = WriteRequest(content=text, encoding=request.encoding, newline="exact")
        new = encoded(parts, seen, instead, actor)
        limit = parts.settings.max_write_bytes
        if len(new.content) > limit:
            raise FileTooLargeError(seen.path, len(new.content), limit)
        wanted = self._permit.proposal.new_text or ""
        sent, known = proposed.sent, parts.tracker.base(actor, seen.key)
        if sent is None and known is not None and known.base == seen.version:
            sent = SentText(content=proposed.content, version=proposed.facts.version)
        return replace(
            proposed,
            content=new.content,
            facts=describe(new.content, new.text, new.text_format, name=seen.path, version=version_of(new.content)),
            # What its actor knows is what it sent: its next whole text is merged with what the person made of this one.
            sent=sent,
            foreign=tuple(dict(hunk.to_dict()) for hunk in structured_patch(wanted, text)),
            added_bytes=None,
            newline=None,
        )


def change_instead(change: TextChange, permit: Permit, actor: Actor) -> TextChange:
    """Return the change that leaves the text a person gave in place of an edit's; it holds for the version they saw."""
    text = permit.edited_text or ""

    def apply(before: bytes, text_format: TextFormat) -> BytesOutcome:
        content, former = encode(text, text_format, path=change.path), decode(before, text_format, path=change.path)
        spans = tuple(minimal_edits(former, text))
        return BytesOutcome(content=content, before=former, outcome=EditOutcome(text=text, spans=spans, counts=()))

    return TextChange(change.path, apply, actor, expected_version=permit.proposal.version)


def _refuse_other_version(permit: Permit, seen: Look) -> None:
    version = permit.proposal.version
    if seen.version != version:
        reason = "it is not what the person saw who gave it another text; repeat the call unchanged"
        raise VersionMismatchError(seen.path, version, seen.version, reason=reason)
