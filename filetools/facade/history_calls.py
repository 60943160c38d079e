"""Calls about history: versions, diffs, undo and redo, checkpoints, provenance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import structs

from filetools.changes.parts import Parts
from filetools.changes.tree_look import TreeLook, current_tree
from filetools.content.differences.diff import unified_diff
from filetools.content.extracts.whole import whole_start
from filetools.content.facts import inspect
from filetools.content.version import version_of
from filetools.errors import (
    ChangedMeanwhileError,
    FileToolsError,
    InvalidArgumentError,
    PathNotFoundError,
    require_within,
)
from filetools.facade.calls import ActorCalls
from filetools.facade.reading import information
from filetools.facade.reading.feed import PAGE_RECORDS, number_of
from filetools.facade.reading.reading import full_version
from filetools.facade.run_calls import runs_of
from filetools.history import selection, tree_diff, undoing
from filetools.history.checkpoints import RestoreTarget, require_known, take
from filetools.history.provenance import AuthoredLines, LineHistory, lineage
from filetools.history.selection import Moment
from filetools.journal.checkpoints import Checkpoint, Tree, readable
from filetools.journal.records import RecordFilter, RelationKind
from filetools.models.files import DiffResult, VersionsResult
from filetools.models.history import (
    CheckpointResult,
    CheckpointsResult,
    LineRange,
    LookResult,
    ProvenanceResult,
    TreeDiffResult,
    UndoResult,
)
from filetools.models.records import EXTERNAL, WITHOUT_BYTES, Actor, ChangeRecord
from filetools.paths.lexical import AnyPath
from filetools.paths.names import require_printable
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.sessions.runs import Run

T = TypeVar("T")

MOST_TRIES = 5
LONGEST_NAME = 200


class HistoryCalls(ActorCalls):
    """Calls that read history, or restore earlier states."""

    async def versions(self, path: AnyPath, *, limit: int = 100) -> VersionsResult:
        """Return the versions of a path, newest first, including those by other programs and those displaced.

        Args:
            path: Workspace-relative path; the file may have been deleted.
            limit: Most journal records that are searched, from 1.

        Raises:
            InvalidArgumentError: `limit` is under 1.
        """
        require_within("limit", limit, 1)
        return await self._of_file("versions", path, lambda where: information.history(self._parts, where, limit))

    async def diff(
        self, path: AnyPath, old_version: str | None = None, new_version: str | None = None, *, exact: bool = False
    ) -> DiffResult:
        """Return what changed between two versions of a path, as a unified diff.

        Args:
            path: Workspace-relative path.
            old_version: The version to start from; None is the one before the newest recorded.
            new_version: The version to end at; None is the current file.
            exact: Compare bytes, as git does, for a patch that programs apply. Bytes that are not UTF-8 are surrogate
                escapes in the diff.

        Raises:
            PathNotFoundError, VersionGoneError
            InvalidArgumentError: A version is binary, or there is no earlier version.
        """
        return await self._of_file(
            "diff",
            path,
            lambda where: diff_result(self._parts, where, old_version, new_version, self.actor, is_exact=exact),
        )

    async def diff_tree(
        self,
        old: str,
        new: str | None = None,
        *,
        path: AnyPath = "",
        patch: bool = False,
        limit: int = 1000,
        exact: bool = False,
    ) -> TreeDiffResult:
        """Return the net changes between two checkpoints, or between a checkpoint and the current tree.

        To compare the current tree, the whole tree is read first, and changes by other programs are recorded. The result
        names the entries that differ, whatever happened in between, and all who changed them. Unsaved texts are ignored.

        Args:
            old: Name of the checkpoint to start from.
            new: Name of the checkpoint to end at, which may be the older one; None is the current tree.
            path: Only this file, or the entries of this folder, including those that were moved out of it.
            patch: True to add diffs in git's format, of texts up to 1 MiB, up to 4 MiB in all.
            limit: Most changes in the result, from 1; the counts include all.
            exact: As for `diff`.

        Raises:
            InvalidArgumentError: There is no checkpoint of that name, its rows were damaged, or `limit` is under 1.
        """
        require_within("limit", limit, 1)
        below = await self._readable("diff", path, allow_root=True)
        found, rows = await self._snapshot(old)
        first = tree_diff.WholeTree(found, rows)
        if new is None:
            now, seen = await self._tree_now(found, rows)
            second = tree_diff.WholeTree(None, readable(now), frozenset(seen.unread))
        else:
            second = tree_diff.WholeTree(*await self._snapshot(new))
        compare = partial(tree_diff.diff_tree, below=below, limit=limit, patch=patch, is_exact=exact)
        return await self._parts.workers.run(partial(compare, self._parts, self.actor, first, second))

    async def latest_changes(
        self,
        limit: int = 20,
        *,
        path: AnyPath | None = None,
        actor: Actor | str | None = None,
        session: str | None = None,
        run: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> tuple[ChangeRecord, ...]:
        """Return the newest recorded changes, newest first.

        Args:
            limit: Most changes, 1 to 1000.
            path: Only changes of this file, or in this folder. A file is compared with the disk first.
            actor: Only changes by this actor, or by actors of this name; None is everybody.
            session: Only changes of this session.
            run: Only changes of this run, including those by other programs that count as its own.
            since: First journal number, or first time.
            until: Last journal number, or last time.

        Raises:
            InvalidArgumentError: `limit` is out of range, or both `session` and `run` are given.
            RunNotFoundError: There is no such run.
        """
        require_within("limit", limit, 1, PAGE_RECORDS)
        if session is not None and run is not None:
            raise InvalidArgumentError("session and run exclude each other")
        where = None if path is None else self._runner.resolve(path)
        if where is not None:
            await self._runner.observe(where)
        meant = selection.filter_of(
            self.actor, session=session, since=since, until=until, actor=selection.EVERYBODY if actor is None else actor,
            key=None if where is None else self._parts.workspace.key(where),
        )  # fmt: skip
        wanted = [structs.replace(meant, saved=True)]
        if run is not None:
            _, wanted = await self._parts.workers.run(partial(_run_and_filters, self._parts, run, wanted[0]))
        found = partial(selection.selected, self._parts.journal.history, wanted, limit=limit)
        return tuple(await self._parts.workers.run(found))

    async def look(self) -> LookResult:
        """Record all changes by other programs that were not noticed yet; returns the paths that could not be read.

        The whole tree is compared with what is known of it, and files that differ are read. `checkpoint`, `restore`,
        `undo` of more than one change and `sync_all(verify=True)` do so themselves; `status`, `changes` and
        `latest_changes` do not.

        Raises:
            WorkspaceGoneError: The workspace was closed.
        """
        return await self._runner.look()

    async def undo(
        self,
        *,
        call: str | None = None,
        session: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        path: AnyPath | None = None,
        actor: Actor | str | None = None,
        numbers: Sequence[int] | None = None,
        run: str | None = None,
        dry_run: bool = False,
        partial: bool = False,
    ) -> UndoResult:
        """Undo changes, all or nothing; without arguments this actor's last change.

        If others have taken that back, the change before it is undone, and so on for at most 100 calls.

        Later changes by others are kept: the text of each file is merged, and overlapping changes are a conflict, never
        an overwrite. The undo is a change itself, which `redo` or another undo reverts. With call, session, since,
        until, path or run, changes by other programs in the whole tree are recorded first, as by `look`.

        Args:
            call: Only changes of this call; an agent's is looked for in its session, unless `session` names another.
            session: Only changes of this session.
            since: First journal number, or first time.
            until: Last journal number, or last time.
            path: Only changes of this file, or in this folder.
            actor: Whose changes: an actor, a name, or "*" for everybody. By default an agent's own; also people's and
                programs' own, unless call, session or numbers are given.
            numbers: The changes with these journal numbers, undone already or not.
            run: All changes of the run with this id, including foreign changes that are attributed to it; the other filters
                are ignored.
            dry_run: Only return what would happen.
            partial: Undo what is possible, and list the rest.

        Raises:
            EditConflictError: A change cannot be undone; all conflicts are in the details, nothing was changed.
            InvalidArgumentError: There is no such call or number, or the run has not ended.
            RunNotFoundError: There is no such run.
            PathNotFoundError: The path does not exist, and never did as far as the journal reaches.
            ChangedMeanwhileError: The files kept changing.
        """
        where = None if path is None else self._runner.resolve(path)
        key = None if where is None else self._parts.workspace.key(where)
        wanted = selection.filter_of(
            self.actor, call=call, session=session, since=since, until=until, key=key, actor=actor,
            numbers=None if numbers is None else tuple(numbers),
        )  # fmt: skip
        is_span = any(each is not None for each in (call, session, since, until, path, run))
        seen = await self._runner.look() if is_span else LookResult()
        choose = await self._choosing_run(run) if run is not None else lambda history: (
            [selection.choose(history, self.actor, wanted)] if is_span or wanted.numbers is not None
            else selection.last_calls(history, wanted)
        )  # fmt: skip
        result = await self._take_back(choose, dry_run=dry_run, partly=partial)
        if (
            where is not None
            and not result.changes
            and not await self._parts.workers.run(lambda: self._is_known(where))
        ):
            raise PathNotFoundError(where)
        return result.model_copy(update={"unread": seen.unread})

    def _is_known(self, path: WorkspacePath) -> bool:
        """True if a path exists, or the journal has a record of it."""
        changed = RecordFilter(key=self._parts.workspace.key(path))
        return self._parts.store.stat(path) is not None or bool(self._parts.journal.history.select(changed, limit=1))

    async def redo(self, *, dry_run: bool = False, partial: bool = False) -> UndoResult:
        """Undo this actor's last undo or restore; otherwise as `undo`."""
        wanted = selection.filter_of(self.actor)
        return await self._take_back(
            lambda history: selection.last_calls(history, wanted, redo=True),
            dry_run=dry_run, partly=partial, kind="redoes",
        )  # fmt: skip

    async def checkpoint(self, name: str, *, replace: bool = False, automatic: bool = False) -> CheckpointResult:
        """Save the state of the whole tree under a name, so that `restore` can bring it back, no matter who changed it.

        Changes by other programs are recorded first, as by `look`. A checkpoint has all files that are not ignored, and
        every file that filetools ever wrote. It keeps the bytes of files up to `snapshot_max_file_bytes`, and up to
        `snapshot_max_bytes` in all; the result names the others. The journal keeps everything after the oldest checkpoint.

        Args:
            name: Any text of 1 to 200 characters.
            replace: True to replace a checkpoint of that name.
            automatic: True for a checkpoint that expires: the last 20 are kept, or fewer if retention limits are exceeded.

        Raises:
            InvalidArgumentError: The name is empty, too long, or taken.
        """
        self._runner.check_open()
        given: object = name
        if not isinstance(given, str) or not given.strip() or len(given) > LONGEST_NAME:
            raise InvalidArgumentError(f"The name of a checkpoint has 1 to {LONGEST_NAME} characters")
        require_printable("The name of a checkpoint", name)
        self._parts.gatekeeper.check_writable()
        await self._authorise("checkpoint", [], {"name": name}, change=False)
        seen = await self._runner.look_at_tree(keep=True)
        taken = await self._parts.workers.run(
            partial(take, self._parts, name, seen, replace=replace, automatic=automatic)
        )
        if taken is None:
            raise InvalidArgumentError(
                f"The checkpoint {name!r} already exists",
                suggested_action="Choose another name, or pass replace=True.",
            )
        made, by_hash_alone, unread = taken
        return _checkpoint_result(made).model_copy(update={"by_hash_alone": by_hash_alone, "unread": unread})

    async def checkpoints(self) -> CheckpointsResult:
        """Return all checkpoints, oldest first."""
        found = await self._parts.workers.run(self._parts.journal.checkpoints.all)
        return CheckpointsResult(checkpoints=[_checkpoint_result(each) for each in found])

    async def delete_checkpoint(self, name: str) -> CheckpointResult:
        """Delete a checkpoint; the journal may then drop what it kept for it.

        Raises:
            InvalidArgumentError: There is no checkpoint of that name.
        """
        found = await self._known(name, self._parts.journal.checkpoints.get)
        await self._authorise("delete_checkpoint", [], {"name": name}, change=True)
        await self._parts.workers.run(lambda: self._parts.journal.checkpoints.remove(name))
        return _checkpoint_result(found)

    async def restore(
        self, name: str, path: AnyPath | None = None, *, dry_run: bool = False, partial: bool = False
    ) -> UndoResult:
        """Restore the tree, or a part of it, to its state at a checkpoint, no matter who changed it.

        Entries that are not in the checkpoint are removed if they were made since. Entries of unknown origin, ignored
        entries, repositories that were cloned since, and names that no call can use stay; the result lists those it has
        seen as "unknown". A restore is a change itself, which `redo` reverts.

        Args:
            name: Name of the checkpoint.
            path: Only this file or folder, with all in it. Missing folders above it are made. An entry that was moved out
                of it since comes back, and also stays where it is now.
            dry_run: Only return what would happen.
            partial: Restore what is possible, and list the rest.

        Raises:
            InvalidArgumentError: There is no checkpoint of that name, its rows were damaged, or the path is neither in it
                nor in the tree.
            InvalidPathError, AbsolutePathError, PathTraversalError: The path is not inside the workspace.
            EditConflictError, ChangedMeanwhileError: As `undo`.
        """
        where = ROOT if path is None else self._runner.resolve(path, allow_root=True, as_name=True)
        found, tree = await self._snapshot(name)

        async def aim() -> RestoreTarget:
            target = RestoreTarget(found.number, tree, *await self._tree_now(found, tree), where)
            require_known(target, name, self._parts.workspace.key)
            return target

        since = RecordFilter(since=found.number + 1)
        return await self._take_back(
            lambda history: [selection.effective(history, history.select(since, limit=selection.MOST_NUMBER))],
            dry_run=dry_run, partly=partial, tool="restore", aim=aim,
        )  # fmt: skip

    async def provenance(self, path: AnyPath) -> ProvenanceResult:
        """Return the last author of each line of a file, as far back as the journal keeps its texts.

        Raises:
            PathNotFoundError
            InvalidArgumentError: The file is binary.
        """
        return await self._of_file("provenance", path, partial(line_ranges, self._parts))

    async def _of_file(self, tool: str, path: AnyPath, work: Callable[[WorkspacePath], T]) -> T:
        """Run `work` on a path in a worker thread, after changes of the file by other programs are recorded."""
        where = await self._readable(tool, path)
        await self._runner.observe(where)
        return await self._parts.workers.run(partial(work, where))

    async def _choosing_run(self, run_id: str) -> undoing.Choose:
        run, filters = await self._parts.workers.run(partial(_run_and_filters, self._parts, run_id, RecordFilter()))
        if run.ended is None:
            raise InvalidArgumentError(f"The run {run_id} is under way", suggested_action="Stop it first.")
        return lambda history: [selection.effective(history, selection.selected(history, filters))]

    async def _tree_now(self, found: Checkpoint, rows: Tree) -> tuple[Tree, TreeLook]:
        """Return the rows of the current tree, from those of a checkpoint, and what the look could not determine."""
        seen = await self._runner.look_at_tree()
        return await self._parts.workers.run(partial(current_tree, self._parts, seen, found.snapshot, rows)), seen

    async def _snapshot(self, name: str) -> tuple[Checkpoint, Tree]:
        """Return a checkpoint and its rows.

        Raises:
            InvalidArgumentError: There is no checkpoint of that name, or its rows were damaged.
        """
        checkpoint, rows = await self._known(name, self._parts.journal.checkpoints.snapshot)
        if rows is None:
            raise InvalidArgumentError(
                f"The rows of the checkpoint {name!r} were damaged",
                suggested_action=f"Undo the changes after number {checkpoint.number} instead.",
            )
        return checkpoint, rows

    async def _known(self, name: str, find: Callable[[str], T | None]) -> T:
        """Return what `find` returns for the name of a checkpoint.

        Raises:
            InvalidArgumentError: There is no checkpoint of that name.
        """
        found = await self._parts.workers.run(partial(find, name))
        if found is None:
            known = ", ".join(each.name for each in (await self.checkpoints()).checkpoints)
            raise InvalidArgumentError(
                f"There is no checkpoint {name!r}; " + (f"known are {known}" if known else "there are none yet")
            )
        return found

    async def _take_back(
        self,
        pick: undoing.Choose,
        *,
        dry_run: bool,
        partly: bool,
        tool: str = "undo_changes",
        kind: RelationKind = "undoes",
        aim: Callable[[], Awaitable[RestoreTarget]] | None = None,
    ) -> UndoResult:
        self._runner.check_open()
        tries, refused = 0, dict[str, FileToolsError]()
        is_withheld = self._parts.gatekeeper.policy.withholding(self.actor, "diff", "read_file") or (
            lambda _path: False
        )
        while tries < MOST_TRIES:
            target = None if aim is None else await aim()
            make = partial(undoing.make_plan, self._parts, pick, kind, target=target, refused=refused)
            plan = await self._parts.workers.run(make)
            touched = plan.touched(self._parts.settings.protected_paths)
            if dry_run or not (plan.is_whole or partly) or not plan.steps:
                await self._authorise(tool, touched, {}, change=False)
                if not (plan.is_whole or partly or dry_run):
                    raise plan.error(is_withheld)
                return await self._parts.workers.run(partial(plan.result, None, is_withheld, dry_run=dry_run))
            files = {"files": [file.to_dict() for file in plan.files]}
            allowed = await self._authorise_steps(tool, touched, files, plan.steps, deleted=plan.deleted)
            try:
                outcome = await undoing.carry_out(self._runner, self.actor, plan, kind, allowed)
            except FileToolsError as exc:
                again = await self._parts.workers.run(make)
                if again.files != plan.files:
                    tries += 1
                elif partly and exc.path is not None and exc.path not in refused:
                    refused = {**refused, exc.path: exc}
                else:
                    raise  # planned again, it would be the same
            else:
                return await self._runner.afterwards(partial(plan.result, outcome, is_withheld))
        raise ChangedMeanwhileError(touched[0] if touched else ".", MOST_TRIES)


