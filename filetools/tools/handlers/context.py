"""Tools that describe a project, its state, its instructions, and the runs of agents.

Code of a project is never executed. Each of these tools is also a plain function that never raises:
`await get_git_state(files, path="~/code")`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field

from filetools.content.extracts.whole import whole_start
from filetools.errors import AbortedError, FileToolsError, InternalError
from filetools.facade.facade import FileToolsFacade
from filetools.models.searching import GrepResult
from filetools.paths.workspace_path import ROOT
from filetools.project import folder as folders
from filetools.project import git, instructions, manifests, readme, recent
from filetools.project.folder import ProjectFolder
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions
from filetools.search.listing import rows_below
from filetools.search.options import ListOptions
from filetools.tools.answers.shown import Answer, limited, present_facts
from filetools.tools.arguments import P, Parameters, read_arguments
from filetools.tools.handlers import session_logs
from filetools.tools.tool import AnyTool, Tool, ToolContext

_LISTED: Final = ("id", "session", "status", "started", "ended", "step", "command", "prompt")
_PATHS: Final = ("absolute_path", "relative_path", "filename", "path")


class ListRuns(Parameters):
    """Parameters of list_runs."""

    limit: Annotated[int, Field(ge=1, le=100)] = 20


class GetRun(Parameters):
    """Parameters of get_run."""

    id: str


async def list_runs(context: ToolContext, given: ListRuns) -> Answer:
    """Return the newest runs, newest first."""
    rows = [run.to_dict() for run in await context.files.runs.list(given.limit)]
    return limited({"runs": [{name: row[name] for name in _LISTED if name in row} for row in rows]})


async def get_run(context: ToolContext, given: GetRun) -> Answer:
    """Return a run and the files it changed."""
    run = await context.files.runs.get(given.id)
    metadata = await context.files.runs.metadata(given.id)
    # Name files by the path that other tools accept.
    files = {
        name: [
            {"path": each["relative_path"]} | {fact: value for fact, value in each.items() if fact not in _PATHS}
            for each in rows
        ]
        for name, rows in metadata.items()
        if name.startswith("files_")
    }
    return limited({**run.to_dict(), **metadata, **files})


RUNS: Final[tuple[AnyTool, ...]] = (
    Tool(
        name="list_runs",
        description=(
            "List the runs of agents on this workspace, newest first: id, session, status (running, completed, failed,"
            " cancelled), started, ended, step, command, beginning of the prompt. get_run describes one."
        ),
        parameters=ListRuns, handler=list_runs, group="runs", effect="read",
        present=present_facts,
    ),
    Tool(
        name="get_run",
        description=(
            "Describe a run (id from list_runs) and its changes: status, exit_code, turns; files_created, files_modified,"
            " files_deleted, files_unchanged with path, size, checksum. Ask before you review or continue another agent's work."
            " truncated: lists are cut. RUN_NOT_FOUND: call list_runs."
        ),
        parameters=GetRun, handler=get_run, group="runs", effect="read",
        present=present_facts,
    ),
)  # fmt: skip


logger = logging.getLogger(__name__)

GROUP: Final = "context"
SEARCH_SECONDS: Final = 5.0
_PAGE: Final = 10
"""Matches per page of a search, so that a search ended by the time limit loses only the matches of the last page."""
_LINE_CHARACTERS: Final = 200
T = TypeVar("T")


class InProject(Parameters):
    """Base of the parameters of tools that look at a project, or at any folder that can be looked at."""

    project_id: str | None = None
    path: str | None = None


class GitState(InProject):
    """Parameters of get_git_state."""

    limit: Annotated[int, Field(ge=1, le=20)] = 5


class Readme(InProject):
    """Parameters of get_readme."""

    max_chars: Annotated[int, Field(ge=1, le=20_000)] = 2000


class Instructions(InProject):
    """Parameters of get_instructions."""

    max_chars: Annotated[int, Field(ge=1, le=50_000)] = 20_000


class RecentFiles(InProject):
    """Parameters of get_recent_files."""

    limit: Annotated[int, Field(ge=1, le=100)] = 20
    since: str | None = None


class RecentSessions(InProject):
    """Parameters of get_recent_sessions."""

    limit: Annotated[int, Field(ge=1, le=20)] = 5


class Discover(InProject):
    """Parameters of discover_projects."""

    depth: Annotated[int, Field(ge=1, le=8)] = 3


class SearchCode(InProject):
    """Parameters of search_code."""

    query: str
    regex: bool = False
    max_results: Annotated[int, Field(ge=1, le=200)] = 50


async def _look(
    context: ToolContext,
    tool: str,
    given: InProject,
    work: Callable[[ProjectFolder], T],
    *,
    path: str | None = None,
    top: Callable[[str, str | None], str] | None = None,
) -> T:
    """Run `work` on the requested folder in a worker thread, and return its result.

    Args:
        context: The call.
        tool: Name of the tool.
        given: Its parameters; a path takes precedence over an ID.
        work: Reads the folder.
        path: The folder if neither was given; None raises an error instead.
        top: As for `ProjectCalls.look`.
    """
    asked = given.path if given.path is not None or given.project_id is not None else path
    return await context.files.projects.look(
        tool, asked, work, project_id=given.project_id, top=top, allowed=context.allowed
    )


async def _instances(context: ToolContext, _: Parameters) -> Answer:
    return {"instances": await context.files.projects.run(lambda registry: registry.instances())}


async def _instructions(context: ToolContext, given: Instructions) -> Answer:
    def work(folder: ProjectFolder) -> Answer:
        found = instructions.instructions(folder, folder.asked, max_chars=given.max_chars)
        inside = folders.below(folder.path, context.files.root_paths[-1])

        # In the workspace, paths are as in the file tools; elsewhere they must show the folder.
        def placed(path: str) -> str:
            return folder.shown(path) if inside is None else f"{inside}/{path}".removeprefix("/")

        for each in (*found["files"], *found.get("skills", ())):
            each["path"] = placed(each["path"])
        # `max_chars` limits contents; files that are only named count towards the usual limit.
        files = found.pop("files")
        lists = {"rules": [each for each in files if "content" not in each], **found}
        named = limited(lists | {"omitted": [placed(each) for each in found.get("omitted", ())]})
        rules = named.pop("rules")
        shown = [each for each in files if "content" in each or each in rules]
        return {"files": shown, **{name: each for name, each in named.items() if each}}

    def top(place: str, outermost: str | None) -> str:
        return instructions.instruction_root(place, None if context.above else outermost)

    return await _look(context, "get_instructions", given, work, path="", top=top)


async def _recent_files(context: ToolContext, given: RecentFiles) -> Answer:
    options = ListOptions(recursive=True, default_excludes=context.files.settings.exclude)

    def work(folder: ProjectFolder) -> Answer:
        paths: Sequence[str] | Iterator[str] | None = git.listed_files(folder.path)
        if paths is None:
            portions = rows_below(folder.reads, ROOT, options, abort=context.is_aborted)
            paths = (
                path
                for rows in portions
                for path, kind, can_be_addressed in rows
                if kind == "file" and can_be_addressed
            )
        return recent.recent_files(folder, paths, limit=given.limit, since=given.since)

    return await _look(context, "get_recent_files", given, work)


async def _discover(context: ToolContext, given: Discover) -> Answer:
    options = ListOptions(
        recursive=True, max_depth=given.depth, use_gitignore=True, include_hidden=False, details=False,
        default_excludes=context.files.settings.exclude,
    )  # fmt: skip

    def work(folder: ProjectFolder) -> Answer:
        rows = chain.from_iterable(rows_below(folder.reads, ROOT, options, abort=context.is_aborted))
        return manifests.discovered(folder, ["", *(path for path, kind, _ in rows if kind == "directory")])

    return await _look(context, "discover_projects", given, work, path="")


async def _search_code(context: ToolContext, given: SearchCode) -> Answer:
    end, rows, cursor = time.monotonic() + SEARCH_SECONDS, list[Answer](), None
    place = await _look(context, "search_code", given, lambda folder: folder.path)
    inside = folders.below(place, context.files.root_paths[-1])
    start = len(inside) + 1 if inside else 0

    def is_over() -> bool:
        return time.monotonic() > end or context.is_aborted()

    while len(rows) < given.max_results:
        limit = min(_PAGE, given.max_results - len(rows))
        try:
            found = await _grepped(context, given, inside, limit, cursor, is_over)
        except AbortedError:
            if context.is_aborted():
                raise
            return {"matches": rows, "truncated": True}
        rows += [
            {"path": row.path[start:], "line": row.line, "text": whole_start(row.text, _LINE_CHARACTERS)}
            for row in found.matches
        ]
        cursor = found.next_cursor
        if cursor is None:
            break
    return {"matches": rows, "truncated": cursor is not None}


async def _grepped(
    context: ToolContext,
    given: SearchCode,
    inside: str | None,
    limit: int,
    cursor: str | None,
    is_over: Callable[[], bool],
) -> GrepResult:
    """Return one page of matches: in the workspace including unsaved text, in other folders as they are on disk."""
    settings = context.files.settings
    if inside is not None:
        return await context.files.grep_files(
            given.query, path=inside, literal=not given.regex, limit=limit, cursor=cursor, abort=is_over
        )
    options = GrepOptions(
        pattern=given.query, literal=not given.regex, limit=limit,
        default_excludes=settings.exclude, max_file_bytes=settings.max_read_bytes,
    )  # fmt: skip

    def search(folder: ProjectFolder) -> GrepResult:
        is_withheld = folder.reads.is_withheld
        return grep_page(folder.reads, ROOT, options, cursor, abort=is_over, is_withheld=is_withheld)

    return await _look(context, "search_code", given, search)


def _fact(
    name: str, parameters: type[P], answer: Callable[[ToolContext, P], Awaitable[Answer]], description: str
) -> AnyTool:
    """Return a tool whose answer is limited, unless its parameters limit it."""

    async def handle(context: ToolContext, given: P) -> Answer:
        found = await answer(context, given)
        return found if hasattr(given, "max_chars") else limited(found)

    return Tool(
        name=name, description=description, parameters=parameters, handler=handle, group=GROUP,
        effect="read", has_body=True, present=present_facts,
    )  # fmt: skip


CONTEXT: Final[tuple[AnyTool, ...]] = (
    _fact(
        name="get_instance_status",
        parameters=Parameters,
        answer=_instances,
        description="List the agents that run on this workspace: id, name, dir, status (working, idle), project.",
    ),
    _fact(
        name="get_git_state",
        parameters=GitState,
        answer=lambda context, given: _look(
            context, "get_git_state", given, lambda folder: git.git_state(folder.path, limit=given.limit)
        ),
        description=(
            "Git state of a folder (path) or project (project_id): branch, last commits, dirty, ahead, behind, upstream."
            " Runs no hook and no filter of the repository; dirty is unknown where it has filters."
        ),
    ),
    _fact(
        name="get_readme",
        parameters=Readme,
        answer=lambda context, given: _look(
            context, "get_readme", given, lambda folder: readme.readme(folder, max_chars=given.max_chars)
        ),
        description="README of a folder or project, up to max_chars (2000). content is null where there is none.",
    ),
    _fact(
        name="get_instructions",
        parameters=Instructions,
        answer=_instructions,
        description=(
            "Instruction files (AGENTS.md, CLAUDE.md and imports) that apply to a path, broadest first, most specific last;"
            " skills by name. Read before you change files there. omitted names what did not fit max_chars."
        ),
    ),
    _fact(
        name="get_recent_files",
        parameters=RecentFiles,
        answer=_recent_files,
        description="Files of a folder or project by last change, newest first: path, age, size. since: 2 days, or a date.",
    ),
    _fact(
        name="get_recent_sessions",
        parameters=RecentSessions,
        answer=lambda context, given: _look(
            context,
            "get_recent_sessions",
            given,
            lambda folder: session_logs.recent_sessions(folder.path, limit=given.limit),
        ),
        description="Latest sessions of coding agents in a folder or project, from their logs: id, title, age.",
    ),
    _fact(
        name="get_dependencies",
        parameters=InProject,
        answer=lambda context, given: _look(context, "get_dependencies", given, manifests.dependencies),
        description=(
            "Dependencies that manifests declare (pyproject.toml, requirements, package.json, Cargo.toml, go.mod): name,"
            " version range, kind (runtime, optional, dev)."
        ),
    ),
    _fact(
        name="discover_projects",
        parameters=Discover,
        answer=_discover,
        description="Projects below a folder, up to depth: path, kind, name of each folder with .git or a manifest.",
    ),
    _fact(
        name="search_code",
        parameters=SearchCode,
        answer=_search_code,
        description="Find lines in the files of a folder or project by literal text, or by regex: path, line, text.",
    ),
)


async def _ask(tool: AnyTool, files: FileToolsFacade, *, above: bool = False, **arguments: Any) -> Answer:
    """Answer a Python program, which may also read the home folder; a failure returns `{"error", "error_code"}`."""
    home = folders.home_folder()
    allowed = () if home is None else (home,)
    context = ToolContext(files=files, report=lambda *_: None, allowed=allowed, above=above)
    try:
        found = await tool.handler(context, read_arguments(tool.parameters, arguments)[0])
    except FileToolsError as error:
        return {"error": error.message, "error_code": error.code}
    except Exception:  # untrusted files may cause any error, and this function must never raise
        logger.exception("%s failed unexpectedly", tool.name)
        return {"error": f"{tool.name} failed unexpectedly; the log says why", "error_code": InternalError.code}
    assert isinstance(found, dict)
    return found


(
    get_instance_status,
    get_git_state,
    get_readme,
    get_instructions,
    get_recent_files,
    get_recent_sessions,
    get_dependencies,
    discover_projects,
    search_code,
) = (partial(_ask, tool) for tool in CONTEXT)
