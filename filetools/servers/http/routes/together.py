"""Routes that change many files at once: transactions, and taking changes back."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from filetools.errors import InvalidArgumentError, RunNotFoundError
from filetools.facade.transactions.results import TransactionResult
from filetools.models.history import UndoResult
from filetools.servers.http.callers import Caller
from filetools.servers.http.described import failures
from filetools.servers.http.operations import OperationList, UndoOrder
from filetools.servers.http.routes.runs import require_right
from filetools.servers.http.shared import Calling

router: Final = APIRouter(tags=["changes"])


@router.post("/v1/transactions", response_model=TransactionResult, responses=failures(404, 409, 423, 504, 507))
async def transact(given: OperationList, caller: Calling) -> Response:
    """Do a list of operations together, all or nothing.

    Each sees what the ones before it have made. What others changed meanwhile is merged with texts that are written; what
    overlaps is EDIT_CONFLICT, and nothing is changed.
    """
    async with caller.files.transaction() as files:
        for operation in given.operations:
            await operation.perform(files)
    return JSONResponse(files.result.to_dict())


@router.post("/v1/undo", response_model=UndoResult, responses=failures(404, 409, 423, 504, 507))
async def undo(given: UndoOrder, caller: Calling) -> Response:
    """Take back changes of the caller: its last one, those of one call, of a path, or since a number. All or nothing.

    With `run`, or with the `session` of one, that run of an agent is taken back whole. People take back any, agents those of
    agents that came the same way.
    """
    if given.run is not None or given.session is not None:
        return JSONResponse((await _undo_run(given, caller)).to_dict())
    actor = caller.actor
    # A call has one conversation; what says less is meant within this one, where others may be going on.
    whose = replace(actor, session=None) if given.call_id is not None else actor
    result = await caller.files.undo(
        call=given.call_id,
        since=given.since,
        path=given.path,
        actor=whose,
        dry_run=given.dry_run,
        partial=given.partial,
    )
    return JSONResponse(result.to_dict())


async def _undo_run(given: UndoOrder, caller: Caller) -> UndoResult:
    if given.model_dump(exclude={"dry_run", "partial"}, exclude_none=True).keys() not in ({"run"}, {"session"}):
        raise InvalidArgumentError("A run is named alone, by run or by session")
    runs = caller.files.runs
    run = await (runs.of_session(given.session) if given.session is not None else runs.get(given.run or ""))
    if run is None:
        raise RunNotFoundError(given.session or "")
    require_right(caller, run)
    return await caller.files.undo(run=run.id, dry_run=given.dry_run, partial=given.partial)
