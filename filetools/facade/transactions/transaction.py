"""Transactions of a caller's own: any calls over any files, buffered, and done all or nothing at the end of the block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence, Set
from contextvars import ContextVar
from functools import partial
from io import BytesIO
from types import TracebackType
from typing import Any, Final, Never

from msgspec import Struct, structs

from filetools.changes.knowledge import read_as
from filetools.changes.overlay import OverlayNode
from filetools.content.formats import UTF8, decode, encode
from filetools.content.version import version_of
from filetools.errors import InvalidArgumentError
from filetools.facade.calls import ActorCalls
from filetools.facade.deciding.editing import TextChange
from filetools.facade.deciding.proposals import Preview, ShownState, Taken, taken_by
from filetools.facade.deciding.writing import DecideWrite
from filetools.facade.parts import Parts
from filetools.facade.progress import Abort, Progress
from filetools.facade.read_calls import ReadCalls
from filetools.facade.reading.feed import Feed
from filetools.facade.reading.streaming import CHUNK_BYTES
from filetools.facade.requests import WriteRequest
from filetools.facade.runner import CallRunner
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.step import Step
from filetools.facade.transactions.buffering import BufferingRunner
from filetools.facade.transactions.held import HeldTree
from filetools.facade.transactions.plan import steps_of
from filetools.facade.transactions.results import TransactionResult, result_of
from filetools.facade.tree_calls import TreeCalls
from filetools.facade.write_calls import WriteCalls
from filetools.models.files import BatchResult, EditResult, WriteResult
from filetools.models.records import Actor
from filetools.paths.lexical import AnyPath, plain_path
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit

_NESTED: Final = "A transaction is going on already; transactions cannot be nested, use the one that is open"
_UNSAVED: Final = "In a transaction a write is always merged with unsaved text; leave on_conflict out"
_current: ContextVar[Transaction | None] = ContextVar("filetools_transaction", default=None)


class Transaction(ReadCalls, WriteCalls, TreeCalls):
    """The calls of one actor, done together: `async with files.transaction() as tx:`. Entered once.

    Calls change nothing outside before the end of the block; reads see what the transaction has made so far. Results
    of its calls have no `number` and no mirror yet; `result` has them. An exception in the block, or its being
    cancelled, drops everything. At the end the permissions are asked, then in one turn everything is checked,
    and all is done or nothing, also over a crash.

    What others changed meanwhile is merged into texts that the transaction writes. What overlaps is EDIT_CONFLICT; what
    the transaction deletes or moves, and others have changed since, is VERSION_MISMATCH. The error names the path.
    """

    def __init__(self, runner: CallRunner, feed: Feed, actor: Actor, *, require_version: bool = False) -> None:
        self._buffer = BufferingRunner(runner)
        super().__init__(self._buffer, feed, actor, require_version=require_version)
        self._outside = ActorCalls(runner, feed, actor)
        self._asked: dict[str, dict[WorkspacePath, None]] = {}
        self._former: Transaction | None = None
        self._is_entered = False
        self._result: TransactionResult | None = None

    @property
    def result(self) -> TransactionResult:
        """What the transaction did; there is one once its block has ended well.

        Raises:
            InvalidArgumentError: There is none.
        """
        if self._result is None:
            raise InvalidArgumentError("A transaction has a result when its block has ended, and only if it was done")
        return self._result

    async def __aenter__(self) -> Transaction:
        self._buffer.outer.check_open()
        former = _current.get()
        if self._is_entered:
            raise InvalidArgumentError("A transaction is entered once; begin another with files.transaction()")
        if former is not None and not former._buffer.is_over and former._buffer.outer is self._buffer.outer:
            raise InvalidArgumentError(_NESTED)
        self._is_entered = True
        self._buffer.begin()
        self._former = former
        _current.set(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.set(self._former)
        await self._buffer.end()
        if error is None:
            await self._finish()

    def transaction(self) -> Never:
        """Refuse: transactions cannot be nested.

        Raises:
            InvalidArgumentError: Always.
        """
        raise InvalidArgumentError(_NESTED)

    async def stream_file(self, path: AnyPath, *, offset: int = 0, count: int | None = None) -> AsyncIterator[bytes]:
        """Yield a file's bytes in chunks of at most 256 KiB; one that the transaction changed comes from memory.

        Raises:
            As outside of a transaction.
        """
        where = self._runner.resolve(path)
        if not await self._is_changed(where):
            async for chunk in super().stream_file(path, offset=offset, count=count):
                yield chunk
            return
        await self._authorise("read_file", [where], {}, change=False)
        content, _ = await self._parts.crew.run(partial(self._parts.store.read, where))
        source = BytesIO(content[offset : None if count is None else offset + count])
        while chunk := source.read(CHUNK_BYTES):
            yield chunk

    async def write_multiple(
        self, items: Sequence[Mapping[str, Any]], *, abort: Abort | None = None, progress: Progress | None = None
    ) -> BatchResult:
        """Write several files; as outside of a transaction."""
        named = [
            plain_path(item["path"]) for item in items if "path" in item and item.get("expected_version") is not None
        ]
        with self._buffer.strictly(named):
            return await super().write_multiple(items, abort=abort, progress=progress)

    async def copy_file(self, source: AnyPath, destination: AnyPath, *, overwrite: bool = False) -> WriteResult:
        """Copy a file's bytes and mode; as outside of a transaction."""
        with self._buffer.strictly([destination]):
            return await super().copy_file(source, destination, overwrite=overwrite)

    async def _put(
        self, tool: str, path: AnyPath, request: WriteRequest, decide: DecideWrite, lock_timeout_seconds: float | None
    ) -> WriteResult:
        if request.on_conflict != "merge":
            raise InvalidArgumentError(_UNSAVED, path=plain_path(path))
        is_strict = request.expected_version is not None and request.on_stale != "merge"
        with self._buffer.strictly([path] if is_strict else []):
            return await super()._put(tool, path, request, decide, lock_timeout_seconds)

    async def _change_text(
        self, tool: str, change: TextChange, arguments: Mapping[str, Any], *, dry_run: bool
    ) -> EditResult:
        is_strict = change.expected_version is not None and not dry_run
        with self._buffer.strictly([change.path] if is_strict else []):
            return await super()._change_text(tool, change, arguments, dry_run=dry_run)

    async def _authorise(
        self,
        tool: str,
        paths: Sequence[WorkspacePath],
        arguments: Mapping[str, Any],
        *,
        change: bool,
        preview: Preview | None = None,
        previews: Sequence[Preview | None] = (),
        taken: Taken = (),
        looks_at_disk: bool = False,
    ) -> Permit | None:
        """Have reads decided at once; changes are asked at the end of the block, if anything comes of them."""
        self._buffer.check_open()
        if change:
            self._parts.gatekeeper.refuse_hidden(tool, paths, self.actor)  # what is buffered can be read at once
            self._asked.setdefault(tool, {}).update(dict.fromkeys(paths))
            return None
        return await super()._authorise(tool, paths, arguments, change=False, preview=preview)

    async def _is_changed(self, path: WorkspacePath) -> bool:
        held = self._buffer.held
        return held.is_changed(held.key(path)) and await self._parts.crew.run(partial(held.stat, path)) is not None

    async def _permit(self, asked: Iterable[ContentQuestion]) -> list[Permit]:
        """Have the permissions decide; what people have allowed may be another text than the transaction's."""
        permits = []
        for question in asked:
            permit = await self._outside._authorise(
                question.tool, question.paths, question.arguments, change=True,
                preview=question.previews[0] if question.is_text else None, previews=question.previews,
                taken=question.taken,
            )  # fmt: skip
            permits += [] if permit is None else [permit]
            if permit is not None and permit.edited_text is not None:
                write_instead(self._buffer.held, question.paths[0], permit)
        return permits

    async def _finish(self) -> None:
        outer = self._buffer.outer
        steps = await outer.parts.crew.run(partial(steps_of, outer.parts, self._buffer.held, self.actor))
        if not steps:
            self._result = TransactionResult(mirror=outer.parts.sync.standing())
            return
        asked = await outer.parts.crew.run(lambda: list(questions(self._asked, steps, self._buffer.held)))
        permits = await self._permit(asked)
        if any(permit.edited_text is not None for permit in permits):
            steps = await outer.parts.crew.run(partial(steps_of, outer.parts, self._buffer.held, self.actor))
        happened = partial(self._buffer.tracker.publish, self.actor, steps, outer.parts.workspace.key)
        self._result = result_of(steps, await outer.change(steps, self.actor, happened=happened, permits=permits))


