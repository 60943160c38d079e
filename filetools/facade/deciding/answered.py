"""Texts that people gave in place of those they were asked about: what a call would write, and what it writes instead."""

from __future__ import annotations

from msgspec.structs import replace

from filetools.changes.rebasing import overlapping
from filetools.changes.writing import encoded, from_base64
from filetools.content.differences.diff import minimal_edits, structured_patch
from filetools.content.differences.merging import MergeResult, merge
from filetools.content.editing.edits import BytesOutcome, EditOutcome
from filetools.content.facts import describe, inspect
from filetools.content.formats import TextFormat, decode, encode
from filetools.content.version import version_of
from filetools.errors import EditNotFoundError, FileTooLargeError, VersionMismatchError
from filetools.facade.deciding.editing import TextChange
from filetools.facade.deciding.proposals import LARGEST_COMPARED_BYTES, ShownState
from filetools.facade.deciding.seeing import seen_by
from filetools.facade.deciding.writing import DecideWrite
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.decision import PutDecision, SentText
from filetools.facade.steps.look import Look
from filetools.facade.steps.unsaved import UnsavedQuestion, put_beside, unsaved_error, unsaved_text
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit


def sent_text(request: WriteRequest) -> str | None:
    """Return the text that a request writes; None for bytes that are none."""
    if isinstance(request.content, str) and request.encoding != "base64":
        return request.content
    return inspect(sent_bytes(request), name=".")[1]


def sent_bytes(request: WriteRequest) -> bytes:
    """Return the bytes of a request that gives them as such, or in base64."""
    if isinstance(request.content, bytes):
        return request.content
    return from_base64(request.content, ".")


def whole_text(
    actor: Actor, path: WorkspacePath, request: WriteRequest, parts: Parts, old: ShownState
) -> str | bytes | None:
    """Return what a write would leave; a `Preview`.

    Raises:
        UnsavedQuestion: It would drop unsaved text, and a person must decide about that, too.
        EditConflictError: It would, and its caller wants no such question.
    """
    text = sent_text(request)
    if text is None:
        return sent_bytes(request)
    opened = old.opened
    if opened is None:
        return text
    if request.on_conflict == "cancel":
        raise unsaved_error(path, opened.document.version, is_cancelled=True)
    by_words = parts.settings.is_prose(path)
    on_disk = old.disk_text or ""
    known = parts.tracker.base(actor, parts.workspace.key(path))
    knows_unsaved = known is not None and known.base == parts.documents.texts.bytes_of(opened)[1]
    base = opened.text if knows_unsaved else on_disk
    result = merge(base, opened.text, text, by_words=by_words)
    merged = result.text
    if request.on_conflict not in ("ask", "allow"):
        if merged is not None and merge(on_disk, opened.text, merged, by_words=by_words).text == merged:
            return merged  # all that is unsaved stays
        if merged is None and request.on_conflict == "merge":
            _refuse_overlap(parts, path, known, old, result, base)
            return text
    raise UnsavedQuestion(path, opened, base_text=on_disk, proposed=text, disk_version=old.version)


def _refuse_overlap(
    parts: Parts, path: WorkspacePath, known: SeenVersion | None, old: ShownState, result: MergeResult, base: str
) -> None:
    """Refuse what would be refused anyway; what is made from an older text is for the call itself to merge."""
    assert old.opened is not None
    version = parts.documents.texts.bytes_of(old.opened)[1]
    if known is None or known.base in (version, old.version):
        base_version = version_of(base.encode("utf-8", "surrogatepass"))
        raise overlapping(path, base_version, version, result, old.opened.text, base)


def copied(source: WorkspacePath, parts: Parts, _old: ShownState) -> str | bytes:
    """Return what a copy of a file would leave; a `Preview`."""
    content, _ = parts.store.read(source, limit=LARGEST_COMPARED_BYTES)
    text = inspect(content, name=source)[1]
    return content if text is None else text


def appended_text(request: WriteRequest, _parts: Parts, old: ShownState) -> str | bytes | None:
    """Return what an append would leave; a `Preview`."""
    added = sent_text(request)
    return sent_bytes(request) if added is None else (old.text or "") + added


def changed_text(change: TextChange, parts: Parts, old: ShownState) -> str:
    """Return the text that edits would leave; a `Preview`.

    Raises:
        UnsavedQuestion: They overlap with unsaved text, and a person must decide about that, too.
    """
    try:
        change.preview(parts)
    except EditNotFoundError:
        if old.opened is None or old.disk_text is None:
            raise
        return change.preview_beside(parts, old.opened, old.disk_text, old.version)
    return change.answer.text


class WriteInstead:
    """Decides a write by the text that a person gave, where the call's own could have been written. A `DecideWrite`.

    Args:
        permit: What the person said; it holds for the version they saw.
        decide: How the call itself decides; what it refuses stays refused.
    """

    def __init__(self, permit: Permit, decide: DecideWrite) -> None:
        self._permit = permit
        self._decide = decide

    def __call__(self, parts: Parts, look: Look, request: WriteRequest, actor: Actor) -> PutDecision:
        """Return what shall stand there.

        Raises:
            VersionMismatchError: It is not what the person saw.
            FileTooLargeError, EncodingError, FileToolsError: As the call itself.
        """
        text = self._permit.edited_text or ""
        if (opened := unsaved_text(parts, look)) is not None:
            # They saw the unsaved text; what they changed in it is put beside it, like any other change.
            _refuse_other_version(
                look.path, self._permit.proposal.unsaved_version, parts.documents.texts.bytes_of(opened)[1]
            )
            return put_beside(parts, look, opened, opened.text, text)
        _refuse_other_version(look.path, self._permit.proposal.version, look.version)
        proposed = self._decide(parts, look, request, actor)
        seen, now, knowledge = seen_by(parts, look, actor)
        instead = WriteRequest(content=text, encoding=request.encoding, newline="exact")
        new = encoded(seen, now, instead, knowledge)
        limit = parts.settings.max_write_bytes
        if len(new.content) > limit:
            raise FileTooLargeError(look.path, len(new.content), limit)
        wanted = self._permit.proposal.new_text or ""
        sent, known = proposed.sent, knowledge.newest
        if sent is None and known is not None and known.base == look.version:
            sent = SentText(content=proposed.content, version=proposed.facts.version)
        return replace(
            proposed,
            content=new.content,
            facts=describe(new.content, new.text, new.text_format, name=look.path, version=version_of(new.content)),
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

    return TextChange(
        change.path, apply, actor, expected_version=permit.proposal.unsaved_version or permit.proposal.version
    )


def _refuse_other_version(path: WorkspacePath, version: str | None, current: str | None) -> None:
    if current != version:
        reason = "it is not what the person saw who gave it another text; repeat the call unchanged"
        raise VersionMismatchError(path, version, current, reason=reason)
