"""Opens a workspace: builds its parts in order and closes them in reverse order."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, closing, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from filetools.app.mirrors import MirrorFolders, mirror_of, place_of, refuse_overlaps
from filetools.app.state import StateLocation, prepare_state, temporary_state
from filetools.changes.parts import Parts
from filetools.changes.read_tracker import ReadTracker
from filetools.changes.runner import CallRunner
from filetools.content.identity_cache import IdentityCache
from filetools.editors.documents import Documents
from filetools.errors import AccessDeniedError, DiskFullError, FileToolsError, InvalidArgumentError, NoStateError
from filetools.events.bus import EventBus
from filetools.events.notifier import Notifier
from filetools.facade.background.background_tasks import BackgroundTasks
from filetools.facade.facade import FileToolsFacade, ToolCaller
from filetools.facade.reading.feed import Feed
from filetools.history.checkpoints import SessionCheckpoints
from filetools.journal.backlog import MirrorRow
from filetools.journal.journal import Journal
from filetools.journal.storage.database import Reserve
from filetools.models.records import Actor
from filetools.models.words import STATE_PATH, Durability, MirrorPolicy, Preset
from filetools.paths.lexical import AnyPath
from filetools.paths.patterns import ExcludeRules, compile_patterns
from filetools.paths.workspace import Workspace
from filetools.permissions.approvals import Approvals
from filetools.permissions.gatekeeper import Gatekeeper
from filetools.permissions.policy import PermissionPolicy
from filetools.settings import STATE_DIRECTORY, Settings, load_settings
from filetools.stores.local import LocalStore
from filetools.stores.store import PrimaryStore, Store
from filetools.sync.manager import SyncManager
from filetools.tree.observer import TreeObserver
from filetools.writer.recovery import Recovery
from filetools.writer.worker_pool import WorkerPool

_log = logging.getLogger(__name__)


Closing = TypeVar("Closing", Workspace, PrimaryStore, Journal)


def open_workspace(
    root: AnyPath,
    *,
    mirror: AnyPath | Store | None = None,
    state_dir: AnyPath | None = None,
    durability: Durability | None = None,
    mirror_policy: MirrorPolicy | None = None,
    permissions: Preset | None = None,
    settings: Mapping[str, Any] | Settings | None = None,
    create: bool = True,
) -> Opening:
    """Open a directory as a workspace: `async with filetools.open("project") as files:`.

    Any number of processes may have a root open at once. Opening does not scan the tree.

    Args:
        root: An existing directory.
        mirror: A directory, or any store, that receives a copy of every change; created if it is missing. It is used in
            addition to the mirrors added with `filetools mirror add`.
        state_dir: Directory of the journal and the locks; by default `.filetools` in the root.
        durability: "commit" (default): an acknowledged change survives a power cut; "relaxed": a crash of the process.
        mirror_policy: "eventual" (default): the mirror catches up by itself; "strict": both or neither.
        permissions: "allow" (default), "ask", "guarded" or "read_only"; binds agents.
        settings: Further settings by name, or all of them; see `filetools.Settings`.
        create: Create a state directory if the root has none. If False, such a root is opened for reading only, and
            nothing is left behind. A root that has a state directory is opened as usual.

    Returns:
        An async context manager that yields a `FileToolsFacade` for a new actor.

    Raises:
        InvalidArgumentError: Root, mirror and state directory contain each other, one of them is empty, or the mirror is
            neither a path nor a store.

    On entering also: InvalidArgumentError (a setting is unknown or out of range), WorkspaceGoneError, StateElsewhereError,
    StateDamagedError, StateVersionError, AccessDeniedError, DiskFullError.
    """
    given: dict[str, Any] = {"durability": durability, "mirror_policy": mirror_policy, "permissions": permissions}
    if settings is not None:
        known = vars(settings) if isinstance(settings, Settings) else settings
        given = {**known, **{name: value for name, value in given.items() if value is not None}}
    for name, folder in (("root", root), ("mirror", mirror), ("state_dir", state_dir)):
        if folder == "":
            raise InvalidArgumentError(f"The argument {name} is empty; '.' is the working folder")
    place = Path(os.path.abspath(root))
    state = None if state_dir is None else Path(os.path.abspath(state_dir))
    if state == place / STATE_DIRECTORY:
        state = None
    copy = None if mirror is None else mirror_of(mirror)
    refuse_overlaps(place, copy if isinstance(copy, Path) else None, state)
    return Opening(place, copy, state, given, create=create)


def _tools(files: FileToolsFacade) -> ToolCaller:
    """Return all tools of an actor; long results become descriptors if the settings enable them."""
    from filetools.tools.registry import ToolRegistry  # all tools and their schemas; a program may never call one

    return ToolRegistry(files, descriptors=files.descriptors() if files.settings.file_descriptor.enabled else None)


class Opening:
    """A workspace to be opened by entering this context manager, once."""

    def __init__(
        self,
        root: Path,
        mirror: Path | Store | None,
        state_directory: Path | None,
        given: Mapping[str, Any],
        *,
        create: bool = True,
    ) -> None:
        self._root = root
        self._mirror = mirror
        self._state_directory = state_directory
        self._given = given
        self._create = create
        self._stack = AsyncExitStack()
        self._is_entered = False
        self._process = os.getpid()

    async def __aenter__(self) -> FileToolsFacade:
        if self._is_entered:
            raise InvalidArgumentError("An opening is entered once; call filetools.open again for another")
        self._is_entered = True
        try:
            return await self._open_to_write_or_read()
        except BaseException:
            await self._stack.aclose()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process == os.getpid():  # a forked child must not close its parent's workspace
            await self._stack.aclose()

    async def _open_to_write_or_read(self) -> FileToolsFacade:
        """Open for reading only if no state is or can be made: a full disk, a read-only tree, another user's folder."""
        try:
            return await self._open(partial(prepare_state, self._root, self._state_directory, create=self._create))
        except (AccessDeniedError, DiskFullError) as exc:
            await self._stack.aclose()
            self._stack = AsyncExitStack()
            reserve = Reserve(self._state_directory or self._root / STATE_PATH)
            if isinstance(exc, DiskFullError) and reserve.shrink():
                return await self._open_to_write_or_read()
            if not isinstance(exc, NoStateError):
                _log.warning("the workspace is opened for reading only: %s", exc)
            # First on the stack, so that it is removed last, when nothing uses it any more.
            prepare = partial(
                temporary_state, self._root, self._state_directory, exc,
                lambda made: self._stack.callback(shutil.rmtree, made, ignore_errors=True),
            )  # fmt: skip
            return await self._open(prepare)

    async def _open(self, prepare: Callable[[], StateLocation]) -> FileToolsFacade:
        state, settings = await self._prepare(prepare)
        # One more, because the thread that takes turns also waits for the next due call.
        workers = WorkerPool(settings.worker_threads + 1)
        self._stack.callback(workers.close)
        notifier = await workers.run(partial(Notifier, state.directory / "notify"))
        bus = EventBus()
        self._stack.push_async_callback(bus.aclose)
        parts = await self._build(workers, state, settings, bus, notifier)
        # Everything is built now. Callbacks pushed after this run before the pool is sealed and may still use the parts;
        # those pushed before run later and close parts that nothing uses any more.
        self._stack.push_async_callback(workers.seal)
        actor = Actor(kind="agent", id=f"actor-{secrets.token_hex(4)}")
        parts.tracker.end_with_process(actor)
        self._stack.push_async_callback(partial(_forget_ephemeral, parts))
        feed = Feed(parts)
        runner = CallRunner(parts, feed.wake, SessionCheckpoints().before_change)
        background = BackgroundTasks(runner, feed, notifier, state.directory)
        self._stack.push_async_callback(background.aclose)
        await background.start()
        # Runs before the pool is sealed: other processes must learn that nobody here waits or answers any longer.
        self._stack.push_async_callback(parts.gatekeeper.approvals.aclose)
        self._stack.push_async_callback(parts.sync.aclose)
        self._stack.push_async_callback(runner.aclose)
        await parts.sync.start()
        return FileToolsFacade(runner, feed, actor, _tools)

    async def _prepare(self, prepare: Callable[[], StateLocation]) -> tuple[StateLocation, Settings]:
        """Return the state location and the settings, needed before anything is built (even for the thread count)."""
        with closing(WorkerPool(1)) as first:
            state = await first.run(prepare)
            load = partial(load_settings, self._given, tree_directory=self._root / STATE_DIRECTORY)
            settings, _ = await first.run(partial(load, own_directory=state.rules))
            return state, settings

    async def _build(
        self, workers: WorkerPool, state: StateLocation, settings: Settings, bus: EventBus, notifier: Notifier
    ) -> Parts:
        opened = partial(Workspace.open, self._root, follow_symlinks=settings.follow_symlinks)
        workspace = await self._closing(workers, partial(opened, state_directory=state.directory))
        workers.check_root = workspace.check_alive
        store = await self._closing(workers, partial(self._open_store, workspace, state.private))
        # A temporary state need not survive a power cut.
        durability = settings.durability if state.refusal is None else "relaxed"
        journal = await self._closing(
            workers, partial(self._open_journal, state.directory, settings, durability, notifier)
        )
        folders = MirrorFolders(journal, self._root, self._state_directory)
        self._stack.push_async_callback(partial(workers.run_last, folders.close))
        mirrors: list[tuple[MirrorRow, Store]] = []
        if self._mirror is not None and state.refusal is None:
            # Before the first call: from now on its backlog records every commit of any process.
            row = await workers.run(partial(journal.mirrors.register, place_of(self._mirror)))
            mirrors.append((row, folders.open(row) if isinstance(self._mirror, Path) else self._mirror))
        sync = SyncManager(
            journal,
            primary=store,
            mirrors=mirrors,
            directory=state.directory,
            settings=settings,
            publish=bus.publish,
            workers=workers,
            key=workspace.key,
            notify=notifier.notify,
            open_added=folders.open if state.refusal is None else None,
            excluded=partial(_is_not_mirrored, compile_patterns((), defaults=settings.exclude)),
        )
        documents = Documents(journal)
        return Parts(
            workspace=workspace,
            store=store,
            journal=journal,
            bus=bus,
            sync=sync,
            recovery=Recovery(workspace, store, journal),
            gatekeeper=await self._gatekeeper(workers, state, settings, bus, journal),
            settings=settings,
            facts=IdentityCache(tick_ns=store.tick_ns),
            tracker=ReadTracker(journal),
            documents=documents,
            workers=workers,
            observer=TreeObserver(workspace, store, journal, settings, lambda key: documents.known.at(key) is not None),
        )

    def _open_journal(self, directory: Path, settings: Settings, durability: Durability, notifier: Notifier) -> Journal:
        return Journal(
            directory,
            durability=durability,
            timeout_seconds=settings.lock_timeout_seconds,
            on_visible=notifier.notify,
            on_committed=notifier.notify_others,
        )

    def _open_store(self, workspace: Workspace, private_directory: Path) -> PrimaryStore:
        return LocalStore(workspace, private_directory=private_directory)

    async def _gatekeeper(
        self, workers: WorkerPool, state: StateLocation, settings: Settings, bus: EventBus, journal: Journal
    ) -> Gatekeeper:
        policy = PermissionPolicy(
            settings.permissions, protected=settings.protected_paths, hidden=settings.hidden_paths
        )
        wait_seconds = settings.approval_wait_seconds
        approvals = Approvals(
            policy.trust, journal.approvals, workers.run, publish=bus.publish, wait_seconds=wait_seconds
        )
        rules = (state.rules or state.directory) / "permissions.json"
        gatekeeper = Gatekeeper(policy, approvals, rule_file=rules, run=workers.run, refusal=state.refusal)
        await gatekeeper.load(preset_given=self._given.get("permissions") is not None)
        return gatekeeper

    async def _closing(self, workers: WorkerPool, build: Callable[[], Closing]) -> Closing:
        """Build a part in a worker thread, and close it there when the workspace closes."""
        part = await workers.run(build)
        self._stack.push_async_callback(partial(workers.run_last, part.close))
        return part


async def _forget_ephemeral(parts: Parts) -> None:
    """Forget what actors with random names have read: the names never recur, so their texts need not be kept."""
    with suppress(FileToolsError):
        await parts.workers.run(parts.tracker.forget_ephemeral)


def _is_not_mirrored(rules: ExcludeRules, path: str, is_directory: bool) -> bool:
    """True if a path is left out of mirrors: git in the mirror would change the repository that a `.git` file leads to."""
    return rules.matches(path, is_directory) or (not is_directory and path.rpartition("/")[2] == ".git")
