"""How each action is done to a mirror: prepared, exchanged, and then finished or set back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from filetools.content.version import version_of
from filetools.errors import (
    ChangedMeanwhileError,
    DirectoryNotFoundError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.paths.workspace_path import WorkspacePath
from filetools.stores.store import Displaced, FileStat, Prepared
from filetools.sync.actions import MakeDirectory, MirrorAction, MirrorMove, MirrorPut, MirrorRemove, OutOfStepError
from filetools.sync.mirror_files import GONE, TRIES, MirrorFiles

GoOn = Callable[[], None]
"""Raises where the change that comes next is not wanted any more."""

_OTHER_GROUND: Final = (
    PathExistsError,
    PathNotFoundError,
    DirectoryNotFoundError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    SymlinkNotAllowedError,
    NotRegularFileError,
)
"""Errors that mean: something else stands in the mirror than was expected, so look and prepare again."""


class MirrorStep(Protocol):
    """One action on its way into a mirror. Lives for one try; its methods run in a worker's thread."""

    @property
    def is_ready(self) -> bool:
        """Whether the exchange will only exchange, with nothing in the way."""

    def prepare(self) -> None:
        """Do all that can take long or fail for space, without changing what anybody sees."""

    def exchange(self, go_on: GoOn) -> None:
        """Make the change; `go_on` is asked right before."""

    def set_back(self) -> None:
        """Undo the change if it was made; may be called twice."""

    def finish(self) -> None:
        """Let go of what came out, keeping what the journal does not know."""

    def discard(self) -> None:
        """Drop what was prepared and did not go live."""


