"""Routes for files: read, replace, patch and delete the bytes on disk, with conditions on their version."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import nullcontext
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import ValidationError

from filetools.errors import FileToolsError, InvalidArgumentError, PathNotFoundError
from filetools.facade.body_calls import OpenedFile
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import DeleteResult, EditResult, WriteResult
from filetools.servers.http.conditions import Conditions, asked_range, conditions_of, etag
from filetools.servers.http.event_stream import joined
from filetools.servers.http.openapi import ANY_BODY, BINARY, CONDITIONS, EDITS_OR_DIFF
from filetools.servers.http.operations import EditList, FilePath, file_location
from filetools.servers.http.problems import Refusal
from filetools.servers.http.shared import Calling, SharedParts
from filetools.tools.arguments import refusal_of

router: Final = APIRouter()
LARGE_BYTES: Final = 64 * 1024 * 1024
"""Writes of this size or larger run one at a time, since each body is in memory then."""
T = TypeVar("T")
FileChange = Callable[[str | None], Awaitable[T]]
"""Changes a file; receives the version that the file must have, or None."""
MOST_TRIES: Final = 5
"""Maximum number of attempts when the file changes between checking the conditions and changing it."""
_JSON: Final = "application/json"
_DIFFS: Final = ("text/x-diff", "text/x-patch")
ACCEPTED_PATCHES: Final = ", ".join((_JSON, *_DIFFS))
HARMLESS: Final = {
    # File content is untrusted: shown by a browser, it gets no origin, runs no scripts and loads nothing.
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def open_file(path: FilePath, caller: Calling) -> AsyncGenerator[OpenedFile, None]:
    """Open the file of a request, until the response is sent."""
    async with caller.files.open_file(path) as file:
        yield file


@router.head("/v1/files/{path:path}", tags=["files"], response_class=Response, responses=BINARY)
@router.get(
    "/v1/files/{path:path}",
    tags=["files"],
    response_class=Response,
    responses=BINARY,
)
async def get_file(request: Request, file: Annotated[OpenedFile, Depends(open_file)]) -> Response:
    """Return the bytes of a file on disk, of any size, or one range of them; `HEAD` the same without the bytes.

    The entity tag is the file's version, as in the tools. Unsaved text of editors is not included; the tool `read_file`
    returns it.
    """
    conditions = conditions_of(request)
    Conditions(conditions.if_match, None).require(file.version)
    if conditions.is_unmodified(file.version):
        return Response(status_code=304, headers=file_headers(file.version))
    status, part, headers = _part(request, file.version, file.size)
    # Set as a header, because the framework would add "charset=utf-8" to every text type.
    headers |= {"Content-Length": str(len(part)), "Content-Type": media_type_of(file.path)}
    if request.method == "HEAD":
        return Response(None, status, headers)
    chunks = file.chunks(part.start, len(part))
    first = await anext(
        chunks, b""
    )  # an error before the first chunk is a normal response; later, the connection is aborted
    return StreamingResponse(joined(first, chunks), status, headers)


@router.put(
    "/v1/files/{path:path}",
    tags=["files"],
    response_model=WriteResult,
    responses={201: {"model": WriteResult, "description": "Created."}},
    openapi_extra=ANY_BODY | {"parameters": CONDITIONS},
)
async def put_file(request: Request, path: FilePath, caller: Calling, shared: SharedParts) -> Response:
    """Create or replace a file with exactly the bytes that are sent.

    Without a condition it replaces any existing content and returns its version as `replaced_version`, which stays readable.
    If an editor has unsaved text, the content is merged with it, and the response has no entity tag.
    """
    _refuse_partial(request)
    conditions = conditions_of(request)
    async with caller.files.upload() as upload:
        async for part in request.stream():
            await upload.write(part)
        async with shared.large_bodies if upload.size > LARGE_BYTES else nullcontext():
            content = await upload.content()

            async def write(version: str | None) -> WriteResult:
                if version is not None or not conditions.are_given:
                    return await caller.files.replace_file(path, content, expected_version=version)
                return await caller.files.create_file(path, content)

            result = await under(conditions, caller.files, path, write, may_create=True)
    is_as_sent = not (result.merged or result.in_buffer or result.disk_version)
    headers = {"ETag": etag(result.version)} if is_as_sent else {}
    if result.created:
        headers["Location"] = file_location(result.path)
    return JSONResponse(result.to_dict(), 201 if result.created else 200, headers)


@router.patch(
    "/v1/files/{path:path}",
    tags=["files"],
    response_model=EditResult,
    openapi_extra=EDITS_OR_DIFF | {"parameters": CONDITIONS},
)
async def patch_file(request: Request, path: FilePath, caller: Calling) -> Response:
    """Change parts of a file's text: replace exact texts, or apply a unified diff. All or nothing."""
    conditions = conditions_of(request)
    change = patch(caller.files, path, await request.body(), request.headers.get("content-type", ""))
    result = await under(conditions, caller.files, path, change)
    is_on_disk = not (result.dry_run or result.in_buffer or result.disk_version)
    return JSONResponse(result.to_dict(), headers={"ETag": etag(result.version)} if is_on_disk else {})