def _run_and_filters(parts: Parts, run_id: str, wanted: RecordFilter) -> tuple[Run, list[RecordFilter]]:
    """Return a run, and the filters that select its changes among those wanted."""
    runs = runs_of(parts)
    run = runs.get(run_id)
    if run.first.partition(":")[0] != parts.journal.epoch:
        raise InvalidArgumentError(f"The journal was rolled back, and has lost the changes of the run {run_id}")
    # A run whose process died has no last position: it has all changes of its session up to the next run.
    last = runs.last_of(run)
    ends = [wanted.until, None if last is None else number_of(last)]
    own = structs.replace(
        wanted, session=run.session, since=max(wanted.since, number_of(run.first) + 1),
        until=min((number for number in ends if number is not None), default=None),
    )  # fmt: skip
    return run, [own, structs.replace(wanted, numbers=tuple(run.foreign))]


def _checkpoint_result(found: Checkpoint) -> CheckpointResult:
    return CheckpointResult(
        name=found.name, number=found.number, time=found.time, files=found.files, bytes=found.bytes,
        automatic=found.automatic,
    )  # fmt: skip


def diff_result(
    parts: Parts, path: WorkspacePath, old: str | None, new: str | None, actor: Actor, *, is_exact: bool = False
) -> DiffResult:
    """Return the diff between two versions of a path.

    Args:
        parts: The workspace.
        path: The path.
        old: None is the version before the newest recorded change.
        new: None is the current file.
        actor: The actor who asks.
        is_exact: True to compare bytes.

    Raises:
        PathNotFoundError, VersionGoneError
        InvalidArgumentError: A version is binary or invalid, or there is no earlier version.
    """
    first = parts.journal.contents.get(full_version(parts, path, old, actor) if old else _version_before(parts, path))
    second = (
        parts.store.read(path)[0] if new is None else parts.journal.contents.get(full_version(parts, path, new, actor))
    )
    before, after = (tree_diff.compared_text(content, path, is_exact=is_exact) for content in (first, second))
    if before is None or after is None:
        raise InvalidArgumentError(f"{path} is binary; there is no text to compare", path=path)
    diff = unified_diff(before, after, f"a/{path}", f"b/{path}", is_exact=is_exact)
    return DiffResult(path=path, old_version=version_of(first), new_version=version_of(second), diff=diff)


