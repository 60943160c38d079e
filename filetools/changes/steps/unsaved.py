"""Decides what a change does to a file with unsaved text in an editor.

A person's text is never saved without them. If every hunk of the change applies to the file, the file is written and the
change is merged into the document, which stays dirty. A change that needs unsaved text goes to the document alone, as a
record of state `buffer`. A change that cannot be merged into the document is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec import structs

from filetools.changes.decision import BASE_GONE, PutDecision, ShownText, overlapping, unmergeable
from filetools.changes.parts import Parts
from filetools.changes.steps.look import Look, content_of
from filetools.changes.writing import with_text
from filetools.content.differences.diff import minimal_edits
from filetools.content.differences.merging import merge, merge_bytes
from filetools.content.editing.text_edits import TextEdit, apply_text_edits
from filetools.content.facts import ContentFacts, describe, inspect
from filetools.content.formats import TextFormat, decode, encode
from filetools.content.version import version_of
from filetools.editors.documents import OpenText, changed, typed
from filetools.errors import EditConflictError, VersionMismatchError
from filetools.journal.documents import DocumentChange, EditReason
from filetools.paths.workspace_path import WorkspacePath

RECENT_RECORDS: Final = 100
"""Newest records of a path that are searched for the version of its unsaved text; if it is older, it is recorded again."""


class UnsavedQuestion(Exception):  # noqa: N818  # not an error: a person is asked, and the call continues
    """Raised in a turn if a person must decide about unsaved text; they are asked after the turn."""

    def __init__(self, opened: OpenText, *, base_text: str, proposed: str) -> None:
        super().__init__(opened.document.path)
        self.opened = opened
        self.base_text = base_text
        self.proposed = proposed


def unsaved_text(parts: Parts, seen: Look) -> OpenText | None:
    """Return the document of a path if it has unsaved text.

    Raises:
        HeadMovedError: It has changed since the look.
    """
    document = seen.view.document
    return None if document is None or not document.is_dirty else parts.documents.at(document)


def disk_text(parts: Parts, seen: Look) -> str | None:
    """Return the text of a look's file: empty if there is no file, None if it is binary."""
    if seen.stat is None:
        return ""
    facts = seen.facts
    if facts is None or facts.text_format is None:
        return None
    return decode(content_of(parts, seen), facts.text_format, path=seen.path)


def with_document(parts: Parts, seen: Look, decision: PutDecision) -> PutDecision:
    """Return a decision with the change of the path's open document added, unless it already has one.

    Raises:
        EditConflictError: The change cannot be merged into the unsaved text, or must not be.
        VersionMismatchError: The text that the change was made from is no longer kept.
        HeadMovedError: The document has changed since the look.
        UnsavedQuestion: A person must decide first.
    """
    document = seen.view.document
    is_unchanged = decision.facts.version == seen.version and decision.base is None
    if document is None or decision.in_buffer or decision.document is not None or is_unchanged:
        return decision
    opened = parts.documents.at(document)
    text, is_edit, on_conflict = decision.text_for(seen.path), decision.report is not None, decision.on_conflict
    if not document.is_dirty:
        if text is None:
            return decision
        return structs.replace(decision, document=rebased(opened, text, decision.facts, edits=decision.edits))
    text = text if decision.text is None else decision.text
    if on_conflict == "cancel" and not is_edit:
        raise unsaved_error(seen.path, document.version, is_cancelled=True)
    if text is None:
        raise unsaved_error(seen.path, document.version, "and what would replace it is binary")
    if on_conflict == "allow" and not is_edit:
        return overwritten(seen, opened, decision)
    base = _text_of(parts, seen, opened, decision.base)
    question = partial(UnsavedQuestion, opened, base_text=base)
    if on_conflict == "ask" and not is_edit:
        raise question(proposed=text)
    try:
        return put_beside(parts, seen, opened, base, text, decision)
    except EditConflictError as overlap:
        if on_conflict in ("merge", "cancel"):
            raise
        if is_edit:
            # An edit replaces only what it overlaps with; other unsaved text stays.
            by_words = parts.settings.is_prose(seen.path)
            merged = merge(base, opened.text, text, keep="theirs", by_words=by_words).text
            text = text if merged is None else merged
            if on_conflict == "allow":
                made = with_text(decision, seen.path, text, document.text_format, opened.text)
                return overwritten(seen, opened, made)
        raise question(proposed=text) from overlap


