"""Transactions of a caller: any calls over any files, buffered, and applied all or nothing at the end of the block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final

from pydantic import Field

from filetools.changes.deciding.files import decide_as_allowed
from filetools.changes.deciding.proposals import Taken, taken_by
from filetools.changes.runner import CallRunner
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.pipeline import Outcome
from filetools.changes.steps.step import Step
from filetools.changes.writing import DecideWrite, WriteRequest
from filetools.errors import InvalidArgumentError
from filetools.facade.calls import ActorCalls
from filetools.facade.read_calls import ReadCalls
from filetools.facade.reading.feed import Feed
from filetools.facade.transactions.buffering import BufferingRunner
from filetools.facade.transactions.plan import DecidePut, steps_of
from filetools.facade.tree_calls import TreeCalls
from filetools.facade.write_calls import WriteCalls
from filetools.models.files import WriteResult
from filetools.models.records import Actor
from filetools.models.result import Result
from filetools.models.words import MirrorStatus
from filetools.paths.lexical import AnyPath, plain_path
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit


class TransactedPath(Result):
    """What a transaction changed at one path: the net effect of all its calls there."""

    path: str
    operation: str
    """As in the feed: "create", "modify", "delete", "move", "create_directory" and so on."""
    old_path: str | None = None
    """Where it was, after a move."""
    number: int
    """Journal number of the change."""
    version: str | None = None
    """Version after the transaction; None for folders, and for files that are gone."""
    replaced_version: str | None = None
    """Version that was replaced or deleted; its bytes stay readable by that version."""
    merged: bool = False
    """True if the transaction's text was merged with what others had written meanwhile."""
    foreign: list[dict[str, Any]] = Field(default_factory=list)
    """After a merge, the hunks that the file has and the transaction's text has not."""


class TransactionResult(Result):
    """What a transaction changed, all or nothing."""

    changes: list[TransactedPath] = Field(default_factory=list)
    """Every path that it changed, in the order of the journal."""
    number: int | None = None
    """Journal number of its last change; None if it changed nothing."""
    mirror: MirrorStatus = "off"
    warnings: list[dict[str, Any]] = Field(default_factory=list)


def result_of(steps: Sequence[Step], outcome: Outcome) -> TransactionResult:
    """Return the result of a transaction that was applied."""
    changes = []
    for step in steps:
        record = step.record
        if record is None:
            continue
        decision = step.decision if isinstance(step, PutFile) else None
        replaced = step.looks[-1].version if isinstance(step, PutFile | RemoveFile | MoveFile) else None
        changes.append(
            TransactedPath(
                path=record.path,
                operation=record.operation.value,
                old_path=record.old_path,
                number=record.number,
                version=record.after,
                replaced_version=replaced,
                merged=decision is not None and decision.is_merged,
                foreign=[] if decision is None else list(decision.foreign),
            )
        )
    return TransactionResult(
        changes=changes,
        number=changes[-1].number if changes else None,
        mirror=outcome.mirror,
        warnings=list(outcome.warnings),
    )


_UNSAVED: Final = "In a transaction a write is always merged with unsaved text; leave on_conflict out"


