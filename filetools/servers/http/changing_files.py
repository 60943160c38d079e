"""Changes of one file under the conditions of a request, which must hold at the moment of the change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from pydantic import ValidationError

from filetools.errors import FileToolsError, InvalidArgumentError, PathExistsError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import EditResult, WriteResult
from filetools.servers.http.conditions import Conditions
from filetools.servers.http.operations import EditList
from filetools.servers.http.problems import Refusal, told_faults

T = TypeVar("T")
Change = Callable[[str | None], Awaitable[T]]
"""Changes a file; gets the version that must stand there, or None."""
MOST_TRIES: Final = 5
"""How often conditions are looked at again because the file changed before the change was made."""
_JSON: Final = "application/json"
_DIFFS: Final = ("text/x-diff", "text/x-patch")
ACCEPTED_PATCHES: Final = ", ".join((_JSON, *_DIFFS))


async def version_at(files: FileToolsFacade, path: str) -> str | None:
    """Return the version of a file; None if there is none."""
    try:
        async with files.open_file(path) as file:
            return file.version
    except PathNotFoundError:
        return None


async def under(
    conditions: Conditions, files: FileToolsFacade, path: str, change: Change[T], *, may_create: bool = False
) -> T:
    """Make a change if the conditions hold, and as long as they do.

    Raises:
        Refusal: 412, they do not hold.
        FileToolsError: As the change itself.
    """
    if not conditions.are_given:
        return await change(None)
    for _ in range(MOST_TRIES):
        version = await version_at(files, path)
        conditions.require(version)
        if version is None and not may_create:
            # Without a version the change would take whatever is made here meanwhile, which the conditions have not seen.
            raise PathNotFoundError(path)
        try:
            return await change(version)
        except FileToolsError as error:
            if error.code != "VERSION_MISMATCH":
                raise
    raise Refusal(412, "VERSION_MISMATCH", "The file kept changing")


async def put(files: FileToolsFacade, path: str, conditions: Conditions, content: bytes) -> WriteResult:
    """Create or replace a file with these bytes, if the conditions hold.

    Raises:
        Refusal: 412, they do not hold.
        FileToolsError: As `replace_file`.
    """

    async def write(version: str | None) -> WriteResult:
        if version is not None or not conditions.are_given:
            return await files.replace_file(path, content, expected_version=version)
        try:
            return await files.create_file(path, content)
        except PathExistsError:
            # Made meanwhile, or a folder: whether the conditions still hold is told by what stands there now.
            conditions.require(await version_at(files, path))
            raise

    return await under(conditions, files, path, write, may_create=True)


def patch(files: FileToolsFacade, path: str, body: bytes, content_type: str) -> Change[EditResult]:
    """Return the change that the body of a PATCH asks for.

    Raises:
        Refusal: 415, it is of a kind that we do not know.
        InvalidArgumentError: It is malformed.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == _JSON:
        return _edits(files, path, body)
    if kind in _DIFFS:
        return _diff(files, path, body)
    raise Refusal(
        415, "UNSUPPORTED_MEDIA_TYPE", f"A change is one of {ACCEPTED_PATCHES}", {"Accept-Patch": ACCEPTED_PATCHES}
    )


def _edits(files: FileToolsFacade, path: str, body: bytes) -> Change[EditResult]:
    try:
        given = EditList.model_validate_json(body)
    except ValidationError as exc:
        raise InvalidArgumentError(told_faults(exc.errors())) from exc
    edits = [each.edit() for each in given.edits]

    async def change(version: str | None) -> EditResult:
        return await files.edit_file(path, edits, expected_version=version, dry_run=given.dry_run)

    return change


def _diff(files: FileToolsFacade, path: str, body: bytes) -> Change[EditResult]:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidArgumentError("A diff is text in UTF-8") from exc

    async def change(version: str | None) -> EditResult:
        return await files.patch_file(path, text, expected_version=version)

    return change