class ContentQuestion(Struct, frozen=True, kw_only=True):
    """One question to the permissions."""

    tool: str
    paths: Sequence[WorkspacePath]
    arguments: Mapping[str, Any]
    made: Sequence[str | bytes | None] = ()
    """What shall stand at each of the paths."""
    taken: Taken = ()
    """What goes as a whole."""

    @property
    def is_text(self) -> bool:
        """Whether it is about one file of text."""
        return len(self.made) == 1 and isinstance(self.made[0], str)

    @property
    def previews(self) -> list[Preview]:
        """What tells the same to a person."""
        return [partial(_beside, path, made) for path, made in zip(self.paths, self.made, strict=True)]


def _beside(path: WorkspacePath, made: str | bytes | None, parts: Parts, standing: ShownState) -> str | bytes | None:
    return standing.beside(parts, path, made) if isinstance(made, str) else made


def questions(
    asked: Mapping[str, Iterable[WorkspacePath]], steps: Sequence[Step], held: HeldTree
) -> Iterator[ContentQuestion]:
    """Yield a question for each tool that was called, about its paths that will change.

    Args:
        asked: By tool, the paths that its calls in the transaction named.
        steps: What will be done.
        held: What shall stand there.
    """
    touched = {path for step in steps for path in step.paths}
    for tool, paths in asked.items():
        changing = [path for path in paths if path in touched or any(path.is_below(above) for above in touched)]
        if changing:
            yield structs.replace(_question(tool, changing, held), taken=_taken(steps, held))


