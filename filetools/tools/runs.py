"""Tools that tell of the runs of agents on the workspace, and of what each of them made."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from filetools.tools.arguments import Parameters
from filetools.tools.quoting import Answer, limited, present
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
    """Return a run with what it made."""
    run = await context.files.runs.get(given.id)
    metadata = await context.files.runs.metadata(given.id)
    files = {name: [_file(each) for each in told] for name, told in metadata.items() if name.startswith("files_")}
    return limited({**run.to_dict(), **metadata, **files})


def _file(told: dict[str, Any]) -> dict[str, Any]:
    # By the path that other tools take.
    return {"path": told["relative_path"]} | {name: value for name, value in told.items() if name not in _PATHS}


RUNS: Final[tuple[AnyTool, ...]] = (
    Tool(
        name="list_runs",
        description=(
            "List the runs of agents on this workspace, newest first: id, session, status (running, completed, failed,"
            " cancelled), started, ended, step, command, beginning of the prompt. get_run tells what one made."
        ),
        parameters=ListRuns, handler=list_runs, group="runs", level="auto", effect="read", is_idempotent=True, present=present,
    ),
    Tool(
        name="get_run",
        description=(
            "Tell what a run (id of list_runs) is and made: status, exit_code, turns; files_created, files_modified,"
            " files_deleted with path, size, checksum. Ask before you review or continue another agent's work."
            " truncated: lists are cut. RUN_NOT_FOUND: call list_runs."
        ),
        parameters=GetRun, handler=get_run, group="runs", level="auto", effect="read", is_idempotent=True, present=present,
    ),
)  # fmt: skip
