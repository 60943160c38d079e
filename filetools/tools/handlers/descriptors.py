"""Tools for descriptors, and the conversion of long results into descriptors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from filetools.descriptors.descriptors import Descriptors
from filetools.descriptors.frames import Frame, error_frame, is_enabled
from filetools.errors import (
    EditConflictError,
    EncodingError,
    FileToolsError,
    InvalidArgumentError,
    PathExistsError,
    PathNotFoundError,
)
from filetools.facade.descriptor_calls import DescriptorCalls
from filetools.facade.facade import FileToolsFacade
from filetools.models.files import WriteResult
from filetools.search.contents.grep import search_text
from filetools.search.contents.options import GrepOptions
from filetools.tools.answers.bodies import counted, grep_rows, lines_of, remarks
from filetools.tools.answers.seen import ShownCall, TextLimits, clipped
from filetools.tools.answers.shown import news_lines, shown, shown_frame
from filetools.tools.arguments import NoParameters, Parameters
from filetools.tools.tool import AnyTool, Tool, ToolContext

GROUP: Final = "descriptors"
MOST_MATCHES: Final = 999
_UNLIMITED: Final = TextLimits(lines=2**62, characters=2**62)
_NEVER_WRAPPED: Final = (GROUP, "editor")
_CONTINUATION: Final = ("next_cursor", "next_offset", "next_column")
_KINDS: Final = {
    "INVALID_ARGUMENT": "invalid_parameter",
    "FILE_EXISTS": "file_exists",
    "FILE_NOT_FOUND": "file_not_found",
    "INVALID_PATH": "invalid_path",
    "ABSOLUTE_PATH": "invalid_path",
    "PATH_TRAVERSAL": "invalid_path",
    "PATH_TOO_LONG": "invalid_path",
    "SYMLINK_NOT_ALLOWED": "invalid_path",
    "SYMLINK_ESCAPE": "invalid_path",
    "APPROVAL_REQUIRED": "permission_error",
    "APPROVAL_DENIED": "permission_error",
    "TOOL_BLOCKED": "permission_error",
    "PATH_HIDDEN": "permission_error",
    "PERMISSION_DENIED": "permission_error",
}
"""Error types by code; errors of descriptors carry their own type."""


class OneFd(Parameters):
    """Base of the parameters of tools that take a descriptor."""

    fd: str


class ReadFd(OneFd):
    """Parameters of read_fd."""

    read_all: bool = False
    extract_to_new_fd: bool = False
    mode: Literal["page", "line", "char"] = "page"
    start: int | None = None
    count: int = 1


class SearchFd(OneFd):
    """Parameters of search_fd."""

    pattern: str
    regex: bool = False
    ignore_case: bool = False
    context: Annotated[int, Field(ge=0, le=20)] = 0
    max_matches: Annotated[int, Field(ge=1, le=MOST_MATCHES)] = 50


class FdToFile(OneFd):
    """Parameters of fd_to_file."""

    file_path: str
    mode: Literal["write", "append"] = "write"
    create: bool = True
    exist_ok: bool = True


async def read_fd(context: ToolContext, given: ReadFd) -> Mapping[str, Any]:
    """Return a part of a descriptor's text."""
    info = await context.descriptors.run(lambda descriptors: descriptors.info(given.fd))
    facts = {}
    if info.path is not None and await _version_now(context, info.path) != info.version:
        facts["moved_on"] = True
    work = partial(
        Descriptors.read, fd=given.fd, read_all=given.read_all, extract_to_new_fd=given.extract_to_new_fd,
        mode=given.mode, start=given.start, count=given.count, facts=facts,
    )  # fmt: skip
    return (await context.descriptors.run(work)).to_dict()


async def search_fd(context: ToolContext, given: SearchFd) -> Mapping[str, Any]:
    """Return where a pattern matches in a descriptor's text."""
    return await context.descriptors.run(partial(_search, given, context))


def _search(given: SearchFd, context: ToolContext, descriptors: Descriptors) -> dict[str, Any]:
    paged = descriptors.text(given.fd)
    options = GrepOptions(
        pattern=given.pattern, literal=not given.regex, ignore_case=given.ignore_case, context=given.context,
        limit=given.max_matches + 1,
    )  # fmt: skip
    # A CR before LF would count as a character of the line, and `$` would not match before it.
    rows = search_text(paged.text.replace("\r\n", "\n"), options, what=given.fd, abort=context.is_aborted)
    found = rows[: given.max_matches]
    for row in found:
        row["page"] = paged.page_of(paged.start_of_line(row["line"]) + row["column"] - 1)
    return {"fd": given.fd, "matches": found, "truncated": len(rows) > len(found)}


