"""The calls on the past: versions and differences, undo and redo, checkpoints, and who wrote which line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import structs

from filetools.content.differences.diff import unified_diff
from filetools.content.extracts.whole import whole_start
from filetools.content.facts import inspect
from filetools.content.version import version_of
from filetools.errors import ChangedMeanwhileError, FileToolsError, InvalidArgumentError, PathNotFoundError
from filetools.facade.calls import ActorCalls
from filetools.facade.history import restoring, tree_diff, undoing
from filetools.facade.history.checkpoints import snapshot_of, take
from filetools.facade.parts import Parts
from filetools.facade.reading import information
from filetools.facade.reading.expected import full_version
from filetools.facade.reading.feed import PAGE_RECORDS, number_of
from filetools.facade.run_calls import runs_of
from filetools.journal.changes import RelationKind
from filetools.journal.checkpoints import Checkpoint
from filetools.journal.history import RecordFilter
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
from filetools.versions import selection, undo
from filetools.versions.provenance import AuthoredLines, LineHistory, lineage
from filetools.versions.selection import Moment

T = TypeVar("T")

MOST_TRIES = 5
LONGEST_NAME = 200


class HistoryCalls(ActorCalls):
    """Calls that look back, or go back."""

    async def versions(self, path: AnyPath, *, limit: int = 100) -> VersionsResult:
        """Return the versions that a path has had, newest first; also those of other programs and those displaced.

        Args:
            path: Workspace-relative path; the file need not exist any more.
            limit: Most journal records looked through, from 1.

        Raises:
            InvalidArgumentError: `limit` is under 1.
        """
        if limit < 1:
            raise InvalidArgumentError(f"limit must be at least 1, not {limit}")
        where = self._runner.resolve(path)
        await self._authorise("versions", [where], {}, change=False)
        await self._runner.observe(where)
        return await self._parts.workers.run(partial(information.history, self._parts, where, limit))

    async def diff(
        self, path: AnyPath, old_version: str | None = None, new_version: str | None = None, *, exact: bool = False
    ) -> DiffResult:
        """Return what changed between two versions of a path, as a unified diff.

        Args:
            path: Workspace-relative path.
            old_version: The version to start from; None is the one before the newest recorded.
            new_version: The version to end at; None is what stands there now.
            exact: Compare bytes, as git does, for a patch that programs apply. Bytes that are not UTF-8 are surrogate
                escapes in the diff.

        Raises:
            PathNotFoundError, VersionGoneError
            InvalidArgumentError: One of them is binary, or there is no earlier version.
        """
        where = self._runner.resolve(path)
        await self._authorise("diff", [where], {}, change=False)
        await self._runner.observe(where)
        work = partial(diff_result, self._parts, where, old_version, new_version, self.actor, is_exact=exact)
        return await self._parts.workers.run(work)

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
        """Return the net changes between two checkpoints, or between one and what stands there now.

        The tree is looked at first, and what other programs have done meanwhile is recorded. What is shown is what
        differs in the end, whatever happened in between, and who had a hand in it. Unsaved texts do not count.

        Args:
            old: Name of the checkpoint to start from.
            new: Name of the one to end at, which may be the older one; None is what stands there now.
            path: Only this file, or what is in this folder; also what has left it.
            patch: Whether the changes of texts up to 1 MiB are shown as git writes them, 4 MiB in all.
            limit: Most changes, from 1; the counts are of all.
            exact: As for `diff`.

        Raises:
            InvalidArgumentError: There is no checkpoint of that name, its tree was damaged, or `limit` is
                under 1.
        """
        if limit < 1:
            raise InvalidArgumentError(f"limit must be at least 1, not {limit}")
        below = self._runner.resolve(path, allow_root=True)
        await self._authorise("diff", [below], {}, change=False)
        first, second = await self._tree_of(old), await self._tree_of(new)
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
            path: Changes of this file, or in this folder; a file is looked at first.
            actor: Whose changes: an actor or a name; None is everybody.
            session: The changes of one session.
            run: The changes of one run, those of other programs that count as its own included.
            since: From this number of the journal on, or from this time on.
            until: Up to this number, or up to this time.

        Raises:
            InvalidArgumentError: `limit` is out of range, or both `session` and `run` are given.
            RunNotFoundError: There is no such run.
        """
        if not 1 <= limit <= PAGE_RECORDS:
            raise InvalidArgumentError(f"limit must be 1 to {PAGE_RECORDS}, not {limit}")
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
            found, last = await self._run_of(run)
            wanted = selection.filters_of_run(wanted[0], found.session, number_of(found.first) + 1, last, found.foreign)
        return await self._parts.workers.run(partial(_latest, self._parts, limit, wanted))

    async def look(self) -> LookResult:
        """Have recorded what other programs did anywhere in the tree while nobody watched; says where nobody could look.

        Names and facts of all files are compared with those of the look before, and what differs is read. `checkpoint`,
        `restore`, `undo` of more than one change and `sync_all(verify=True)` do so themselves; `status`, `changes` and
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
        """Take changes back, all or nothing; without arguments this actor's last one that still stands.

        Later changes of others are left standing: the text of each file is merged, and what overlaps is a conflict,
        never an overwrite. The undo is a change itself, which `redo`, or another undo, takes back. With call, session,
        since, until or path the whole tree is looked at first, as by `look`.

        Args:
            call: The changes of one call.
            session: The changes of one session.
            since: From this number of the journal on, or from this time on.
            until: Up to this number, or up to this time.
            path: Changes of this file, or in this folder.
            actor: Whose changes: an actor, a name, or "*" for everybody. Left out, an agent means its own; people and
                programs mean their own, too, unless call, session or numbers say otherwise.
            numbers: These changes of the journal, taken back already or not.
            run: All changes of the run of this id, and nothing else that is said here.
            dry_run: Only say what would happen.
            partial: Take back what can be, and list the rest.

        Raises:
            EditConflictError: Something cannot be taken back; all conflicts are in the details, nothing was changed.
            InvalidArgumentError: There is no such call or number, or the run is under way.
            RunNotFoundError: There is no such run.
            PathNotFoundError: Nothing is or was at the path.
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
            selection.choose(history, self.actor, wanted) if is_span or wanted.numbers is not None
            else selection.choose_last(history, wanted)
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
        """Whether something is at a path, or was as far as the journal reaches."""
        changed = RecordFilter(key=self._parts.workspace.key(path))
        return self._parts.store.stat(path) is not None or bool(self._parts.journal.history.select(changed, limit=1))

    async def redo(self, *, dry_run: bool = False, partial: bool = False) -> UndoResult:
        """Take this actor's last undo back, or its last restore; otherwise as `undo`."""
        wanted = selection.filter_of(self.actor)
        return await self._take_back(
            lambda history: selection.choose_last(history, wanted, redo=True),
            dry_run=dry_run, partly=partial, kind="redoes",
        )  # fmt: skip

    async def checkpoint(self, name: str, *, replace: bool = False, automatic: bool = False) -> CheckpointResult:
        """Keep the state of the whole tree under a name, to `restore` it later, whoever changes what.

        The tree is looked at first, as by `look`. In it are all files that
        ignore rules do not leave out, and every file that filetools ever wrote; bytes that are not kept yet are kept once,
        of files up to `snapshot_max_file_bytes`, up to `snapshot_max_bytes` in all; the others are named. All that comes after
        the oldest checkpoint is kept.

        Args:
            name: Any text of 1 to 200 characters.
            replace: Whether a checkpoint of that name may be moved here.
            automatic: Whether it expires: the last 20 such ones are kept, fewer where the limits of retention are exceeded.

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
        seen = await self._runner.look_at_tree()
        taken = await self._parts.workers.run(
            partial(take, self._parts, name, seen, replace=replace, automatic=automatic)
        )
        if taken is None:
            raise InvalidArgumentError(
                f"There is a checkpoint {name!r} already",
                suggested_action="Choose another name, or pass replace=True.",
            )
        made, by_hash_alone, unread = taken
        return _checkpoint_result(made).model_copy(update={"by_hash_alone": by_hash_alone, "unread": unread})

    async def checkpoints(self) -> CheckpointsResult:
        """Return all checkpoints, oldest first."""
        self._runner.check_open()
        found = await self._parts.workers.run(self._parts.journal.checkpoints.all)
        return CheckpointsResult(checkpoints=[_checkpoint_result(each) for each in found])

    async def delete_checkpoint(self, name: str) -> CheckpointResult:
        """Forget a checkpoint; the journal may then forget what it kept for it.

        Raises:
            InvalidArgumentError: There is none of that name.
        """
        found = await self._known(name, self._parts.journal.checkpoints.get)
        await self._authorise("delete_checkpoint", [], {"name": name}, change=True)
        await self._parts.workers.run(lambda: self._parts.journal.checkpoints.remove(name))
        return _checkpoint_result(found)

    async def restore(
        self, name: str, path: AnyPath | None = None, *, dry_run: bool = False, partial: bool = False
    ) -> UndoResult:
        """Have the tree, or a part of it, be as it was at a checkpoint, whoever changed what: bytes, modes, links, folders.

        What was not in the checkpoint goes if it was made since; what nobody knows the origin of, cannot be named, or
        is left out by ignore rules stays, and is listed as "unknown" where a look meets it. A restore is a change itself:
        `redo` takes it back.

        Args:
            name: Name of the checkpoint.
            path: Only this file or folder, with all in it; of folders above it those that are missing are made. What was
                moved out of it since is there again, and where it went to, too.
            dry_run: Only say what would happen.
            partial: Take back what can be, and list the rest.

        Raises:
            InvalidArgumentError: There is no checkpoint of that name, or the path is neither in it nor in the tree.
            InvalidPathError, AbsolutePathError, PathTraversalError: It is no path inside the workspace.
            EditConflictError, ChangedMeanwhileError: As `undo`.
        """
        where = ROOT if path is None else self._runner.resolve_name(path, allow_root=True)
        found, tree = await self._known(name, self._parts.journal.checkpoints.snapshot)

        async def aim() -> restoring.RestoreTarget:
            target = restoring.RestoreTarget(found.number, tree, await self._runner.look_at_tree(), where)
            restoring.require_known(target, name, self._parts.workspace.key)
            return target

        since = RecordFilter(since=found.number + 1)
        return await self._take_back(
            lambda history: selection.effective(history, history.select(since, limit=selection.MOST_NUMBER)),
            dry_run=dry_run, partly=partial, tool="restore", aim=aim,
        )  # fmt: skip

    async def provenance(self, path: AnyPath) -> ProvenanceResult:
        """Return who wrote each line of a file last, as far back as the journal's texts reach.

        Raises:
            PathNotFoundError
            InvalidArgumentError: It is binary.
        """
        where = self._runner.resolve(path)
        await self._authorise("provenance", [where], {}, change=False)
        await self._runner.observe(where)
        return await self._parts.workers.run(partial(line_ranges, self._parts, where))

    async def _choosing_run(self, run_id: str) -> undoing.Choose:
        run, last = await self._run_of(run_id)
        if run.ended is None:
            raise InvalidArgumentError(f"The run {run_id} is under way", suggested_action="Stop it first.")
        return lambda history: selection.choose_run(history, run.session, number_of(run.first) + 1, last, run.foreign)

    async def _run_of(self, run_id: str) -> tuple[Run, int]:
        """Return a run and the number up to which changes of its session are its own."""
        runs = runs_of(self._parts)
        run = await self._parts.workers.run(lambda: runs.get(run_id))
        if run.first.partition(":")[0] != self._parts.journal.epoch:
            raise InvalidArgumentError(f"The journal was put back since the run {run_id}, and knows nothing of it")
        # A run whose process died has no last position: what its session did since, up to its next run, is its own.
        last = await self._parts.workers.run(lambda: runs.last_of(run))
        return run, selection.MOST_NUMBER if last is None else number_of(last)

    async def _tree_of(self, name: str | None) -> tree_diff.WholeTree:
        """Return what stood in the tree at a checkpoint; None is now."""
        if name is None:
            seen = await self._runner.look_at_tree()
            return tree_diff.WholeTree(snapshot_of(seen), unread=frozenset(seen.unread))
        checkpoint, rows = await self._known(name, self._parts.journal.checkpoints.snapshot)
        if rows is None:
            raise InvalidArgumentError(
                f"The checkpoint {name!r} is a number without a tree: there is nothing to compare",
                suggested_action="Compare with a checkpoint that this release has made.",
            )
        return tree_diff.WholeTree(rows, checkpoint)

    async def _known(self, name: str, find: Callable[[str], T | None]) -> T:
        """Return what is found under the name of a checkpoint."""
        self._runner.check_open()
        found = await self._parts.workers.run(partial(find, name))
        if found is None:
            known = ", ".join(each.name for each in (await self.checkpoints()).checkpoints) or "none"
            raise InvalidArgumentError(f"There is no checkpoint {name!r}; known are {known}")
        return found

    async def _take_back(
        self,
        pick: undoing.Choose,
        *,
        dry_run: bool,
        partly: bool,
        tool: str = "undo_changes",
        kind: RelationKind = "undoes",
        aim: Callable[[], Awaitable[restoring.RestoreTarget]] | None = None,
    ) -> UndoResult:
        self._runner.check_open()
        tries, refused = 0, dict[str, undo.Clash]()
        is_withheld = self._parts.gatekeeper.policy.withholding(self.actor, "diff", "read_file") or (
            lambda _path: False
        )
        while tries < MOST_TRIES:
            target = None if aim is None else await aim()
            make = partial(
                undoing.make_plan, self._parts, pick, kind, target=target, refused=refused, is_withheld=is_withheld
            )
            plan = await self._parts.workers.run(make)
            touched = plan.touched(self.settings.protected_paths)
            if dry_run or (plan.conflicts and not partly) or not plan.steps:
                await self._authorise(tool, touched, {}, change=False)
                if plan.conflicts and not partly and not dry_run:
                    raise plan.error()
                return await self._parts.workers.run(partial(plan.result, None, dry_run=dry_run))
            authorise = partial(self._authorise_steps, tool, touched, {"facts": plan.facts}, plan.steps)
            allowed = await authorise(deleted=plan.deleted)
            try:
                outcome = await undoing.carry_out(self._runner, self.actor, plan, kind, allowed)
            except FileToolsError as exc:
                again = await self._parts.workers.run(make)
                if again.facts != plan.facts:
                    tries += 1
                elif partly and exc.path is not None and exc.path not in refused:
                    refused = {**refused, exc.path: undo.Clash.of(exc)}
                else:
                    raise  # it is still the right plan, so that its failure counts
            else:
                return await self._runner.afterwards(partial(plan.result, outcome))
        raise ChangedMeanwhileError(touched[0] if touched else ".", MOST_TRIES)


def _latest(parts: Parts, limit: int, wanted: Sequence[RecordFilter]) -> tuple[ChangeRecord, ...]:
    history = parts.journal.history
    found = [record for each in wanted for record in history.select(each, limit=limit)]
    return tuple(sorted(found, key=lambda record: -record.number)[:limit])


def _checkpoint_result(found: Checkpoint) -> CheckpointResult:
    return CheckpointResult(
        name=found.name, number=found.number, time=found.time, files=found.files, bytes=found.bytes,
        automatic=found.automatic,
    )  # fmt: skip


def diff_result(
    parts: Parts, path: WorkspacePath, old: str | None, new: str | None, actor: Actor, *, is_exact: bool = False
) -> DiffResult:
    """Return what changed between two versions of a path.

    Args:
        parts: The workspace.
        path: Whose versions they are.
        old: None is the version before the newest recorded change.
        new: None is what stands there now.
        actor: Who asks.
        is_exact: Whether bytes are compared.

    Raises:
        PathNotFoundError, VersionGoneError
        InvalidArgumentError: One of them is binary or no version, or there is no earlier version.
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
    records = list(lineage(journal.history, parts.workspace.key(path), parts.workspace.key))[::-1]
    # Of a journal that was put back since, the same numbers are other changes.
    known = (run for run in runs_of(parts).list() if run.first.startswith(f"{journal.epoch}:"))
    runs = sorted(known, key=lambda run: number_of(run.first), reverse=True)
    foreign = {number: run for run in runs for number in run.foreign}
    lines = LineHistory(journal.history, journal.contents.get).authors(records, text, now=now)
    ranges = [_range(each, partial(_run_of, runs, foreign)) for each in lines]
    return ProvenanceResult(path=path, version=facts.version, total_lines=facts.total_lines or 0, ranges=ranges)


def _range(found: AuthoredLines, run_of: Callable[[ChangeRecord], Run | None]) -> LineRange:
    first, last, author = found
    record = author.record
    if author.before is not None:
        return LineRange(first=first, last=last, before=author.before)
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
    """Return the run, of these, the newest first, that a change belongs to."""
    for run in runs:
        # One whose process died has no end, and would claim what later ones did.
        is_within = number_of(run.first) < record.number and (run.last is None or record.number <= number_of(run.last))
        if is_within and run.session == record.actor.session:
            return run
    return foreign.get(record.number)


def _told(run: Run, record: ChangeRecord) -> dict[str, Any]:
    turn = run.turn_at(record.time)
    prompt = whole_start(" ".join(run.prompt.split()), _PROMPT_CHARACTERS)
    return {"id": run.id, **({} if turn is None else {"turn": turn}), "prompt": prompt}