def _text_of(parts: Parts, seen: Look, opened: OpenText, version: str | None) -> str:
    """Return the text of a version of a file with unsaved text; None for the file as it is."""
    if version == opened.version:
        return opened.text
    if version is None or version == seen.version:
        on_disk = disk_text(parts, seen)
        if on_disk is None:
            raise unsaved_error(seen.path, opened.document.version, "and its file is binary")
        return on_disk
    kept = parts.tracker.text(version)
    if kept is None:
        raise VersionMismatchError(seen.path, version, seen.version, reason=BASE_GONE)
    text = inspect(kept, name=seen.path)[1]
    if text is None:
        raise unmergeable(seen.path, version, seen.version, reason="it was binary then")
    return text


def rebased(
    opened: OpenText,
    text: str,
    facts: ContentFacts,
    *,
    edits: Sequence[TextEdit] | None = None,
    file_text: str | None = None,
    reason: EditReason = "disk",
) -> DocumentChange:
    """Return the change that gives a document another text, on the newest content of its file.

    Args:
        opened: The document.
        text: Its next text.
        facts: Facts of the file.
        edits: Used if they lead to the text, so that the texts need not be compared.
        file_text: The file's text; None if it is `text`.
        reason: The reason.
    """
    is_dirty = file_text is not None and text != file_text
    if edits is None or apply_text_edits(opened.text, edits) != text:
        edits = minimal_edits(opened.text, text)
    return changed(
        opened, text, edits,
        base=facts.version, is_dirty=is_dirty, reason=reason, text_format=facts.text_format,
    )  # fmt: skip


def put_beside(parts: Parts, seen: Look, opened: OpenText, base: str, proposed: str, plain: PutDecision) -> PutDecision:
    """Decide whether a change of a file with unsaved text goes to the file, too.

    Args:
        parts: The workspace.
        seen: The file on disk.
        opened: The document with the unsaved text.
        base: The text that the change starts from.
        proposed: The text that it results in.
        plain: The decision without regard to unsaved text.

    Raises:
        EditConflictError: The change overlaps with unsaved text.
        EncodingError: The file's encoding lacks a character of the new text.
    """
    # What is appended is added to both texts, whatever they end with.
    is_addition = plain.added_bytes is not None and proposed.startswith(base)
    caught_up = _caught_up(parts, seen, opened)
    current = opened.text if caught_up is None else caught_up
    foreign: tuple[dict[str, Any], ...] = ()
    if is_addition:
        text = current + proposed.removeprefix(base)
    else:
        merged = merge(base, current, proposed, by_words=parts.settings.is_prose(seen.path))
        if merged.text is None:
            base_version = version_of(base.encode("utf-8", "surrogatepass"))
            raise overlapping(seen.path, base_version, opened.version, merged, current, base)
        text, foreign = merged.text, tuple(dict(hunk.to_dict()) for hunk in merged.foreign)
    edits = minimal_edits(opened.text, text)
    on_disk = _on_disk(parts, seen, base, proposed, is_addition=is_addition)
    after = structs.replace(opened, text=text)
    change: DocumentChange | None = None
    if on_disk is None:
        content, form = after.content, opened.document.text_format
        facts = describe(content, text, form, name=seen.path, version=after.version)
        if text != opened.text:
            change = structs.replace(typed(opened, edits, reason="merged"), is_parent=True)
    else:
        content, (facts, file_text) = on_disk, inspect(on_disk, name=seen.path)
        if caught_up is None:
            # Keep the document's base, so that saving it reports the conflict.
            change = changed(opened, text, edits, base=opened.document.base, is_dirty=True, reason="merged")
        else:
            change = rebased(opened, text, facts, edits=edits, file_text=file_text, reason="merged")
            document = structs.replace(opened.document, text_format=change.document.text_format)
            after = structs.replace(after, document=document, base=on_disk, base_text=file_text or "")
    return structs.replace(
        plain, content=content, facts=facts, is_merged=text != proposed, foreign=foreign, edits=None,
        in_buffer=on_disk is None, document=change,
        shown=ShownText(before=opened.version, version=after.version, content=after.content, text=text),
    )  # fmt: skip


