"""How things stand: what a client has to know before events tell it how they change."""

from __future__ import annotations

from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.live.told import Snapshot, asked
from filetools.tools.call_log import CallLog


async def snapshot(files: FileToolsFacade, log: CallLog) -> Snapshot:
    """Return documents, locks, approvals, runs and mirrors as they are now."""
    status = await files.status()
    return Snapshot(
        documents=status["documents"],
        locks=[{"path": lock.path, "owner": lock.owner, "since": lock.since} for lock in files.held_locks()],
        approvals=[asked(request) for request in await files.approvals()],
        runs=[record.to_dict() for record in log.running()],
        mirror=status["mirrors"],
    )
