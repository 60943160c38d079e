"""Runs of agents on a workspace: begin and finish them, and report their changes from the journal."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from filetools.changes.parts import Parts
from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.reading.feed import Feed, number_of
from filetools.history.checkpoints import PREFIX
from filetools.history.selection import MOST_NUMBER
from filetools.journal.records import RecordFilter
from filetools.models.records import DIRECTORY_REMOVALS, ChangeRecord
from filetools.paths.names import require_printable
from filetools.sessions.agent_messages import tool_calls
from filetools.sessions.discovery import Discovery, RunScope, from_records, metadata
from filetools.sessions.log import entries_of
from filetools.sessions.runs import Run, Runs, RunStatus, new_run_id
from filetools.settings import session_name

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.journal.checkpoints import SnapshotRow

logger = logging.getLogger(__name__)

LONGEST_SESSION: Final = 120


class RunCalls:
    """The runs of a workspace, for one actor. Blocking work runs in a worker thread."""

    def __init__(self, parts: Parts, feed: Feed, files: FileToolsFacade) -> None:
        self._parts = parts
        self._feed = feed
        self._files = files
        self._runs = runs_of(parts)

    async def begin(
        self,
        *,
        command: str = "",
        prompt: str = "",
        session: str | None = None,
        outputs: Sequence[str] = ("claudedocs",),
        checkpoint: bool = True,
    ) -> Run:
        """Begin a run: look at the tree, make an automatic checkpoint, and record the start of an agent.

        Args:
            command: The command, for people to read.
            prompt: The prompt; the first 200 characters are kept.
            session: The session whose changes belong to the run; by default the run's id.
            outputs: Folders, relative to the root, where the agent was told to write; `{run}` is replaced by the run's id.
            checkpoint: True to make a checkpoint first.

        Raises:
            InvalidArgumentError: A run of that session has not ended, the session's name is empty or too long, or a folder
                is outside the workspace.
        """
        if session is not None:
            session = session_name(session)
            # Interfaces truncate longer names, so their changes would belong to another session.
            if not 1 <= len(session) <= LONGEST_SESSION:
                raise InvalidArgumentError(f"The name of a session has 1 to {LONGEST_SESSION} characters")
            require_printable("The name of a session", session)
        run_id = new_run_id(time.time())
        folders = [str(self._parts.workspace.resolve(each.replace("{run}", run_id))) for each in outputs]
        saved = await self._checkpoint(run_id) if checkpoint else None
        if saved is None:
            await self._files.look()
        first = await self._feed.position()
        begin = partial(
            self._runs.begin, run_id, self._files.actor, first=first, session=session, command=command, prompt=prompt,
            outputs=folders, checkpoint=saved,
        )  # fmt: skip
        return await self._parts.workers.run(begin)

    async def _checkpoint(self, run_id: str) -> str | None:
        try:
            return (await self._files.checkpoint(f"{PREFIX}before {run_id}", automatic=True)).name
        except FileToolsError as error:
            # A run can be undone without a checkpoint.
            logger.warning("no checkpoint was made before %s: %s", run_id, error)
            return None

    async def note_turn(self, run_id: str, step: str = "") -> None:
        """Record that the next turn of a run begins, with its progress, such as "Step 3/200"."""
        await self._parts.workers.run(partial(self._runs.note_turn, run_id, step))

    async def finish(
        self,
        run_id: str,
        *,
        status: RunStatus = "completed",
        exit_code: int | None = None,
        messages: bytes = b"",
        agent_session: str = "",
    ) -> dict[str, Any]:
        """End a run and return its metadata, which reports what could not be determined instead of raising.

        Args:
            run_id: Its id.
            status: How it ended.
            exit_code: Exit code of its process.
            messages: The agent's output as JSON lines, which shows which tool made which change; kept within the retention.
            agent_session: The agent's own name of its session.

        Raises:
            RunNotFoundError
        """
        last = None
        with suppress(FileToolsError):
            await self._files.look()
        with suppress(FileToolsError):
            last = await self._feed.position()
        alter = partial(
            self._runs.alter, run_id, status=status, exit_code=exit_code, ended=time.time(), last=last,
            agent_session=agent_session, messages=messages,
        )  # fmt: skip
        run = await self._parts.workers.run(alter)
        found = await self._discovery(run, messages)
        if found.foreign:
            await self._parts.workers.run(partial(self._runs.alter, run_id, foreign=list(found.foreign)))
        return self._metadata_of(run, found)

    async def list(self, limit: int = 50) -> Sequence[Run]:
        """Return the newest runs, newest first."""
        return (await self._parts.workers.run(self._runs.list))[:limit]

    async def get(self, run_id: str) -> Run:
        """Return a run.

        Raises:
            RunNotFoundError
        """
        return await self._parts.workers.run(partial(self._runs.get, run_id))

    async def of_session(self, session: str) -> Run | None:
        """Return the newest run of a session, or None."""
        return await self._parts.workers.run(partial(self._runs.of_session, session))

    async def metadata(self, run_id: str) -> dict[str, Any]:
        """Return the metadata of a run, as `finish` does; for a run that has not ended, so far.

        Raises:
            RunNotFoundError
        """
        run, messages = await self.get(run_id), b""
        if run.messages is not None:
            with suppress(FileToolsError):
                messages = await self._parts.workers.run(partial(self._parts.journal.contents.get, run.messages))
        return self._metadata_of(run, await self._discovery(run, messages))

    async def _discovery(self, run: Run, messages: bytes) -> Discovery:
        """Return the changes of a run according to the journal, or the error that prevented it."""
        try:
            return await self._parts.workers.run(partial(self._found, run, messages))
        except FileToolsError as error:
            logger.exception("the changes of %s could not be determined", run.id)
            return Discovery(error=error.message)

    def _found(self, run: Run, messages: bytes) -> Discovery:
        records = self._records(run)
        concurrent = tuple(each.outputs for each in self._runs.list() if run.lived_beside(each))
        scope = RunScope(
            session=run.session,
            outputs=() if run.has_died else run.outputs,
            others=(*concurrent, ()) if run.has_died else concurrent,
            roots=self._parts.workspace.spellings,
        )
        # The records of folders do not name the files in them.
        has_folders = any(record.operation in DIRECTORY_REMOVALS for record in records)
        before = self._tree_before(run) if has_folders else {}
        calls = [] if run.has_died else tool_calls(entries_of(messages))
        found = from_records(records, scope, calls, before=before, turns=run.turns, facts=self._facts_of)
        # Only with messages a count of 0 means that the agent called no tool.
        return replace(found, calls=sum(call.has_written for call in calls)) if messages else found

    def _facts_of(self, path: str) -> tuple[int, float] | None:
        with suppress(FileToolsError):
            stat = self._parts.store.stat(self._parts.workspace.resolve(path))
            return None if stat is None or stat.type != "file" else (stat.size, stat.modified_ns / 1e9)
        return None

    def _tree_before(self, run: Run) -> dict[str, tuple[str, int | None]]:
        """Return version and size of each file at the start of a run; empty if its checkpoint is not kept."""
        found = self._parts.journal.checkpoints.snapshot(run.checkpoint) if run.checkpoint else None
        rows: Mapping[str, SnapshotRow] = found[1] or {} if found is not None else {}
        return {row.path: (row.version or "", row.size) for row in rows.values() if row.kind == "file"}

    def _records(self, run: Run) -> Sequence[ChangeRecord]:
        """Return all changes by anybody during a run, oldest first."""
        journal, first, last = self._parts.journal, number_of(run.first), self._runs.last_of(run)
        if not run.first.startswith(f"{journal.epoch}:") or 0 < first < journal.positions().forgotten:
            raise InvalidArgumentError(
                f"The journal was rolled back or pruned, and has lost changes of the run {run.id}"
            )
        wanted = RecordFilter(since=first + 1, until=None if last is None else number_of(last), saved=True)
        found = journal.history.select(wanted, limit=MOST_NUMBER)
        ended = run.ended if run.has_died and run.ended is not None else math.inf
        return [record for record in reversed(found) if record.time <= ended or record.actor.kind != "external"]

    def _metadata_of(self, run: Run, found: Discovery) -> dict[str, Any]:
        return metadata(found, session=run.session, root=self._files.root_paths[-1], agent_session=run.agent_session)


def runs_of(parts: Parts) -> Runs:
    """Return the runs of a workspace."""
    return Runs(parts.journal.runs, keep=parts.journal.contents.keep, clock=time.time)