class PutStep:
    """Gives a file new bytes; implements `MirrorStep`."""

    def __init__(self, files: MirrorFiles, action: MirrorPut) -> None:
        self._files = files
        self._action = action
        self._expected_new = action.new
        self._prepared: Prepared | None = None
        self._displaced: Displaced | None = None
        self._is_own = False
        self._is_live = False
        self._made: tuple[WorkspacePath, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether the new file waits beside a place that can take it."""
        return self._prepared is not None

    def prepare(self) -> None:
        """Write the bytes; where something is in the way, keep what is in it instead, and write at the exchange."""
        try:
            self._prepared = self._written()
        except _OTHER_GROUND:
            self._expected_new = None
            obstacle = self._files.obstacle(self._action.path)
            if obstacle is None:
                self._made = self._files.make_parents(self._action.path)
                self._prepared = self._written()
            else:
                self._files.keep_below(obstacle)

    def prepare_ahead(self) -> bool:
        """Write the bytes if that is all there is to do; False where the mirror is not as expected, and nothing was done."""
        try:
            self._prepared = self._written()
        except _OTHER_GROUND:
            return False
        return True

    def exchange(self, go_on: GoOn) -> None:
        """Make the new file live, over whatever stands there by now."""
        path = self._action.path
        for _ in range(TRIES):
            if self._prepared is None:
                self._prepared = self._written_after_clearing(go_on)
            go_on()
            try:
                self._displaced = self._prepared.exchange()
            except _OTHER_GROUND:
                self.discard()
                self._expected_new = None
                continue
            made = self._prepared.stat
            self._is_live, self._prepared = True, None
            self._remember(made)
            return
        raise ChangedMeanwhileError(path, TRIES)

    def set_back(self) -> None:
        """Put back what stood there, or take the new file away."""
        if not self._is_live:
            return
        displaced = self._displaced or self._files.store.remove(self._action.path)
        if self._displaced is not None:
            displaced.put_back()
        self._is_live, self._displaced = False, None
        displaced.discard()
        self._files.known.forget(self._action.path)
        self._remove_made()

    def finish(self) -> None:
        """Let go of the old file."""
        if self._displaced is not None:
            self._files.let_go(self._action.path, self._displaced, is_own=self._is_own)

    def discard(self) -> None:
        """Remove the temporary file, and the parents made for it."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            prepared.discard()
        if not self._is_live:
            self._remove_made()

    def _remember(self, made: FileStat) -> None:
        # At once: later the path's lock may be free, and another writer's file be live.
        action, known = self._action, self._files.known
        if self._displaced is not None:
            self._is_own = known.version_of(action.path, self._displaced.stat) is not None
        known.note(action.path, made, action.version or version_of(action.content))

    def _written(self) -> Prepared:
        action, store = self._action, self._files.store
        new = store.stat(action.path) is None if self._expected_new is None else self._expected_new
        return store.prepare(action.path, action.content, new=new, mode=action.mode)

    def _written_after_clearing(self, go_on: GoOn) -> Prepared:
        while (obstacle := self._files.obstacle(self._action.path)) is not None:
            self._files.take_away(obstacle, go_on)
        self._made = self._files.make_parents(self._action.path)
        return self._written()

    def _remove_made(self) -> None:
        made, self._made = self._made, ()
        for folder in made:
            self._files.remove_if_empty(folder)


class RemoveStep:
    """Takes a file or a whole directory away; implements `MirrorStep`."""

    def __init__(self, files: MirrorFiles, action: MirrorRemove) -> None:
        self._files = files
        self._path = action.path
        self._displaced: Displaced | None = None
        self._is_own = False

    @property
    def is_ready(self) -> bool:
        """Always: nothing is in the way of a removal."""
        return True

    def prepare(self) -> None:
        """Keep what the journal does not know of a directory; a file is looked at when it is out."""
        found = self._files.store.stat(self._path)
        if found is not None and found.type == "directory":
            self._files.keep_below(self._path)

    def exchange(self, go_on: GoOn) -> None:
        """Take it away, if it is there."""
        go_on()
        with suppress(*GONE):
            self._displaced = self._files.store.remove(self._path)
            self._is_own = self._files.known.version_of(self._path, self._displaced.stat) is not None
        self._files.known.forget(self._path)

    def set_back(self) -> None:
        """Put it back."""
        displaced, self._displaced = self._displaced, None
        if displaced is not None:
            displaced.put_back()
            displaced.discard()

    def finish(self) -> None:
        """Let go of it."""
        if self._displaced is not None:
            self._files.let_go(self._path, self._displaced, is_own=self._is_own)

    def discard(self) -> None:
        """Nothing was prepared."""


class MakeDirectoryStep:
    """Makes a directory and its parents; implements `MirrorStep`."""

    def __init__(self, files: MirrorFiles, action: MakeDirectory) -> None:
        self._files = files
        self._path = action.path
        # The owner must be able to write in it, as only that one mirrors.
        self._mode = 0o777 if action.mode is None else action.mode | 0o700
        self.made: tuple[WorkspacePath, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether no file stands where a directory must be."""
        return self._files.obstacle(self._path, is_directory=True) is None

    def prepare(self) -> None:
        """Nothing takes long."""

    def exchange(self, go_on: GoOn) -> None:
        """Make it, in the place of whatever else stands there."""
        while (obstacle := self._files.obstacle(self._path, is_directory=True)) is not None:
            self._files.take_away(obstacle, go_on)
        go_on()
        self.made = self._files.make_parents(self._path)
        if self._files.store.make_directory(self._path, self._mode):
            self.made = (self._path, *self.made)

    def set_back(self) -> None:
        """Remove it, unless something is in it by now."""
        made, self.made = self.made, ()
        for folder in made:
            self._files.remove_if_empty(folder)

    def finish(self) -> None:
        """Nothing came out."""

    def discard(self) -> None:
        """Nothing was prepared."""


class MoveStep:
    """Renames a file or directory that the mirror holds as the primary did; implements `MirrorStep`."""

    def __init__(self, files: MirrorFiles, action: MirrorMove, version: str | None) -> None:
        """Prepare nothing yet; the version is the file's, None for a directory."""
        self._files = files
        self._action = action
        self._version = version
        self._displaced: Displaced | None = None
        self._is_own = False
        self._is_moved = False
        self._mode: int | None = None
        self._made: tuple[WorkspacePath, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Always, once `prepare` has looked."""
        return True

    def prepare(self) -> None:
        """Refuse unless the source is what it should be: a rename would carry other bytes to the destination.

        Raises:
            OutOfStepError
            HoldsStateError: Another root lies in the folder.
        """
        files, action = self._files, self._action
        found, is_directory = files.store.stat(action.source), self._version is None
        if found is None or found.type != ("directory" if is_directory else "file"):
            raise OutOfStepError(action.source)
        if self._version is not None and not files.is_at(action.source, found, self._version):
            raise OutOfStepError(action.source)
        self._mode = found.mode
        files.refuse_state_below(action.source)
        if files.obstacle(action.path, is_directory=is_directory) is not None:
            raise OutOfStepError(action.path)
        self._made = files.make_parents(action.path)

    def exchange(self, go_on: GoOn) -> None:
        """Rename it."""
        action = self._action
        go_on()
        try:
            self._displaced = self._files.store.move(action.source, action.path, overwrite=self._version is not None)
        except _OTHER_GROUND as exc:
            raise OutOfStepError(action.path) from exc
        self._is_moved = True
        if action.mode not in (None, self._mode):
            self._files.store.set_mode(action.path, action.mode)
        known = self._files.known
        if self._displaced is not None:
            self._is_own = known.version_of(action.path, self._displaced.stat) is not None
        known.forget(action.path)
        known.rename(action.source, action.path)

    def set_back(self) -> None:
        """Rename it back, and put back what it replaced."""
        if not self._is_moved:
            return
        self._is_moved = False
        self._files.store.move(self._action.path, self._action.source)
        displaced, self._displaced = self._displaced, None
        if displaced is not None:
            displaced.put_back()
            displaced.discard()
        self.discard()

    def finish(self) -> None:
        """Let go of the replaced file."""
        if self._displaced is not None:
            self._files.let_go(self._action.path, self._displaced, is_own=self._is_own)

    def discard(self) -> None:
        """Remove the folders that were made for it, unless it went there."""
        made, self._made = self._made, ()
        for folder in () if self._is_moved else made:
            self._files.remove_if_empty(folder)


class KeepStep:
    """Leaves a file as it is, since it has the right bytes already, and gives it the right mode; implements `MirrorStep`."""

    def __init__(self, files: MirrorFiles, action: MirrorPut, found: FileStat) -> None:
        self._files = files
        self._action = action
        self._found = found

    @property
    def is_ready(self) -> bool:
        """Always: it stands there."""
        return True

    def prepare(self) -> None:
        """Nothing is to be written."""

    def exchange(self, go_on: GoOn) -> None:
        """Set the mode, if the file still is the one that was looked at.

        Raises:
            OutOfStepError
        """
        action, store = self._action, self._files.store
        now = store.stat(action.path)
        if now is None or now.identity != self._found.identity:
            raise OutOfStepError(action.path)
        if action.mode is not None and now.mode != action.mode:
            go_on()
            store.set_mode(action.path, action.mode)

    def set_back(self) -> None:
        """Nothing went live."""

    def finish(self) -> None:
        """Nothing came out."""

    def discard(self) -> None:
        """Nothing was prepared."""


def repairing_step(files: MirrorFiles, action: MirrorAction) -> MirrorStep:
    """Return the step that brings a path of the mirror to what an action says, whatever stands there; reads the mirror."""
    if isinstance(action, MirrorPut) and action.version is not None:
        found = files.store.stat(action.path)
        is_file = found is not None and found.type == "file" and found.size == len(action.content)
        if found is not None and is_file and files.is_at(action.path, found, action.version):
            return KeepStep(files, action, found)
    return step_for(files, action, lambda move: move.version)


def step_for(files: MirrorFiles, action: MirrorAction, moved_version: Callable[[MirrorMove], str | None]) -> MirrorStep:
    """Return the step of an action.

    Args:
        files: The mirror's.
        action: What to do.
        moved_version: Tells the version of a moved file that the action does not name.
    """
    match action:
        case MirrorPut():
            return PutStep(files, action)
        case MirrorRemove():
            return RemoveStep(files, action)
        case MakeDirectory():
            return MakeDirectoryStep(files, action)
        case MirrorMove():
            return MoveStep(files, action, action.version or moved_version(action))
