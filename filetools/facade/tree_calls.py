"""The calls that take files and folders away, move them, or make folders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from filetools.facade import batches, folders
from filetools.facade.calls import Calls
from filetools.facade.knowing import note_gone, note_moved, permit_move, permit_removal
from filetools.facade.outcomes import delete_result, directory_result, move_result
from filetools.facade.progress import Abort, Progress, beat_of
from filetools.facade.steps import MakeFolder, MoveFile, MoveFolder, RemoveFile, RemoveFolder
from filetools.models import BatchResult, DeleteResult, DirectoryResult, MoveResult
from filetools.paths import WorkspacePath


class TreeCalls(Calls):
    """Calls that go the way of a write without new bytes."""

    async def delete_file(self, path: str, *, expected_version: str | None = None) -> DeleteResult:
        """Delete a file; its bytes stay readable by `read_file(version=…)`.

        Raises:
            PathNotFoundError, PathIsDirectoryError, VersionMismatchError
        """
        where = self._runner.resolve(path)
        await self._authorise("delete_file", [where], {}, change=True)
        step = RemoveFile(where, partial(permit_removal, self._parts, self.actor, expected_version))
        happened = partial(note_gone, self._parts, self.actor, [step])
        outcome = await self._runner.change([step], self.actor, happened=happened)
        return delete_result(step, outcome)

    async def delete_multiple(
        self, paths: Sequence[str], *, abort: Abort | None = None, progress: Progress | None = None
    ) -> BatchResult:
        """Delete several files, all or nothing.

        Raises:
            BatchFailedError: One of them was refused; names the file and the cause. Nothing was changed.
        """
        steps = batches.delete_steps(self._runner, paths, self.actor)
        await self._authorise("delete_multiple", [step.path for step in steps], {}, change=True)
        return await batches.run(self._runner, steps, self.actor, beat_of(abort, progress))

    async def move_file(self, source: str, destination: str, *, overwrite: bool = False) -> MoveResult:
        """Move a file or a folder; bytes, mode and attributes are untouched, missing parents are created.

        Raises:
            PathNotFoundError: There is no source.
            PathExistsError: The destination exists, and is a folder or `overwrite` is False.
            InvalidArgumentError: A folder was to be moved into itself.
        """
        origin, where = self._runner.resolve(source), self._runner.resolve(destination)
        inside = await self._parts.crew.run(partial(folders.survey, self._parts, origin, where))
        await self._authorise("move_file", [origin, where, *inside.protected], {"overwrite": overwrite}, change=True)
        if inside.is_folder:
            folder = MoveFolder(origin, where)
            moved = await self._runner.change([folder], self.actor)
            await self._forget_below(origin, where)
            return move_result(folder, moved)
        permit = partial(permit_move, self._parts, self.actor)
        step = MoveFile(origin, where, overwrite=overwrite, permit=permit)
        happened = partial(note_moved, self._parts, self.actor, step)
        outcome = await self._runner.change([step], self.actor, happened=happened)
        return move_result(step, outcome)

    async def create_directory(self, path: str) -> DirectoryResult:
        """Create a folder and its missing parents; one that exists is no error.

        Raises:
            PathExistsError: A file stands there.
        """
        where = self._runner.resolve(path)
        await self._authorise("create_directory", [where], {}, change=True)
        return directory_result(where, await self._runner.change([MakeFolder(where)], self.actor))

    async def delete_directory(self, path: str, *, recursive: bool = False) -> DeleteResult:
        """Delete a folder, with `recursive` also all that is in it.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, DirectoryNotEmptyError
        """
        where = self._runner.resolve(path)
        inside = await self._parts.crew.run(partial(folders.survey, self._parts, where))
        await self._authorise("delete_directory", [where, *inside.protected], {"recursive": recursive}, change=True)
        step = RemoveFolder(where, recursive=recursive)
        outcome = await self._runner.change([step], self.actor)
        await self._forget_below(where)
        return delete_result(step, outcome)

    async def _forget_below(self, *folders: WorkspacePath) -> None:
        """Forget what was in folders: who takes them away itself is not surprised that their files are gone."""
        for folder in folders:
            key = self._parts.workspace.key(folder)
            await self._parts.crew.run(partial(self._parts.knowledge.forget_below, self.actor, key))
