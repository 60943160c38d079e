"""The decision at the end of a transaction: its operations on the tree of that moment, which others may have changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from filetools.changes.knowledge import bytes_now, now_or_kept, read_as
from filetools.changes.overlay import Overlay, OverlayNode, base_tree
from filetools.changes.planner import plan
from filetools.changes.rebasing import MergedText, merged_text, unmergeable
from filetools.content.formats import decode
from filetools.errors import PathExistsError, VersionMismatchError
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, Move, Put, RemoveFolder, Seen, SeenPath, TreeOperation

_CHANGED = "others changed it since this transaction first did"
_NEW_INSIDE = "others changed it since this transaction moved or deleted the folder that holds it"


class HeldOperations(Struct, frozen=True, kw_only=True):
    """What a transaction has done so far, and what it saw."""

    operations: Sequence[TreeOperation]
    """In its own order."""
    before: Mapping[str, SeenPath]
    """What was at each path when the transaction first changed it, with everything in a folder that it moved or deleted."""
    strict: Collection[str] = ()
    """Paths of which the caller named the version, so that nothing may be merged."""
    encodings: Mapping[str, str] = {}
    """Codecs that the actor named, by path."""


class TransactionAnswer(Struct, frozen=True, kw_only=True):
    """What a transaction did."""

    merged: Mapping[str, bytes]
    """By path the bytes of each file with text of others in it."""


def decide_commit(seen: Seen, *, held: HeldOperations, settings: Settings) -> Decided:
    """Apply the operations of a transaction; its texts are merged with what others have written since.

    Args:
        seen: Each path in `held.before` with its bytes, all that is below the folders among them, and the bytes of their
            earlier versions.
        held: The operations.
        settings: Which files are prose.

    Returns:
        The operations, and a `TransactionAnswer`.

    Raises:
        EditConflictError: Changes of others overlap with a text, or there is no text to merge.
        VersionMismatchError: Others changed what the transaction removed or moved, or what must not be merged.
        PathExistsError: Others made a file where there was none.
        FileToolsError: An operation cannot be applied any more.
    """
    wanted = Overlay(base_tree(Seen(paths=held.before, kept=seen.kept)))
    for operation in held.operations:
        wanted.apply(operation)
    _refuse_new_inside(seen, held)
    merged: dict[str, bytes] = {}
    for path, before in sorted(held.before.items()):
        now, node = seen.at(WorkspacePath(path)), wanted.find(WorkspacePath(path))
        if (now.kind, now.version) == (before.kind, before.version) or _is_done(wanted, now, node, before):
            continue
        if node is None or node.kind != "file" or node.content is None:
            raise VersionMismatchError(path, before.version, now.version, reason=_CHANGED)
        merged[path] = on_top(
            seen, before, now, node.content,
            encoding=held.encodings.get(path), is_strict=path in held.strict, settings=settings,
        ).content  # fmt: skip
    final = Overlay(base_tree(seen))
    for operation in held.operations:
        final.apply(operation)
    for path, content in merged.items():
        final.apply(Put(path=WorkspacePath(path), content=content))
    return Decided(operations=plan(final), answer=TransactionAnswer(merged=merged))


def _is_done(wanted: Overlay, now: SeenPath, node: OverlayNode | None, before: SeenPath) -> bool:
    """Whether the transaction does not change a path that others have changed, or wants what is there now."""
    if node is None or now.kind != node.kind:
        return False
    if node.kind == "directory":
        return True
    is_untouched = node.origin is not None and node.origin.path == before.path and node.content is None
    return is_untouched or wanted.seen_path(now.path).version == now.version


def on_top(
    seen: Seen,
    before: SeenPath,
    now: SeenPath,
    content: bytes,
    *,
    encoding: str | None,
    is_strict: bool,
    settings: Settings,
) -> MergedText:
    """Return a transaction's text on top of what others have written.

    Args:
        seen: With the bytes of the file as it is and as it was.
        before: What the transaction has changed.
        now: What others have made of it.
        content: The transaction's text.
        encoding: Codec that the actor named.
        is_strict: Whether the caller named the version, so that nothing may be merged.
        settings: Which files are prose.

    Raises:
        FileToolsError: As `decide_commit`.
    """
    path = now.path
    if before.kind is None:
        raise PathExistsError(path)
    if is_strict:
        raise VersionMismatchError(path, before.version, now.version, reason=_CHANGED)
    if now.kind != "file":
        raise unmergeable(path, before.version, None, reason="it is no longer there")
    base = now_or_kept(seen, before, before.version)
    if base is None:
        reason = "the text that this transaction changed is no longer kept, so it cannot be merged"
        raise VersionMismatchError(path, before.version, now.version, reason=reason)
    current, facts = bytes_now(seen, now), read_as(content, encoding, name=path)[0]
    if facts.text_format is None:
        raise unmergeable(path, before.version, now.version, reason="it is binary and cannot be merged")
    return merged_text(
        path,
        base=base,
        base_facts=read_as(base, encoding, name=path)[0],
        current=current,
        facts=read_as(current, encoding, name=path)[0],
        proposed=decode(content, facts.text_format, path=path),
        by_words=settings.is_prose(path),
    )


def _refuse_new_inside(seen: Seen, held: HeldOperations) -> None:
    """Refuse to take along, or to delete, what others have put into a folder."""
    for operation in held.operations:
        for each in seen.below.get(operation.path, ()) if isinstance(operation, Move | RemoveFolder) else ():
            if each.path not in held.before:
                raise VersionMismatchError(each.path, None, each.version, reason=_NEW_INSIDE)