class Transaction(ReadCalls, WriteCalls, TreeCalls):
    """The calls of one actor, applied together: `async with files.transaction() as tx:`. Entered once.

    Nothing changes outside before the end of the block; reads inside see the transaction's changes. Results of its calls
    have no `number` and no mirror yet; `result` has them. An exception or a cancellation in the block drops everything.
    At the end the permissions are checked, then everything is checked and applied in one turn, all or nothing, even if
    the process crashes.

    What others changed meanwhile is merged into the texts that the transaction writes. Overlapping changes are
    EDIT_CONFLICT; a file that it deletes or moves, and that others have changed, is VERSION_MISMATCH. The error names the
    path. Another transaction that is made inside the block is one of its own: it is applied at its own end.
    """

    def __init__(self, runner: CallRunner, feed: Feed, actor: Actor, *, require_version: bool = False) -> None:
        self._buffer = BufferingRunner(runner)
        super().__init__(self._buffer, feed, actor, require_version=require_version)
        self._outside = ActorCalls(runner, feed, actor)
        self._asked: dict[str, dict[WorkspacePath, None]] = {}
        self._is_entered = False
        self._result: TransactionResult | None = None

    @property
    def result(self) -> TransactionResult:
        """What the transaction changed, once its block has ended without an error.

        Raises:
            InvalidArgumentError: It has not, or nothing was applied.
        """
        if self._result is None:
            raise InvalidArgumentError("A transaction has a result when its block has ended, and only if it was done")
        return self._result

    async def __aenter__(self) -> Transaction:
        self._buffer.outer.check_open()
        if self._is_entered:
            raise InvalidArgumentError("A transaction is entered once; begin another with files.transaction()")
        self._is_entered = True
        self._buffer.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._buffer.end()
        if error is None:
            await self._finish()

    async def _put(
        self, tool: str, path: AnyPath, request: WriteRequest, decide: DecideWrite, lock_timeout_seconds: float | None
    ) -> WriteResult:
        if request.on_conflict != "merge":
            raise InvalidArgumentError(_UNSAVED, path=plain_path(path))
        return await super()._put(tool, path, request, decide, lock_timeout_seconds)

    async def _authorise(
        self,
        tool: str,
        paths: Sequence[WorkspacePath],
        arguments: Mapping[str, Any],
        *,
        change: bool,
        steps: Sequence[Step] = (),
        text: Callable[[], str] | None = None,
        taken: Taken = (),
        is_text: bool = False,
        looks_at_disk: bool = False,
        reports_all: bool = False,
    ) -> Permit | None:
        """Check reads at once; changes are checked at the end of the block, if any are left."""
        self._buffer.check_open()
        if change:
            self._parts.gatekeeper.refuse_hidden(tool, paths, self.actor)  # what is buffered can be read in the block
            self._asked.setdefault(tool, {}).update(dict.fromkeys(paths))
            return None
        return await super()._authorise(tool, paths, arguments, change=False)

    async def _permit(self, steps: list[Step]) -> tuple[list[Step], list[Permit]]:
        """Check the permissions, and ask people where they say so.

        Returns:
            The steps, which write what people gave in place of a text, and what they have allowed.
        """
        permits = list[Permit]()
        wanted = {step.path: step.wanted for step in steps if isinstance(step, PutFile)}
        puts = {path: put for path, put in wanted.items() if isinstance(put, DecidePut)}
        texts = {path: put for path, put in puts.items() if put.source is None}
        taken = {source for source, _ in taken_by(steps)}
        rewritten = [
            (put.source, path)
            for path, put in puts.items()
            if put.source is not None and taken.isdisjoint((put.source, *put.source.folders))
        ]
        others = [step for step in steps if not isinstance(step, PutFile)]
        touched = {path for step in steps for path in step.paths}
        for tool, paths in self._asked.items():
            changing = [path for path in paths if path in touched or any(path.is_below(above) for above in touched)]
            if not changing:
                continue
            put = [path for path in changing if path in texts]
            permit = await self._outside._authorise(
                tool, changing, {"transaction": {path: texts[path].plain.facts.version for path in put}}, change=True,
                steps=[*(PutFile(path, wanted[path]) for path in put), *others], taken=rewritten, is_text=len(changing) == 1,
            )  # fmt: skip
            if permit is None:
                continue
            permits.append(permit)
            if permit.edited_text is not None:
                [path] = put
                wanted[path] = decide_as_allowed(permit, wanted[path], self.actor)
        return [PutFile(step.path, wanted[step.path]) if isinstance(step, PutFile) else step for step in steps], permits

    async def _finish(self) -> None:
        outer = self._buffer.outer
        steps = await outer.parts.workers.run(partial(steps_of, outer.parts, self._buffer.held, self.actor))
        if not steps:
            self._result = TransactionResult(mirror=outer.parts.sync.standing())
            return
        steps, permits = await self._permit(steps)
        happened = partial(self._buffer.tracker.publish, self.actor, steps, outer.parts.workspace.key)
        self._result = result_of(steps, await outer.change(steps, self.actor, happened=happened, permits=permits))