async def list_fds(context: ToolContext, given: NoParameters) -> Mapping[str, Any]:
    """List the descriptors."""
    found = await context.descriptors.run(Descriptors.all)
    return {
        "fds": [
            {
                "id": each.id,
                "source": each.source,
                "size": each.size,
                "pages": each.total_pages,
                "lines": each.total_lines,
            }
            for each in found
        ]
    }


async def fd_to_file(context: ToolContext, given: FdToFile) -> Mapping[str, Any]:
    """Write a descriptor's whole text to a file."""
    if not given.create and not given.exist_ok:
        raise InvalidArgumentError("create and exist_ok are both false, which allows no file")
    text = (await context.descriptors.run(lambda descriptors: descriptors.text(given.fd))).text
    content = _encoded(text, given.file_path)
    written = await _written(context, given, content)
    is_whole = given.mode == "write" or written.created
    size = written.bytes_written if is_whole else (await context.files.file_info(written.path)).size or 0
    done = "written" if given.mode == "write" else "appended"
    return Frame(
        name="fd_file_result",
        attributes={
            "fd": given.fd, "file_path": written.path, "mode": given.mode, "char_count": len(text),
            "size_bytes": size, "success": True, "create": given.create, "exist_ok": given.exist_ok,
        },
        message=f"File descriptor {given.fd} content ({len(text)} chars) successfully {done} to {written.path}",
    ).to_dict()  # fmt: skip


async def _written(context: ToolContext, given: FdToFile, content: bytes) -> WriteResult:
    files, path = context.files, given.file_path
    if not given.exist_ok:
        try:
            return await files.create_file(path, content)
        except PathExistsError as exc:
            exc.message = f"File {path} already exists and exist_ok=False"
            raise
    version = await _version_now(context, path)
    if version is None and not given.create:
        missing = PathNotFoundError(path)
        missing.message = f"File {path} doesn't exist and create=False"
        raise missing
    # Use the current version: a concurrent change is then not overwritten but makes the call fail.
    appended_to = None if given.create else version
    try:
        if given.mode == "append":
            return await files.append_file(path, content, expected_version=appended_to)
        # The text is not based on a version of the file: merging it could remove what a person typed.
        return await files.write_file(path, content, expected_version=version, on_conflict="cancel")
    except EditConflictError as exc:
        if given.mode == "write" and exc.details.get("unsaved"):
            exc.message = f"File {path} has unsaved changes of a person, which a descriptor cannot replace"
        raise


async def _version_now(context: ToolContext, path: str) -> str | None:
    """Return the version of a file; None if there is none."""
    try:
        return (await context.files.file_info(path)).version
    except PathNotFoundError:
        return None


