"""Resources over MCP: files, folders, kept versions, open documents and descriptors."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote, unquote, urlsplit

import mcp_types as wire
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from filetools.errors import FileToolsError, InvalidPathError, PathIsDirectoryError
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import ReadResult
from filetools.models.searching import Entry, ListResult
from filetools.printable import printable
from filetools.servers.mcp.callers import McpCallers, Request
from filetools.servers.mcp.options import McpOptions
from filetools.tools.envelope import failure_envelope
from filetools.tools.handlers.reading import pages

SCHEME: Final = "filetools"
FILES: Final = "filetools:///files/"
VERSIONS: Final = "filetools:///versions/"
BUFFERS: Final = "filetools:///buffers/"
DESCRIPTORS: Final = "filetools:///fds/"
SAFE: Final = "/!$&'()*+,;=:@-._~"
"""Characters that RFC 3986 allows in a path; all others are escaped."""


class Address(Struct, frozen=True):
    """A parsed URI."""

    kind: Literal["files", "versions", "buffers", "fds"]
    name: str
    """A path in the workspace, the hash of a version, a handle, or the ID of a descriptor."""


def file_address(path: str) -> str:
    """Return the URI of a file or folder."""
    return FILES + quote(path, safe=SAFE)


def descriptor_address(fd: str) -> str:
    """Return the URI of a descriptor."""
    return DESCRIPTORS + quote(fd, safe="")


def local_address(root: Path, path: str) -> str:
    """Return the `file://` URI of a file or folder below a root."""
    return f"{root.as_uri()}/{quote(path, safe=SAFE)}" if path else root.as_uri()


def parse_address(uri: str, root: Path | None = None) -> Address:
    """Parse a URI.

    Args:
        uri: The URI.
        root: The root, if `file://` URIs below it are supported.

    Raises:
        InvalidPathError: The URI is not supported.
    """
    parts = urlsplit(uri)
    try:
        path = unquote(parts.path, errors="strict")
    except UnicodeDecodeError as exc:
        raise InvalidPathError(uri, "not UTF-8") from exc
    if parts.query or parts.fragment:
        # "?" and "#" in names arrive escaped; ignoring unescaped ones would select a different file.
        raise InvalidPathError(uri, "the URI of a resource has no query and no fragment")
    if parts.scheme == SCHEME and not parts.netloc:
        match path.removeprefix("/").partition("/"):
            case ("files" | "versions" | "buffers" | "fds") as kind, "/", name:
                return Address(kind, name)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and root is not None:
        place = Path(path)
        if place.is_relative_to(root):
            return Address("files", "" if place == root else place.relative_to(root).as_posix())
    raise InvalidPathError(uri, "this workspace has no resource with this URI")


PAGE_ENTRIES: Final = 500
MOST_COMPLETIONS: Final = 100
FOLDER_TYPE: Final = "inode/directory"
RESOURCE_NOT_FOUND: Final = -32002
"""Error code for a missing resource in the handshake revisions of the protocol."""
_MISSING: Final = frozenset(
    (
        "FILE_NOT_FOUND", "DIR_NOT_FOUND", "VERSION_GONE", "BUFFER_CLOSED", "INVALID_PATH", "ABSOLUTE_PATH",
        "PATH_TRAVERSAL", "PATH_TOO_LONG", "SYMLINK_NOT_ALLOWED", "SYMLINK_ESCAPE", "FD_NOT_FOUND", "FD_EXPIRED",
    )
)  # fmt: skip
_INTERNAL: Final = frozenset(
    (
        "INTERNAL", "DISK_FULL", "SYNC_FAILED", "NETWORK_ERROR", "WORKSPACE_GONE", "STATE_DAMAGED", "STATE_VERSION",
        "STATE_ELSEWHERE", "STATE_UNTRUSTED", "TIMEOUT", "LOCK_TIMEOUT", "FILE_BUSY", "RATE_LIMITED",
        "FD_READ_ERROR",
    )
)  # fmt: skip
"""Codes of failures that another request would not avoid; all others are faults of the request."""
_TEXT_TYPE: Final = "text/plain"
_BINARY_TYPE: Final = "application/octet-stream"

_TEMPLATES: Final = wire.ListResourceTemplatesResult(
    resource_templates=[
        wire.ResourceTemplate(
            name="file",
            uri_template=f"{FILES}{{+path}}",
            description="A file or folder of the workspace, including unsaved text of editors.",
        ),
        wire.ResourceTemplate(
            name="version", uri_template=f"{VERSIONS}{{hash}}", description="A kept version, by its hash."
        ),
        wire.ResourceTemplate(
            name="buffer", uri_template=f"{BUFFERS}{{handle}}", description="A document that buffer_open has opened."
        ),
        wire.ResourceTemplate(
            name="descriptor",
            uri_template=f"{DESCRIPTORS}{{id}}",
            description="The whole text of a descriptor such as fd:1.",
        ),
    ]
)


SKILLS: Final = "io.modelcontextprotocol/skills"
"""The extension that defines `resources/directory/read`, which works for any folder."""


class DirectoryParams(wire.PaginatedRequestParams):
    """Parameters of `resources/directory/read`."""

    uri: str


class Resources:
    """The resources of one server.

    Args:
        callers: The callers of the server.
        options: Determine which URIs are supported.
    """

    def __init__(self, callers: McpCallers, options: McpOptions) -> None:
        self._callers = callers
        self._root = options.file_root

    async def list_templates(
        self, request: Request, given: wire.PaginatedRequestParams | None
    ) -> wire.ListResourceTemplatesResult:
        """Return the URI templates."""
        return _TEMPLATES

    async def list_resources(
        self, request: Request, given: wire.PaginatedRequestParams | None
    ) -> wire.ListResourcesResult:
        """Return one page of all files and folders that are not ignored."""
        files = await self._files(request)
        cursor = None if given is None else given.cursor
        with protocol_errors(request.protocol_version):
            return _listed(
                await files.list_files(recursive=True, limit=PAGE_ENTRIES, cursor=cursor, use_gitignore=True)
            )

    async def read_resource(self, request: Request, given: wire.ReadResourceRequestParams) -> wire.ReadResourceResult:
        """Return the whole content of a resource."""
        with protocol_errors(request.protocol_version, given.uri):
            address = parse_address(given.uri, self._root)
            return wire.ReadResourceResult(contents=[await self._contents(request, address, given.uri)])

    async def read_directory(self, request: Request, given: DirectoryParams) -> wire.ListResourcesResult:
        """Return one page of a folder's entries.

        Source: the extension's specification; anything but a folder is an invalid argument, also in earlier revisions.
        """
        with protocol_errors(MODERN_PROTOCOL_VERSIONS[-1], given.uri):
            address = parse_address(given.uri, self._root)
            if address.kind != "files":
                raise InvalidPathError(given.uri, "it is not a folder")
            files = await self._files(request)
            return _listed(await files.list_files(address.name, limit=PAGE_ENTRIES, cursor=given.cursor))

    async def list_skills(self, request: Request, given: wire.PaginatedRequestParams) -> dict[str, Any]:
        """Return an empty list of skills, which servers with the extension must provide."""
        return {"skills": [], **wire.CacheableResult().model_dump(by_alias=True, exclude_none=True)}

    async def get_skill(self, request: Request, given: DirectoryParams) -> dict[str, Any]:
        """Raise an error, because there are no skills."""
        with protocol_errors(MODERN_PROTOCOL_VERSIONS[-1], given.uri):
            raise InvalidPathError(given.uri, "it is not a skill")

    async def complete(self, request: Request, given: wire.CompleteRequestParams) -> wire.CompleteResult:
        """Return paths that begin with the typed text; other URI variables cannot be completed."""
        completion = wire.Completion(values=[], total=0, has_more=False)
        is_path = isinstance(given.ref, wire.ResourceTemplateReference) and given.ref.uri.startswith(FILES)
        if is_path and given.argument.name == "path":
            completion = await self._paths(await self._files(request), given.argument.value)
        return wire.CompleteResult(completion=completion)

    async def _files(self, request: Request) -> FileToolsFacade:
        return (await self._callers.registry(request)).files

    async def _contents(
        self, request: Request, address: Address, uri: str
    ) -> wire.TextResourceContents | wire.BlobResourceContents:
        registry = await self._callers.registry(request)
        files = registry.files
        match address.kind:
            case "fds":
                if registry.descriptors is None:
                    raise InvalidPathError(uri, "this server offers no descriptors")
                text = await registry.descriptors.run(lambda known: known.text(address.name).text)
                return wire.TextResourceContents(uri=uri, mime_type=_TEXT_TYPE, text=text)
            case "buffers":
                opened = await files.buffers.read(address.name)
                meta = {
                    "filetools/path": opened.path,
                    "filetools/bufferVersion": opened.buffer_version,
                    "filetools/dirty": opened.dirty,
                }
                return wire.TextResourceContents(uri=uri, mime_type=_TEXT_TYPE, text=opened.text, _meta=meta)
            case "versions":
                if not address.name:
                    raise InvalidPathError(uri, "the hash is missing")
                # A version is found by its hash alone; the name only helps to detect the media type.
                return _shown(await files.read_file("version", version=address.name), uri)
            case _:
                return await self._file(files, address.name, uri)

    async def _file(
        self, files: FileToolsFacade, path: str, uri: str
    ) -> wire.TextResourceContents | wire.BlobResourceContents:
        if path:
            try:
                return _shown(await files.read_file(path), uri)
            except PathIsDirectoryError:
                pass
        page = await files.list_files(path, limit=PAGE_ENTRIES)
        rows = [f"{file_address(each.path)}{'/' if each.type == 'directory' else ''}\n" for each in page.entries]
        return wire.TextResourceContents(uri=uri, mime_type=FOLDER_TYPE, text="".join(rows))

    async def _paths(self, files: FileToolsFacade, typed: str) -> wire.Completion:
        folder, _, beginning = typed.rpartition("/")
        values: list[str] = []
        with suppress(FileToolsError):  # the typed text is an incomplete path: no match is a result, not a failure
            async for page in pages(partial(files.list_files, folder, details=False)):
                values += [
                    f"{each.path}/" if each.type == "directory" else each.path
                    for each in page.entries
                    if each.addressable is not False and each.name.startswith(beginning)
                ]
                if len(values) > MOST_COMPLETIONS:
                    break
        has_more = len(values) > MOST_COMPLETIONS
        return wire.Completion(
            values=values[:MOST_COMPLETIONS], total=None if has_more else len(values), has_more=has_more
        )


@contextmanager
def protocol_errors(protocol_version: str, uri: str | None = None) -> Iterator[None]:
    """Raise errors as the protocol errors that clients of a revision expect; their data is the failure envelope."""
    try:
        yield
    except FileToolsError as error:
        data = failure_envelope(error) | ({} if uri is None else {"uri": uri})
        code: int = wire.INTERNAL_ERROR if error.code in _INTERNAL else wire.INVALID_PARAMS
        if error.code in _MISSING and protocol_version not in MODERN_PROTOCOL_VERSIONS:
            code = RESOURCE_NOT_FOUND
        raise MCPError(code, error.message, data) from error


def _listed(page: ListResult) -> wire.ListResourcesResult:
    resources = [_described(entry) for entry in page.entries if entry.addressable is not False]
    return wire.ListResourcesResult(resources=resources, next_cursor=page.next_cursor)


def _described(entry: Entry) -> wire.Resource:
    is_folder = entry.type == "directory"
    modified = entry.modified.isoformat() if entry.modified is not None else None
    return wire.Resource(
        uri=file_address(entry.path),
        name=printable(entry.name),
        title=printable(entry.path),
        mime_type=FOLDER_TYPE if is_folder else mimetypes.guess_type(entry.path)[0],
        size=None if is_folder else entry.size,
        annotations=wire.Annotations(last_modified=modified) if modified else None,
    )


def _shown(read: ReadResult, uri: str) -> wire.TextResourceContents | wire.BlobResourceContents:
    meta: dict[str, Any] = {"filetools/version": read.version}
    if read.is_binary:
        return wire.BlobResourceContents(
            uri=uri, mime_type=read.mime_type or _BINARY_TYPE, blob=read.content, _meta=meta
        )
    guessed = mimetypes.guess_type(read.path)[0] or _TEXT_TYPE
    return wire.TextResourceContents(uri=uri, mime_type=guessed, text=read.content, _meta=meta)
