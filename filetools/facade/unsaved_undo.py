"""Undo of what went into a document that nobody has saved since: merged into its unsaved text, as every change of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from filetools.content import TextFormat, decode
from filetools.errors import ChangedMeanwhileError, EncodingError
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.steps import Decision, put_beside, unsaved_text
from filetools.facade.steps.put_back import PutBack
from filetools.journal import History
from filetools.models import ChangeRecord, RecordState
from filetools.versions import Clash, Finding


def unsaved_of(history: History, chosen: Sequence[ChangeRecord]) -> set[int]:
    """Return the numbers of changes that went into a document which nobody has saved since."""
    buffered = {record.number for record in chosen if record.state is RecordState.BUFFER}
    return buffered - history.children(buffered).keys()


def plan_unsaved(parts: Parts, waiting: Sequence[ChangeRecord], taken: set[str]) -> tuple[list[PutBack], list[Finding]]:
    """Work out how changes of unsaved documents are taken back.

    Args:
        parts: The workspace.
        waiting: The changes, newest first.
        taken: Lock keys of files that the undo changes otherwise; a document cannot be changed along with its file.
    """
    steps: list[PutBack] = []
    findings: list[Finding] = []
    for path in dict.fromkeys(record.path for record in waiting):
        records = tuple(record for record in waiting if record.path == path)
        where = parts.workspace.resolve(path)
        key = parts.workspace.key(where)
        document = parts.journal.view(key).document
        if document is None or not document.is_dirty:
            findings.append(Finding(records=records, path=path, outcome="unchanged"))
        elif key in taken or not _follow_each_other(records):
            clash = Clash(code="EDIT_CONFLICT", reason="it is in a document that is not saved yet")
            findings.append(Finding(records=records, path=path, outcome="conflict", clash=clash))
        else:
            step = PutBack(where, partial(_decide, records))
            step.undone = tuple(sorted(record.number for record in records))
            steps.append(step)
            findings.append(Finding(records=records, path=path, outcome="undone"))
    return steps, findings


def _follow_each_other(records: Sequence[ChangeRecord]) -> bool:
    return all(newer.before == older.after for newer, older in pairwise(records))


def _decide(records: Sequence[ChangeRecord], parts: Parts, seen: Look) -> Decision:
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
