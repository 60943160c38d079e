"""The calls that delete and move files and folders, and create folders."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from filetools.changes.deciding.files import permit_move, permit_removal, record_steps
from filetools.changes.deciding.outcomes import delete_result, directory_result, move_result
from filetools.changes.steps.files import MoveFile, RemoveFile
from filetools.changes.steps.folders import MakeFolderStep, MoveFolder, RemoveFolderStep, survey
from filetools.errors import AbortedError, DiskFullError
from filetools.facade.calls import ActorCalls
from filetools.facade.progress import Abort, Progress, progress_reporter
from filetools.facade.transactions import batches
from filetools.models.files import BatchResult, DeleteResult, DirectoryResult, MoveResult
from filetools.paths.lexical import AnyPath
from filetools.permissions.gatekeeper import Permit

_STAYS: Final = {
    "code": DiskFullError.code,
    "message": "The disk is full: bytes not yet kept as a version stay in .filetools until there is space.",
    "suggested_action": DiskFullError.action,
}


class TreeCalls(ActorCalls):
    """Calls that change the tree but no content."""

    async def delete_file(self, path: AnyPath, *, expected_version: str | None = None) -> DeleteResult:
        """Delete a file; its bytes stay readable by `read_file(version=…)`.

        Raises:
            PathNotFoundError, PathIsDirectoryError, VersionMismatchError
        """
        where = self._runner.resolve(path, as_name=True)
        permit = partial(permit_removal, self._parts, self.actor, expected_version)
        step = RemoveFile(where, permit)
        allowed = await self._authorise("delete_file", [where], {}, change=True, steps=[step])
        try:
            return await self._delete(step, allowed)
        except DiskFullError:
            result = await self._delete(RemoveFile(where, permit, keeps_bytes=False), allowed)
            return result.model_copy(update={"warnings": [*result.warnings, _STAYS]})

    async def _delete(self, step: RemoveFile, allowed: Permit | None) -> DeleteResult:
        return delete_result(step, await self._runner.change([step], self.actor, permits=[allowed]))

    async def delete_multiple(
        self, paths: Sequence[AnyPath], *, abort: Abort | None = None, progress: Progress | None = None
    ) -> BatchResult:
        """Delete several files, all or nothing.

        Raises:
            BatchFailedError: One was refused; names the file and the cause. Nothing was changed.
        """
        steps = batches.delete_steps(self._runner, paths, self.actor)
        places = [step.path for step in steps]
        authorise = self._authorise("delete_multiple", places, {}, change=True, steps=steps)
        return await batches.run(self._runner, steps, self.actor, progress_reporter(abort, progress), authorise)

    async def move_file(self, source: AnyPath, destination: AnyPath, *, overwrite: bool = False) -> MoveResult:
        """Move a file or a folder without changing bytes, mode or attributes; missing parents are created.

        A destination that ends in "/" is a folder: the source is moved into it.

        Raises:
            PathNotFoundError: The source does not exist.
            PathExistsError: The destination exists, and is a folder or `overwrite` is False.
            InvalidArgumentError: The destination is inside the source.
        """
        origin = self._runner.resolve(source, as_name=True)
        where = self._runner.resolve_new(destination, as_name=True, source=origin)
        inside = await self._parts.workers.run(partial(survey, self._parts, origin, where))
        permit = partial(permit_move, self._parts, self.actor)
        file = MoveFile(origin, where, overwrite=overwrite, permit=permit)
        step = MoveFolder(origin, where) if inside.kind == "directory" else file
        paths = [origin, where, *inside.protected]
        allowed = await self._authorise("move_file", paths, {"overwrite": overwrite}, change=True, steps=[step])
        if isinstance(step, MoveFile):
            return move_result(step, await self._runner.change([step], self.actor, permits=[allowed]))
        moved = await self._runner.change([step], self.actor, happened=lambda: None, permits=[allowed])
        await self._runner.afterwards(partial(record_steps, self._parts, self.actor, [step]))
        return move_result(step, moved)

    async def create_directory(self, path: AnyPath) -> DirectoryResult:
        """Create a folder and its missing parents; an existing one is not an error.

        Raises:
            PathExistsError: A file has this path.
        """
        where = self._runner.resolve_new(path, is_folder=True)
        await self._authorise("create_directory", [where], {}, change=True)
        step = MakeFolderStep(where)
        return directory_result(step, await self._runner.change([step], self.actor))

    async def delete_directory(
        self, path: AnyPath, *, recursive: bool = False, abort: Abort | None = None, progress: Progress | None = None
    ) -> DeleteResult:
        """Delete a folder, with `recursive` also everything in it.

        Args:
            path: Workspace-relative path.
            recursive: True to delete its contents, too.
            abort: Called for every entry; True stops the call before anything is changed.
            progress: Called with a percentage from 0 to 100.

        Raises:
            DirectoryNotFoundError, PathNotDirectoryError, DirectoryNotEmptyError
            AbortedError: `abort` returned True; nothing was changed.
        """
        where = self._runner.resolve(path, as_name=True)
        inside = await self._parts.workers.run(partial(survey, self._parts, where))
        if inside.kind == "symlink" and self._parts.workspace.follow_symlinks:
            return await self.delete_file(path)  # as rm -r: delete the link, not its target
        report_progress = progress_reporter(abort, progress)
        step = RemoveFolderStep(where, recursive=recursive, inside=inside.count, report_progress=report_progress)
        paths = [where, *inside.protected]
        allowed = await self._authorise("delete_directory", paths, {"recursive": recursive}, change=True, steps=[step])
        outcome = await self._runner.change(
            [step], self.actor, report_progress=report_progress, happened=lambda: None, permits=[allowed]
        )
        await self._runner.afterwards(partial(record_steps, self._parts, self.actor, [step]))
        with suppress(AbortedError):  # the deletion is done, so it is too late to stop
            report_progress(1, 1)
        return delete_result(step, outcome)
