"""Who wrote which line of a file, and in which run of an agent, as `provenance` tells it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from filetools.content.facts import inspect
from filetools.content.whole import whole_start
from filetools.errors import InvalidArgumentError
from filetools.facade.feed import number_of
from filetools.facade.parts import Parts
from filetools.facade.run_calls import runs_of
from filetools.models.history import LineRange, ProvenanceResult
from filetools.models.records import EXTERNAL, ChangeRecord
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.runs import Run
from filetools.versions.provenance import AuthoredLines, LineHistory

_PROMPT_CHARACTERS: Final = 80


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
    owners = _Owners(runs_of(parts).list(), journal.epoch)
    ranges = [_range(each, owners) for each in lines.authors(path, text, now=now)]
    return ProvenanceResult(path=path, version=facts.version, total_lines=facts.total_lines or 0, ranges=ranges)


def _range(found: AuthoredLines, owners: _Owners) -> LineRange:
    record, before = found.author.record, found.author.before
    if before is not None:
        return LineRange(first=found.first, last=found.last, before=before)
    actor = EXTERNAL if record is None else record.actor
    run = None if record is None else owners.run_of(record)
    return LineRange(
        first=found.first,
        last=found.last,
        actor={"kind": actor.kind, "id": actor.id},
        session=actor.session,
        call=actor.call,
        time=None if record is None else record.time,
        number=None if record is None else record.number,
        run=None if record is None or run is None else _told(run, record),
    )


class _Owners:
    """The runs of a journal by what is their own. Lives for one call."""

    def __init__(self, runs: Iterable[Run], epoch: str) -> None:
        # Of a journal that was put back since, the same numbers are other changes.
        known = (run for run in runs if run.first.startswith(f"{epoch}:"))
        self._by_session: dict[str | None, list[Run]] = {}
        self._by_foreign: dict[int, Run] = {}
        for run in sorted(known, key=lambda run: number_of(run.first), reverse=True):
            self._by_session.setdefault(run.session, []).append(run)
            self._by_foreign |= dict.fromkeys(run.foreign, run)

    def run_of(self, record: ChangeRecord) -> Run | None:
        """Return the run that a change belongs to."""
        # The newest comes first: one whose process died has no end, and would claim what later ones did.
        for run in self._by_session.get(record.actor.session, ()):
            if number_of(run.first) < record.number and (run.last is None or record.number <= number_of(run.last)):
                return run
        return self._by_foreign.get(record.number)


def _told(run: Run, record: ChangeRecord) -> dict[str, Any]:
    turn = run.turn_at(record.between[1] if record.between else record.time)
    prompt = whole_start(" ".join(run.prompt.split()), _PROMPT_CHARACTERS)
    return {"id": run.id, **({} if turn is None else {"turn": turn}), "prompt": prompt}
