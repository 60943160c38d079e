"""Undo of what went into a document that nobody has saved since: merged into its unsaved text, as every change of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from filetools.content.facts import text_of
from filetools.content.formats import TextFormat, decode
from filetools.content.merging import merge
from filetools.errors import ChangedMeanwhileError, EncodingError
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.steps.decision import PutDecision
from filetools.facade.steps.put_back import PutBack
from filetools.facade.steps.unsaved import put_beside, unsaved_text
from filetools.facade.undo_steps import relations
from filetools.journal.changes import RelationKind
from filetools.journal.history import History
from filetools.models.records import ChangeRecord, RecordState
from filetools.versions.draft_tree import DraftNode, DraftTree
from filetools.versions.undo import Clash, UndoFinding


def split_buffered(
    history: History, chosen: Sequence[ChangeRecord]
) -> tuple[list[ChangeRecord], list[ChangeRecord], list[ChangeRecord]]:
    """Tell changes of documents apart: those of files, those that nobody has saved since, those whose save goes, too."""
    children = history.children(record.number for record in chosen if record.state is RecordState.BUFFER)
    numbers = {record.number for record in chosen}
    files: list[ChangeRecord] = []
    waiting: list[ChangeRecord] = []
    saved: list[ChangeRecord] = []
    for record in chosen:
        saves = children.get(record.number, ())
        if record.state is not RecordState.BUFFER or (saves and numbers.isdisjoint(saves)):
            files.append(record)
        else:
            (saved if saves else waiting).append(record)
    return files, waiting, saved


def plan_unsaved(
    parts: Parts, waiting: Sequence[ChangeRecord], taken: set[str], kind: RelationKind
) -> tuple[list[PutBack], list[UndoFinding]]:
    """Work out how changes of unsaved documents are taken back.

    Args:
        parts: The workspace.
        waiting: The changes, newest first.
        taken: Lock keys of files that the undo changes otherwise; a document cannot be changed along with its file.
        kind: What the new records are to them.
    """
    steps: list[PutBack] = []
    findings: list[UndoFinding] = []
    for path in dict.fromkeys(record.path for record in waiting):
        records = tuple(record for record in waiting if record.path == path)
        where = parts.workspace.resolve(path)
        key = parts.workspace.key(where)
        document = parts.journal.view(key).document
        if document is None or not document.is_dirty:
            findings.append(UndoFinding(records=records, path=path, outcome="unchanged"))
        elif key in taken or not _follow_each_other(records):
            clash = Clash(code="EDIT_CONFLICT", reason="it is in a document that is not saved yet")
            findings.append(UndoFinding(records=records, path=path, outcome="conflict", clash=clash))
        else:
            step = PutBack(where, partial(_decide, records))
            step.undone = relations(sorted(record.number for record in records), kind)
            steps.append(step)
            findings.append(UndoFinding(records=records, path=path, outcome="undone"))
    return steps, findings


def unsaved_clash(parts: Parts, tree: DraftTree, path: str, now: DraftNode, then: DraftNode) -> Clash | None:
    """Return why an undo cannot change a file, if the unsaved text of its document is in the way of that."""
    document = parts.journal.view(parts.workspace.key(path)).document
    if document is None or not document.is_dirty:
        return None
    opened = parts.documents.texts.newest(document.id)
    if opened is None:
        return None  # closed meanwhile
    by_words = parts.settings.is_prose(path)
    base, proposed = (text_of(tree.content(node), name=path) for node in (now, then))
    if base is None or proposed is None:
        return Clash(code="EDIT_CONFLICT", reason="its document has unsaved text, and it is binary")
    # As when it is done: what the file has got since goes into the document first.
    current = merge(opened.base_text, opened.text, base, by_words=by_words).text
    merged = merge(base, opened.text if current is None else current, proposed, by_words=by_words)
    if merged.text is not None:
        return None
    places = tuple(one.to_dict() for one in merged.conflicts)
    return Clash(
        code="EDIT_CONFLICT", reason=f"its document has unsaved text (line {places[0]['line']})", places=places
    )


def _follow_each_other(records: Sequence[ChangeRecord]) -> bool:
    return all(newer.before == older.after for newer, older in pairwise(records))


def _decide(records: Sequence[ChangeRecord], parts: Parts, seen: Look) -> PutDecision:
    """Put what the document was before on top of what it is now; conflicts with what a person typed since refuse."""
    opened = unsaved_text(parts, seen)
    after, before = records[0].after, records[-1].before
    if opened is None or after is None or before is None:
        raise ChangedMeanwhileError(seen.path, 1)  # saved, or given up, since the undo was worked out
    base, proposed = (_text(parts, version, opened.document.text_format, seen.path) for version in (after, before))
    return put_beside(parts, seen, opened, base, proposed)


def _text(parts: Parts, version: str, form: TextFormat, path: str) -> str:
    content = parts.journal.contents.get(version)
    try:
        return decode(content, form, path=path)
    except EncodingError:
        return content.decode("utf-8", "surrogatepass")  # what the file's encoding could not hold