def overwritten(seen: Look, opened: OpenText, decision: PutDecision) -> PutDecision:
    """Return a decision that replaces the unsaved text and keeps it as a version."""
    text = decision.text_for(seen.path)
    if text is None:  # as with a NUL in it
        raise unsaved_error(seen.path, opened.document.version, "and what would replace it is binary")
    shown = ShownText(before=opened.version, version=decision.facts.version, content=decision.content, text=text)
    document = rebased(opened, text, decision.facts)
    return structs.replace(decision, document=document, kept_unsaved=opened.content, shown=shown)


def unsaved_error(
    path: str, buffer_version: int | None, reason: str = "", *, is_cancelled: bool = False
) -> EditConflictError:
    """Return the error for a change that conflicts with unsaved text.

    Args:
        path: The file.
        buffer_version: Version of the document; None if an editor has only reported unsaved changes.
        reason: Why the two cannot be merged, if that is not obvious.
        is_cancelled: True if the caller asked to cancel without a person's approval.
    """
    joined = f", {reason}" if reason else ""
    version = {} if buffer_version is None else {"buffer_version": buffer_version}
    return EditConflictError(
        f"File {path} has unsaved changes{joined}.{' Approval required.' if is_cancelled else ''}",
        path=path,
        suggested_action="Ask the person to save or discard the changes in the editor, then call again.",
        details={"unsaved": True, **version},
    )


def _caught_up(parts: Parts, seen: Look, opened: OpenText) -> str | None:
    """Return a document's text with newer changes of its file merged in; None if they cannot be merged."""
    if seen.stat is None or seen.version == opened.document.base:
        return opened.text
    on_disk = disk_text(parts, seen)
    if on_disk is None:
        return None
    return merge(opened.base_text, opened.text, on_disk, by_words=parts.settings.is_prose(seen.path)).text


def _on_disk(parts: Parts, seen: Look, base: str, proposed: str, *, is_addition: bool) -> bytes | None:
    """Return the file's bytes after a change; None if the change needs unsaved text, or does not alter the file."""
    facts = seen.facts
    if seen.stat is None or facts is None or facts.text_format is None:
        return None
    content = content_of(parts, seen)
    if is_addition:
        bare = TextFormat(encoding=facts.text_format.encoding, bom=b"")
        return content + encode(proposed.removeprefix(base), bare, path=seen.path)
    by_words = parts.settings.is_prose(seen.path)
    merged, _ = merge_bytes(
        base, content, proposed,
        text_format=facts.text_format, path=seen.path, by_words=by_words, with_foreign=False,
    )  # fmt: skip
    return None if merged == content else merged


def refuse_unsaved_below(parts: Parts, folder: WorkspacePath, key: str) -> None:
    """Refuse to delete a folder in which an editor has unsaved text.

    Raises:
        EditConflictError: Names the first such document.
    """
    for document in parts.journal.documents.all(key):
        if document.is_dirty and document.key != key:
            raise unsaved_error(document.path, document.version, f"and lies in {folder}")


def keep_unsaved(parts: Parts, seen: Look, decision: PutDecision) -> None:
    """Keep unsaved text that a decision replaces; called before the decision is recorded."""
    document = seen.view.document
    if document is None:
        return
    kept = decision.kept_unsaved
    if decision.in_buffer and document.is_dirty:
        opened = parts.documents.at(document)
        newest = parts.journal.records(key=seen.key, limit=RECENT_RECORDS, newest_first=True)
        # A record, not only the bytes, so that the text is found among the versions of the path.
        kept = None if any(record.after == opened.version for record in newest) else opened.content
    if kept is not None:
        parts.journal.keep_aside(document.path, document.key, kept, parts.documents.author(document), of=document)


def taken_back(parts: Parts, seen: Look, decision: PutDecision) -> DocumentChange | None:
    """Return the change that undoes a commit's change of a document and keeps what was typed since.

    Unsaved text gets its former base back, so that it counts as unsaved again. Returns None if there is nothing to undo, or
    it cannot be undone.
    """
    made, former = decision.document, seen.view.document
    back = None if made is None or former is None else parts.documents.taken_back(made)
    if made is None or former is None or back is None:
        return None
    version = back.document.version
    is_newer = version != made.document.version + 1
    after = structs.replace(former, version=version, is_dirty=former.is_dirty or is_newer)
    return structs.replace(back, document=after)
