"""Files as resources: the bytes on disk, read, replaced, patched, deleted, under conditions on their version."""

from __future__ import annotations

from contextlib import AsyncExitStack, nullcontext
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from filetools.models.files import DeleteResult, EditResult, WriteResult
from filetools.servers.http.changing_files import patch, put, under
from filetools.servers.http.conditions import Conditions, conditions_of, etag
from filetools.servers.http.described import ANY_BODY, BINARY, CONDITIONS, edits_or_diff, failures
from filetools.servers.http.file_answers import FileAnswer, file_headers
from filetools.servers.http.incoming import body_parts, whole_body
from filetools.servers.http.problems import Refusal
from filetools.servers.http.ranges import asked_part
from filetools.servers.http.raw_paths import FilePath, file_location
from filetools.servers.http.shared import Calling, SharedParts

router: Final = APIRouter(tags=["files"])
LARGE_BYTES: Final = 64 * 1024 * 1024
"""From this size on a body that is written waits for others, since each is in memory then."""


@router.head("/v1/files/{path:path}", response_class=Response, responses=failures(304, 404, 409, 412) | BINARY)
async def head_file(request: Request, path: FilePath, caller: Calling) -> Response:
    """Return what `GET` would say of a file, without its bytes."""
    return await get_file(request, path, caller)


@router.get("/v1/files/{path:path}", response_class=Response, responses=failures(304, 404, 409, 412, 416) | BINARY)
async def get_file(request: Request, path: FilePath, caller: Calling) -> Response:
    """Return the bytes of a file on disk, of any size, or one range of them.

    The entity tag is the file's version, which the tools call by the same name. Text that an editor has not saved is not
    among the bytes; the tool `read_file` shows it.
    """
    conditions = conditions_of(request)
    async with AsyncExitStack() as holding:
        file = await holding.enter_async_context(caller.files.open_file(path))
        Conditions(conditions.if_match, None).require(file.version)
        if conditions.is_unmodified(file.version):
            return Response(status_code=304, headers=file_headers(file))
        part = asked_part(request, file.version, file.size) if request.method == "GET" else None
        return FileAnswer(request, file, holding.pop_all(), part)


@router.put(
    "/v1/files/{path:path}",
    response_model=WriteResult,
    responses=failures(404, 409, 412, 415, 423, 504, 507) | {201: {"model": WriteResult, "description": "Created."}},
    openapi_extra=ANY_BODY | {"parameters": CONDITIONS},
)
async def put_file(request: Request, path: FilePath, caller: Calling, shared: SharedParts) -> Response:
    """Create or replace a file with exactly the bytes that are sent.

    Without a condition it overwrites whatever stands there, and tells its version as `replaced_version`, which stays
    readable. Text that an editor has not saved is merged with; then the answer has no entity tag.
    """
    _refuse_partial(request)
    conditions = conditions_of(request)
    async with caller.files.upload() as upload:
        async for part in body_parts(request):
            await upload.write(part)
        async with shared.large_bodies if upload.size > LARGE_BYTES else nullcontext():
            result = await put(caller.files, path, conditions, await upload.content())
    is_as_sent = not (result.merged or result.in_buffer or result.disk_version)
    headers = {"ETag": etag(result.version)} if is_as_sent else {}
    if result.created:
        headers["Location"] = file_location(result.path)
    return JSONResponse(result.to_dict(), 201 if result.created else 200, headers)


@router.patch(
    "/v1/files/{path:path}",
    response_model=EditResult,
    responses=failures(404, 409, 412, 415, 423, 504, 507),
    openapi_extra=edits_or_diff() | {"parameters": CONDITIONS},
)
async def patch_file(request: Request, path: FilePath, caller: Calling) -> Response:
    """Change parts of a file's text: replace exact texts, or apply a unified diff. All or nothing."""
    conditions = conditions_of(request)
    change = patch(caller.files, path, await whole_body(request), request.headers.get("content-type", ""))
    result = await under(conditions, caller.files, path, change)
    is_on_disk = not (result.dry_run or result.in_buffer or result.disk_version)
    return JSONResponse(result.to_dict(), headers={"ETag": etag(result.version)} if is_on_disk else {})


@router.delete(
    "/v1/files/{path:path}",
    response_model=DeleteResult,
    responses=failures(404, 409, 412, 423, 504, 507),
    openapi_extra={"parameters": CONDITIONS},
)
async def delete_file(request: Request, path: FilePath, caller: Calling) -> Response:
    """Delete a file; its bytes stay readable by their version."""

    async def delete(version: str | None) -> DeleteResult:
        return await caller.files.delete_file(path, expected_version=version)

    result = await under(conditions_of(request), caller.files, path, delete)
    return JSONResponse(result.to_dict())


def _refuse_partial(request: Request) -> None:
    """Refuse a body that is not the file's bytes as they shall stand there."""
    if "content-range" in request.headers:
        raise Refusal(400, "MALFORMED_REQUEST", "A file is sent whole; change parts of it with PATCH")
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "Bytes are taken as they are; send them without an encoding")