@router.delete(
    "/v1/files/{path:path}",
    tags=["files"],
    response_model=DeleteResult,
    openapi_extra={"parameters": CONDITIONS},
)
async def delete_file(request: Request, path: FilePath, caller: Calling) -> Response:
    """Delete a file; its bytes stay readable by their version."""
    files = caller.files
    result = await under(
        conditions_of(request), files, path, lambda version: files.delete_file(path, expected_version=version)
    )
    return JSONResponse(result.to_dict())


def _refuse_partial(request: Request) -> None:
    """Raise an error if the body is a range or is encoded, and so is not the complete content."""
    if "content-range" in request.headers:
        raise Refusal(400, "MALFORMED_REQUEST", "Send the whole file; change parts of it with PATCH")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "Send the bytes without a content encoding")


@router.get("/v1/fds/{fd}", response_class=Response, tags=["descriptors"], responses=BINARY)
async def get_descriptor(request: Request, fd: str, caller: Calling) -> Response:
    """Return the text of a descriptor of the caller in UTF-8, or one range of its bytes."""
    text = await caller.descriptors.run(lambda known: known.text(fd).text)
    content = text.encode("utf-8", "surrogatepass")
    version = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if conditions_of(request).is_unmodified(version):
        return Response(status_code=304, headers=file_headers(version))
    status, part, headers = _part(request, version, len(content))
    return Response(content[part.start : part.stop], status, headers, "text/plain; charset=utf-8")


def _part(request: Request, version: str, size: int) -> tuple[int, range, dict[str, str]]:
    """Return the status, the offsets of the bytes, and the headers of a response with all bytes or one range of them."""
    headers = file_headers(version)
    asked = asked_range(request, version, size) if request.method == "GET" else None
    if asked is None:
        return 200, range(size), headers
    return 206, asked, headers | {"Content-Range": f"bytes {asked.start}-{asked.stop - 1}/{size}"}


async def version_at(files: FileToolsFacade, path: str) -> str | None:
    """Return the version of a file; None if there is none."""
    try:
        async with files.open_file(path) as file:
            return file.version
    except PathNotFoundError:
        return None


async def under(
    conditions: Conditions, files: FileToolsFacade, path: str, change: FileChange[T], *, may_create: bool = False
) -> T:
    """Make a change if the conditions hold at the moment of the change.

    Raises:
        Refusal: 412, they do not hold.
        FileToolsError: Raised by the change itself.
    """
    if not conditions.are_given:
        return await change(None)
    for _ in range(MOST_TRIES):
        version = await version_at(files, path)
        conditions.require(version)
        if version is None and not may_create:
            # Without a version, the change could hit a file created meanwhile, which the conditions were not checked against.
            raise PathNotFoundError(path)
        try:
            return await change(version)
        except FileToolsError as error:
            if error.code not in ("VERSION_MISMATCH", "FILE_EXISTS"):
                raise
    raise Refusal(412, "VERSION_MISMATCH", "The file kept changing")


def patch(files: FileToolsFacade, path: str, body: bytes, content_type: str) -> FileChange[EditResult]:
    """Return the change that the body of a PATCH requests.

    Raises:
        Refusal: 415, its media type is not supported.
        InvalidArgumentError: It is malformed.
    """
    kind = content_type.partition(";")[0].strip().lower()
    try:
        if kind == _JSON:
            given = EditList.model_validate_json(body)
            edits = [each.edit() for each in given.edits]
            return lambda version: files.edit_file(path, edits, expected_version=version, dry_run=given.dry_run)
        if kind in _DIFFS:
            text = body.decode("utf-8")
            return lambda version: files.patch_file(path, text, expected_version=version)
    except ValidationError as exc:
        raise refusal_of(exc.errors()) from exc
    except UnicodeDecodeError as exc:
        raise InvalidArgumentError("A diff must be text in UTF-8") from exc
    raise Refusal(
        415,
        "UNSUPPORTED_MEDIA_TYPE",
        f"The media type of a change must be one of {ACCEPTED_PATCHES}",
        {"Accept-Patch": ACCEPTED_PATCHES},
    )


def file_headers(version: str) -> dict[str, str]:
    """Return the headers of every response about a file or a descriptor."""
    return {"ETag": etag(version), "Accept-Ranges": "bytes", "Cache-Control": "no-cache", **HARMLESS}


def media_type_of(path: str) -> str:
    """Guess the media type from the file name."""
    guessed, compression = mimetypes.guess_type(path)
    return "application/octet-stream" if guessed is None or compression is not None else guessed
