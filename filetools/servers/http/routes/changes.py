"""Routes for changes: the feed, transactions, undo, runs of agents, and approvals."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response
from pydantic import ConfigDict, Field

from filetools.errors import InvalidArgumentError, InvalidPathError, RunNotFoundError
from filetools.facade.facade import FileToolsFacade
from filetools.facade.reading.feed import change_entry
from filetools.facade.transactions.transaction import TransactionResult
from filetools.models.history import UndoResult
from filetools.models.searching import WatchResult
from filetools.servers.http.event_stream import EVENT_STREAM, EventStream, event_text
from filetools.servers.http.live.frames import pending_request
from filetools.servers.http.openapi import Described
from filetools.servers.http.operations import FILES, OperationList, UndoOrder, decoded_path, file_location, perform
from filetools.servers.http.problems import Refusal
from filetools.servers.http.routes.queries import MOST_ROWS, RowsQuery
from filetools.servers.http.routes.tools import Rows
from filetools.servers.http.shared import Caller, Calling, SharedParts
from filetools.sessions.runs import Run
from filetools.tools.arguments import Parameters
from filetools.tools.handlers.changing import undo_changes
from filetools.tools.handlers.searching import WatchChanges

router: Final = APIRouter()
_ANSWERS: Final[Described] = {
    200: {"description": "A page; or a stream of events.", "content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
}
PositionText = Annotated[str, Field(max_length=100)]


class ChangesQuery(WatchChanges):
    """Selects changes by position and path, and the time to wait for the first. Numbers may be text, as in any query."""

    model_config = ConfigDict(strict=False)

    limit: RowsQuery = MOST_ROWS


@router.get("/v1/changes", tags=["changes"], response_model=WatchResult, responses=_ANSWERS)
async def changes(
    query: Annotated[ChangesQuery, Query()],
    caller: Calling,
    shared: SharedParts,
    accept: Annotated[str, Header(alias="Accept", include_in_schema=False)] = "",
    last_event_id: Annotated[PositionText | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Return the changes after a position, oldest first; without a position, start with the oldest recorded change.

    With `Accept: text/event-stream` they are sent as events `change`, starting now unless `since` or `Last-Event-ID` names
    a position. The event `resync` means that changes before its position are no longer available.
    """
    files = caller.files
    if EVENT_STREAM in accept:
        position = last_event_id or query.since or await files.position()
        await files.watch_changes(position, path=query.path, limit=1)  # refuses a bad position or path
        return EventStream(_events(files, position, query.path), shared.closing)
    start = query.since or f"{(await files.position()).partition(':')[0]}:0"
    page = await files.watch_changes(start, path=query.path, limit=query.limit, wait_seconds=query.wait_seconds)
    return JSONResponse(page.to_dict())


async def _events(files: FileToolsFacade, since: str, path: str) -> AsyncGenerator[str, None]:
    yield event_text(None, None, since)  # a client that is disconnected before the first event resumes here
    async for page in files.follow_pages(since, path=path):
        if page.resync:
            yield event_text("resync", {"position": page.position}, page.position)
        epoch = page.position.partition(":")[0]
        for record in page.records:
            entry: dict[str, Any] = change_entry(record).to_dict()
            yield event_text("change", entry, f"{epoch}:{record.number}")


@router.post("/v1/transactions", tags=["changes"], response_model=TransactionResult)
async def transact(given: OperationList, caller: Calling) -> Response:
    """Apply a list of operations together, all or nothing.

    Each operation sees the results of those before it. Concurrent changes by others are merged with written texts; if they
    overlap, the error is EDIT_CONFLICT and nothing is changed.
    """
    async with caller.files.transaction() as files:
        for operation in given.operations:
            await perform(operation, files)
    return JSONResponse(files.result.to_dict())


@router.post("/v1/undo", tags=["changes"], response_model=UndoResult)
async def undo(given: UndoOrder, caller: Calling) -> Response:
    """Undo changes of the caller: its last one, those of one call, of a path, or since a number. All or nothing.

    With `run`, or with the `session` of a run, the whole run of an agent is undone. People may undo any run, agents only
    runs of agents that use the same interface.
    """
    if given.run is not None or given.session is not None:
        return JSONResponse((await _undo_run(given, caller)).to_dict())
    return JSONResponse((await undo_changes(caller.files, given, partial=given.partial)).to_dict())


