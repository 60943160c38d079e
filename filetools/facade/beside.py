"""Whole-file writes where an editor has unsaved text of the file: which text is their base, and who decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from filetools.content import inspect
from filetools.editors import OpenText
from filetools.errors import EditConflictError, VersionMismatchError
from filetools.facade.expected import is_version, matches
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.requests import WriteRequest
from filetools.facade.stale import has_stood, has_written, is_own_result, known_text
from filetools.facade.steps import (
    Decision,
    UnsavedQuestion,
    disk_text,
    overwritten,
    put_beside,
    unsaved_error,
)
from filetools.journal import Stamp
from filetools.models import Actor
from filetools.versions import conflict_error


def decide_unsaved(
    parts: Parts,
    seen: Look,
    request: WriteRequest,
    actor: Actor,
    plain: Decision,
    *,
    text: str | None,
    opened: OpenText,
) -> Decision:
    """Decide a whole-file write where an editor has unsaved text of the file.

    Args:
        parts: The workspace.
        seen: What stands on disk.
        request: The write.
        actor: Who writes.
        plain: What would be decided without unsaved text.
        text: The text that is sent, in the file's form; None for bytes.
        opened: The document.

    Raises:
        VersionMismatchError, EditConflictError, EncodingError
        UnsavedQuestion: A person must decide first.
    """
    if request.on_conflict == "cancel":
        raise unsaved_error(seen.path, opened.document.version, is_cancelled=True)
    if text is None:
        raise unsaved_error(seen.path, opened.document.version, "and what would replace it is binary")
    asked = request.asked
    if asked is not None and not asked.is_about(opened.document.version, seen.version):
        request = replace(request, on_conflict="ask", asked=None)  # it is not what the person saw any more
    if request.on_conflict == "allow":
        require_version_of_either(parts, seen, opened, request)
        return overwritten(parts, seen, opened, plain)
    base = _base_of(parts, seen, request, actor, opened)
    if request.on_conflict == "ask":
        raise UnsavedQuestion(seen.path, opened, base_text=base, proposed=text, disk_version=seen.version)
    try:
        beside = put_beside(parts, seen, opened, base, text)
    except EditConflictError as overlap:
        if request.on_conflict != "merge_or_ask":
            raise
        question = UnsavedQuestion(seen.path, opened, base_text=base, proposed=text, disk_version=seen.version)
        raise question from overlap
    return replace(beside, newline=plain.newline)


def _base_of(parts: Parts, seen: Look, request: WriteRequest, actor: Actor, opened: OpenText) -> str:
    """Return the text that a writer knows, of a file whose unsaved text reads return."""
    named = require_version_of_either(parts, seen, opened, request)
    on_disk = disk_text(parts, seen)
    if on_disk is None:
        raise unsaved_error(seen.path, opened.document.version, "and its file is binary")
    stamp = parts.knowledge.stamp(actor, seen.key)
    if stamp is None or (named is not None and _knows(parts, seen, actor, named, stamp)):
        return opened.text if named == "buffer" else on_disk
    content = known_text(parts, seen, stamp)
    text = inspect(content, name=seen.path)[1]
    if text is None:
        raise conflict_error(seen.path, stamp.version, seen.version, reason="it was binary then")
    return text


def _knows(parts: Parts, seen: Look, actor: Actor, named: Literal["buffer", "disk"], stamp: Stamp) -> bool:
    """Whether who names a text knows it better than its stamp does; see `needs_rebase`.

    A read of unsaved text tells the file's version, too: naming that one is no knowledge of what the file holds. A write
    that went to the file tells the version of the unsaved text that it was merged into, which is in no record.
    """
    if named == "buffer":
        return not has_written(parts, seen.key, actor)
    return has_stood(parts, seen.key, stamp.version) and not is_own_result(parts, seen.key, seen.version, actor)


def require_version_of_either(
    parts: Parts, seen: Look, opened: OpenText, request: WriteRequest
) -> Literal["buffer", "disk"] | None:
    """Return which text has the version that a caller expects: the unsaved one or the file's; None if it expects none.

    Raises:
        VersionMismatchError: Neither has.
    """
    expected = request.expected_version
    if expected is None:
        return None
    version = parts.documents.texts.bytes_of(opened)[1]
    if matches(version, expected):
        return "buffer"
    if is_version(seen, expected):
        return "disk"
    if request.on_stale == "merge":
        return None
    raise VersionMismatchError(seen.path, expected, version)