def write_instead(held: HeldTree, path: WorkspacePath, permit: Permit) -> None:
    """Have the text that a person gave stand at a path, if what they saw there still does at the exit.

    Raises:
        EncodingError: The file's encoding cannot hold it.
    """
    node = held.overlay.find(path)
    assert node is not None
    assert node.content is not None
    text_format = read_as(node.content, node.encoding, name=path)[0].text_format or UTF8
    held.decree(path, encode(permit.edited_text or "", text_format, path=path), permit.proposal.version)


def _taken(steps: Sequence[Step], held: HeldTree) -> Taken:
    """Return what the steps take as a whole, and the files that are moved by being written anew."""
    taken = taken_by(steps)
    known = {source for source, _ in taken}
    made = [(step.path, held.overlay.find(step.path)) for step in steps if isinstance(step, PutFile)]
    rewritten = [
        (node.origin.path, path)
        for path, node in made
        if node is not None and node.origin is not None and node.content is None
    ]
    return [*taken, *(pair for pair in rewritten if not _is_covered(pair[0], known))]


def _is_covered(path: WorkspacePath, known: Set[WorkspacePath]) -> bool:
    while path not in known and not path.is_root:
        path = path.parent
    return path in known


def _question(tool: str, paths: Sequence[WorkspacePath], held: HeldTree) -> ContentQuestion:
    nodes = {path: held.overlay.find(path) for path in paths}
    files = {path: node for path, node in nodes.items() if node is not None and node.content is not None}
    arguments = {"transaction": {str(path): version_of(node.content or b"") for path, node in files.items()}}
    made = [_made(path, files[path]) if path in files else None for path in paths]
    return ContentQuestion(tool=tool, paths=paths, arguments=arguments, made=made)


def _made(path: WorkspacePath, node: OverlayNode) -> str | bytes:
    content = node.content or b""
    text_format = read_as(content, node.encoding, name=path)[0].text_format
    return content if text_format is None else decode(content, text_format, path=path)