async def _undo_run(given: UndoOrder, caller: Caller) -> UndoResult:
    if given.model_dump(exclude={"dry_run", "partial"}, exclude_none=True).keys() not in ({"run"}, {"session"}):
        raise InvalidArgumentError("Select a run only by run or by session, without other fields")
    runs = caller.files.runs
    run = await (runs.of_session(given.session) if given.session is not None else runs.get(given.run or ""))
    if run is None:
        raise RunNotFoundError(given.session or "")
    require_right(caller, run)
    return await caller.files.undo(run=run.id, dry_run=given.dry_run, partial=given.partial)


@router.get("/v1/runs", tags=["runs"])
async def runs(caller: Calling, limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 50) -> Rows:
    """Return the runs of agents in all processes, newest first."""
    return {"runs": [run.to_dict() for run in await caller.files.runs.list(limit)]}


@router.get("/v1/runs/{run_id}", tags=["runs"])
async def one_run(caller: Calling, run_id: str) -> dict[str, Any]:
    """Return a run and, as `metadata`, the files that it created, changed and deleted, with the URLs of existing files."""
    run = await caller.files.runs.get(run_id)
    return run.to_dict() | {"metadata": with_urls(await caller.files.runs.metadata(run_id))}


@router.delete("/v1/runs/{run_id}", tags=["runs"])
async def stop_run(caller: Calling, shared: SharedParts, run_id: str) -> dict[str, Any]:
    """Stop a run of this server, and return it. People may stop any run, agents only those of agents of the same interface."""
    run = await caller.files.runs.get(run_id)
    require_right(caller, run)
    if run.status != "running":
        raise Refusal(409, "RUN_ENDED", f"The run {run.id} has ended already: {run.status}")
    if shared.agents is None or not await shared.agents.stop(run.id):
        raise Refusal(409, "RUN_ELSEWHERE", f"The run {run.id} belongs to another process; stop it there")
    return (await caller.files.runs.get(run.id)).to_dict()


def require_right(caller: Caller, run: Run) -> None:
    """Check that the caller may undo or stop a run: a person any, an agent only its own.

    Raises:
        Refusal: 403, the run was started by another actor.
    """
    actor = caller.files.actor
    if actor.kind != "editor" and run.actor != (actor.kind, actor.id):
        raise Refusal(403, "PERMISSION_DENIED", f"The run {run.id} belongs to {run.actor[0]} {run.actor[1]!r}")


def with_urls(metadata: dict[str, Any]) -> dict[str, Any]:
    """Add the URL of each existing file to a run's metadata. Paths that look percent-encoded have no URL."""
    for file in (
        file for action in ("created", "modified", "unchanged") for file in metadata.get(f"files_{action}", ())
    ):
        location = file_location(file["relative_path"])
        with suppress(InvalidPathError):
            decoded_path(location.removeprefix(FILES))
            file["url"] = location
    return metadata


class ApprovalAnswer(Parameters):
    """A person's answer to an approval request."""

    answer: Literal["allow", "allow_for_run", "deny", "merge", "cancel"]
    edited_text: str | None = None
    """With "merge": the whole text to write instead."""


@router.get("/v1/approvals", tags=["approvals"])
async def approvals(caller: Calling) -> Rows:
    """Return the open approval requests of all processes, oldest first."""
    return {"approvals": [pending_request(request) for request in await caller.files.approvals()]}


@router.post("/v1/approvals/{approval_id}", tags=["approvals"])
async def answer_approval(caller: Calling, approval_id: str, answer: ApprovalAnswer) -> dict[str, str]:
    """Answer an approval request. Only a person who has logged in may answer; the token does not suffice."""
    await caller.files.answer_approval(approval_id, answer.answer, edited_text=answer.edited_text)
    return {"id": approval_id, "answer": answer.answer}
