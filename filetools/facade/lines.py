"""Who wrote which line of a file, as `provenance` tells it."""

from __future__ import annotations

from filetools.content import inspect
from filetools.errors import InvalidArgumentError
from filetools.facade.parts import Parts
from filetools.models import EXTERNAL
from filetools.models.history import LineRange, ProvenanceResult
from filetools.paths import WorkspacePath
from filetools.versions import AuthoredLines, LineHistory


def line_ranges(parts: Parts, path: WorkspacePath) -> ProvenanceResult:
    """Return who wrote each line of a file last; call it in a worker thread.

    Raises:
        PathNotFoundError, FileTooLargeError
        InvalidArgumentError: It is binary.
    """
    journal = parts.journal
    now = journal.position() + 1  # first: a change recorded from here on is not older than it
    content, _ = parts.store.read(path, limit=parts.settings.max_read_bytes)
    facts, text = inspect(content, name=path)
    if text is None:
        raise InvalidArgumentError(f"{path} is binary; it has no lines", path=path)
    lines = LineHistory(
        journal.history,
        journal.contents.get,
        lambda other: parts.workspace.key(parts.workspace.resolve(other)),
        parts.lines,
    )
    ranges = [_range(lines_of_one) for lines_of_one in lines.authors(path, text, now=now)]
    return ProvenanceResult(path=path, version=facts.version, total_lines=facts.total_lines or 0, ranges=ranges)


def _range(found: AuthoredLines) -> LineRange:
    record, before = found.author.record, found.author.before
    if before is not None:
        return LineRange(first=found.first, last=found.last, before=before)
    actor = EXTERNAL if record is None else record.actor
    return LineRange(
        first=found.first,
        last=found.last,
        actor={"kind": actor.kind, "id": actor.id},
        session=actor.session,
        call=actor.call,
        time=None if record is None else record.time,
        number=None if record is None else record.number,
    )