def _version_before(parts: Parts, path: WorkspacePath) -> str:
    for record in parts.journal.records(key=parts.workspace.key(path), newest_first=True, limit=100):
        is_file = record.operation not in WITHOUT_BYTES
        if is_file and record.before is not None and record.before != record.after:
            return record.before
    raise InvalidArgumentError(f"No earlier version of {path} is recorded", path=path)


_PROMPT_CHARACTERS: Final = 80


def line_ranges(parts: Parts, path: WorkspacePath) -> ProvenanceResult:
    """Return the last author of each line of a file. Call it in a worker thread.

    Raises:
        PathNotFoundError, FileTooLargeError
        InvalidArgumentError: The file is binary.
    """
    journal = parts.journal
    now = journal.positions().newest + 1  # before the file is read: its lines are older than any later record
    content, _ = parts.store.read(path, limit=parts.settings.max_read_bytes)
    facts, text = inspect(content, name=path)
    if text is None:
        raise InvalidArgumentError(f"{path} is binary; it has no lines", path=path)
    records = list(lineage(journal.history, parts.workspace.key(path), parts.workspace.key))[::-1]
    # In a journal restored from a backup, the numbers of older runs belong to other changes.
    known = (run for run in runs_of(parts).list() if run.first.startswith(f"{journal.epoch}:"))
    runs = sorted(known, key=lambda run: number_of(run.first), reverse=True)
    foreign = {number: run for run in runs for number in run.foreign}
    lines = LineHistory(journal.history, journal.contents.get).authors(records, text, now=now)
    ranges = [_range(each, partial(_run_of, runs, foreign)) for each in lines]
    return ProvenanceResult(path=path, version=facts.version, total_lines=facts.total_lines or 0, ranges=ranges)


