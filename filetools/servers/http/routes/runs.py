"""Routes to the runs of agents: which there were, what each has made, and stopping one."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel

from filetools.errors import InvalidPathError
from filetools.servers.http.callers import Caller
from filetools.servers.http.described import failures
from filetools.servers.http.problems import Refusal
from filetools.servers.http.raw_paths import FILES, decoded_path, file_location
from filetools.servers.http.routes.looking import MOST_ROWS
from filetools.servers.http.shared import Calling, SharedParts
from filetools.sessions.runs import Run

router: Final = APIRouter(tags=["runs"])


class RunsPage(BaseModel):
    """What `GET /v1/runs` returns."""

    runs: list[dict[str, Any]]
    """The newest first."""


@router.get("/v1/runs", responses=failures())
async def runs(caller: Calling, limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50) -> RunsPage:
    """Return the newest runs of agents, newest first, whatever process looks after them."""
    return RunsPage(runs=[run.to_dict() for run in await caller.files.runs.list(limit)])


@router.get("/v1/runs/{run_id}", responses=failures(404))
async def one_run(caller: Calling, run_id: str) -> dict[str, Any]:
    """Return a run and, as `metadata`, the files that it has made, changed and deleted, each with the URL of what is there."""
    run = await caller.files.runs.get(run_id)
    return run.to_dict() | {"metadata": with_urls(await caller.files.runs.metadata(run_id))}


@router.delete("/v1/runs/{run_id}", responses=failures(404, 409))
async def stop_run(caller: Calling, shared: SharedParts, run_id: str) -> dict[str, Any]:
    """Stop a run of this server, and return it. People stop any, agents those of agents that came the same way."""
    run = await caller.files.runs.get(run_id)
    require_right(caller, run)
    if run.status != "running":
        raise Refusal(409, "RUN_ENDED", f"The run {run.id} has ended already: {run.status}")
    if shared.agents is None or not await shared.agents.stop(run.id):
        raise Refusal(409, "RUN_ELSEWHERE", f"Another process looks after the run {run.id}; stop it there")
    return (await caller.files.runs.get(run.id)).to_dict()


def require_right(caller: Caller, run: Run) -> None:
    """Refuse that an agent takes back, or stops, a run that others have started.

    Raises:
        Refusal: 403.
    """
    if not caller.is_person and run.actor != (caller.actor.kind, caller.actor.id):
        raise Refusal(403, "PERMISSION_DENIED", f"The run {run.id} is that of {run.actor[0]} {run.actor[1]!r}")


def with_urls(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a run with the URL of each file that is there; no URL names what reads like an escaped path."""
    for file in (*metadata.get("files_created", ()), *metadata.get("files_modified", ())):
        location = file_location(file["relative_path"])
        with suppress(InvalidPathError):
            decoded_path(location.removeprefix(FILES))
            file["url"] = location
    return metadata