def _encoded(text: str, path: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        reason = f"character {exc.start} is a lone surrogate, {text[exc.start]!a}"
        raise EncodingError(path, "utf-8", reason, position=exc.start) from exc


def descriptors_for(
    files: FileToolsFacade, tools: Sequence[AnyTool], *, owner: str | None = None, is_opaque: bool = False
) -> DescriptorCalls | None:
    """Return the descriptors for long results of the tools; None if they are disabled or no tool reads them.

    Raises:
        InvalidArgumentError: The settings enable descriptors, but none of the tools reads them.
    """
    is_used = is_enabled(files.settings.file_descriptor, [tool.name for tool in tools])
    return files.descriptors(owner=owner, is_opaque=is_opaque) if is_used else None


async def wrapped(
    tool: AnyTool,
    parameters: Parameters | None,
    envelope: Mapping[str, Any],
    descriptors: DescriptorCalls,
    limits: TextLimits,
) -> dict[str, Any]:
    """Return an envelope in which a descriptor replaces data whose text is too long.

    Args:
        tool: The tool that was called.
        parameters: Its parameters.
        envelope: The envelope of its success.
        descriptors: Stores the text.
        limits: Limits of the interface's response, for reads with their own limit.
    """
    data = envelope["data"]
    if tool.present is not None or tool.group in _NEVER_WRAPPED:
        return dict(envelope)
    seen = shown(tool, {"success": True, "data": data}, _UNLIMITED)
    text, most = seen.text, descriptors.settings.max_direct_output_chars
    if len(text) <= most or seen.media is not None:
        return dict(envelope)
    create = partial(Descriptors.create, text=text)
    # Otherwise these would appear only on the last page or, for a copy of a file, nowhere.
    facts = {name: data[name] for name in _CONTINUATION if name in data}
    if tool.name == "read_file" and "content" in data:
        if getattr(parameters, "limit", None) is not None and clipped(data["content"], limits)[1] is None:
            return dict(envelope)
        if len(data["content"]) <= most:  # only the line of facts below it is over the limit
            return dict(envelope)
        # A part of a file is stored as shown, including the line of facts that says which part it is.
        if all(getattr(parameters, name, None) is None for name in ("offset", "limit", "column")):
            facts["remarks"] = " \u00b7 ".join(remarks(data))
            create = partial(
                Descriptors.create, text=data["content"], source="file", path=data["path"], version=data["version"]
            )
    try:
        frame = await descriptors.run(create)
    except FileToolsError as error:
        warning = {"code": error.code, "message": f"The whole text could not be kept as a descriptor: {error.message}"}
        return {**envelope, "warnings": [*envelope.get("warnings", ()), warning]}
    return {**envelope, "data": frame.to_dict() | {name: each for name, each in facts.items() if each}}


def present(envelope: Mapping[str, Any], limits: TextLimits, *, other_error: str = "read_error") -> ShownCall:
    """Return what a model sees of a call of these tools: frames or rows."""
    news = list(news_lines(envelope))
    if not envelope["success"]:
        details = envelope["details"]
        kind = details.get("type") or _KINDS.get(envelope["error_code"], other_error)
        frame = error_frame(kind, str(details.get("fd", "")), envelope["error"])
        return ShownCall(text="\n".join([frame.text(), *news]), is_error=True)
    data = envelope["data"]
    if "frame" in data:
        return shown_frame(envelope)
    rows = list(_fd_rows(data["fds"]) if "fds" in data else _match_rows(data))
    return ShownCall(text="\n".join([*rows, *news]))


def _fd_rows(fds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in fds:
        size, pages = counted(each["size"], "character"), counted(each["pages"], "page")
        yield f"{each['id']}  {each['source']}  {size}, {pages}, {counted(each['lines'], 'line')}"
    yield f"[{counted(len(fds), 'descriptor')}]"


def _match_rows(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rows of the matches in grep's format, with context lines and each match's position."""
    found = data["matches"]
    marked = (("", lines_of(each, f"  (page {each['page']}, column {each['column']})")) for each in found)
    has_context = any("before" in each or "after" in each for each in found)
    yield from grep_rows(marked, has_context=has_context)
    more = "; there are more: raise max_matches" if data["truncated"] else ""
    yield f"[{data['fd']} \u00b7 {counted(len(found), 'line')}{more}]"


DESCRIPTORS: Final[tuple[AnyTool, ...]] = (
    Tool(
        name="read_fd",
        description=(
            "Read a descriptor such as fd:1, which stands for a long text: pages, lines or characters. start and count are in"
            " that unit; pages and lines count from 1, characters from 0. Returns the text and its position."
        ),
        parameters=ReadFd,
        handler=read_fd,
        group=GROUP,
        effect="read",
        has_body=True,
        present=present,
    ),
    Tool(
        name="search_fd",
        description="Find lines in a descriptor by literal text, or by regex. Returns line, column, page and text of each.",
        parameters=SearchFd,
        handler=search_fd,
        group=GROUP,
        effect="read",
        has_body=True,
        present=present,
    ),
    Tool(
        name="fd_to_file",
        description=(
            "Write the whole text of a descriptor to a file, or append it. create=false: only an existing file;"
            " exist_ok=false: only a new one."
        ),
        parameters=FdToFile,
        handler=fd_to_file,
        group=GROUP,
        present=partial(present, other_error="write_error"),
    ),
    Tool(
        name="list_fds",
        description="List the descriptors that can be read: id, source, size, pages, lines.",
        parameters=NoParameters,
        handler=list_fds,
        group=GROUP,
        effect="read",
        has_body=True,
        present=present,
    ),
)