def _range(found: AuthoredLines, run_of: Callable[[ChangeRecord], Run | None]) -> LineRange:
    first, last, record = found
    if isinstance(record, int):
        return LineRange(first=first, last=last, before=record)
    actor = EXTERNAL if record is None else record.actor
    run = None if record is None else run_of(record)
    return LineRange(
        first=first,
        last=last,
        actor={"kind": actor.kind, "id": actor.id},
        session=actor.session,
        call=actor.call,
        time=None if record is None else record.time,
        number=None if record is None else record.number,
        run=None if record is None or run is None else _told(run, record),
    )


def _run_of(runs: Sequence[Run], foreign: Mapping[int, Run], record: ChangeRecord) -> Run | None:
    """Return the run that a change belongs to; the runs are sorted newest first."""
    for run in runs:
        # A run whose process died has no end, and also matches changes of later runs.
        is_within = number_of(run.first) < record.number and (run.last is None or record.number <= number_of(run.last))
        if is_within and run.session == record.actor.session:
            return run
    return foreign.get(record.number)


def _told(run: Run, record: ChangeRecord) -> dict[str, Any]:
    turn = run.turn_at(record.time)
    prompt = whole_start(" ".join(run.prompt.split()), _PROMPT_CHARACTERS)
    return {"id": run.id, **({} if turn is None else {"turn": turn}), "prompt": prompt}
