"""Running agents: each from the beginning of its run to its end, whatever ends it, and so many at once."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from filetools.errors import AbortedError, AgentFailedError, FileToolsError, TooManyRunsError
from filetools.facade.facade import FileToolsFacade
from filetools.sessions.agent_process import AgentLimits, AgentProcess, AgentResult
from filetools.sessions.discovery import Discovery, metadata
from filetools.sessions.log import LogEntry, parse_entry
from filetools.sessions.runs import Run, RunStatus
from filetools.settings import MIB, environment_of_run

logger = logging.getLogger(__name__)

MOST_RUNS: Final = 20
MOST_STEPS: Final = 200
_LONGEST_SESSION: Final = 200
_MOST_KEPT_BYTES: Final = 5 * MIB
"""Of the messages with tool calls and results; what a run has changed is known without them."""


class AgentRun(AsyncIterator[Mapping[str, Any]]):
    """A running agent, and its messages in stream-json, which one task takes; `AgentRuns.start` gives it and ends it."""

    def __init__(self, files: FileToolsFacade, beginning: asyncio.Task[Run], max_steps: int) -> None:
        self.failure: str | None = None
        """Why the agent failed, when it is finished."""
        self._files, self._beginning, self._max_steps = files, beginning, max_steps
        self._steps = 0
        self._process: AgentProcess | None = None
        self._ending: asyncio.Task[dict[str, Any]] | None = None
        self._turn: object = None
        self._session = ""
        self._kept, self._kept_bytes = list[bytes](), 0
        self._is_stopped = self._is_read = False

    @property
    def run(self) -> Run:
        """The run as it was begun."""
        return self._beginning.result()

    @property
    def is_launched(self) -> bool:
        """Whether its program has been started."""
        return self._process is not None

    async def launch(self, command: str | Sequence[str], prompt: str, limits: AgentLimits | None, model: str) -> None:
        """Start the program once the run has begun; for `AgentRuns`."""
        run = await asyncio.shield(self._beginning)
        if self._is_stopped:
            raise AbortedError("The run")
        try:
            self._process = AgentProcess.start(
                command, cwd=self._files.root_paths[-1], environment=environment_of_run(run.session, model),
                prompt=prompt.encode(errors="replace"), limits=limits,
            )  # fmt: skip
        except AgentFailedError as error:
            self.failure = error.message
            raise

    async def __anext__(self) -> Mapping[str, Any]:
        """Return the next message."""
        assert self._process is not None
        async for line in self._process:
            entry = parse_entry(line)
            if entry is None:  # no message
                continue
            if not self._session and isinstance(named := entry.raw.get("session_id"), str):
                self._session = named[:_LONGEST_SESSION]
            if not self._begins_turn(entry, line) or await self._note_turn(self._process):
                return entry.raw
        self._is_read = True
        raise StopAsyncIteration

    def _begins_turn(self, entry: LogEntry, line: bytes) -> bool:
        kinds, raw = {block.get("type") for block in entry.blocks}, entry.raw
        # The result is kept as well: a run that kept no call is known by it to have called nothing.
        if (entry.type == "result" or not kinds.isdisjoint(("tool_use", "tool_result"))) and self._kept_bytes + len(
            line
        ) <= _MOST_KEPT_BYTES:
            self._kept.append(line)
            self._kept_bytes += len(line)
        if entry.type == "result" and raw.get("is_error") is True:
            self.failure = str(raw.get("result") or raw.get("subtype") or "it does not say why")
        # Agents that this one has started have turns of their own.
        if entry.type != "assistant" or "tool_use" not in kinds or raw.get("parent_tool_use_id"):
            return False
        before, self._turn = self._turn, entry.message.get("id")
        return before is None or before != self._turn  # calls of one turn may come one by one

    async def _note_turn(self, process: AgentProcess) -> bool:
        """Note that a turn begins; whether it may."""
        if self._steps >= self._max_steps:
            self.failure = f"it was stopped after Step {self._steps}/{self._max_steps}"
            await process.stop()
            return False
        self._steps += 1
        try:
            await self._files.runs.note_turn(self.run.id, f"Step {self._steps}/{self._max_steps}")
        except FileToolsError as error:  # as on a full disk, which costs the number of a turn and not the answer
            logger.warning("a turn of %s was not noted: %s", self.run.id, error)
        return True

    async def finish(self) -> dict[str, Any]:
        """End the run, and return its metadata. If its last message was not taken, the agent is stopped and the run cancelled.

        Who is cancelled meanwhile has it done all the same.
        """
        self._ending = self._ending or asyncio.create_task(self._end(), name="filetools run")
        return await asyncio.shield(self._ending)

    async def stop(self) -> None:
        """Stop the agent; returns when its run has ended as cancelled."""
        self._is_stopped, self.failure = True, "it was stopped"
        if self._process is not None:
            await self._process.stop()
        await self.finish()

    async def _end(self) -> dict[str, Any]:
        await asyncio.wait([self._beginning])
        if self._beginning.exception() is not None:
            return {}  # whoever wanted it to begin is told
        code: int | None = None
        self._is_stopped |= not (self._is_read or self.failure)
        if self._process is not None:
            if self._is_stopped or not self._is_read:
                await self._process.stop()
            result = await self._process.result()
            code, self.failure = result.exit_code, self.failure or _failure(result)
        status: RunStatus = "cancelled" if self._is_stopped else "failed" if self.failure else "completed"
        kept = b"\n".join(self._kept)
        try:
            return await self._files.runs.finish(
                self.run.id, status=status, exit_code=code, messages=kept, agent_session=self._session
            )
        except FileToolsError as error:  # as on a full disk: the answer must not be lost with it
            logger.exception("the end of %s was not noted", self.run.id)
            found = Discovery(error=error.message)
            root = self._files.root_paths[-1]
            return metadata(found, session=self.run.session, root=root, agent_session=self._session)


class AgentRuns:
    """The agents that run by one command. Lives as long as a server, and is closed before its workspaces.

    Args:
        command: What starts one: its words, or a line that is split into words as a shell does.
        limit: Most at once.
        max_steps: Most turns with tool calls of one; then it is stopped.
        limits: Of the time and the lines of one.
    """

    def __init__(
        self, command: str | Sequence[str], *, limit: int = MOST_RUNS, max_steps: int = MOST_STEPS,
        limits: AgentLimits | None = None,
    ) -> None:  # fmt: skip
        self._command, self._limit, self._max_steps, self._limits = command, limit, max_steps, limits
        self._agents: set[AgentRun] = set()

    @asynccontextmanager
    async def start(
        self, files: FileToolsFacade, prompt: str, *, model: str = "", **options: Any
    ) -> AsyncIterator[AgentRun]:
        """Begin a run and start its agent; when the block is left, in whatever way, the run has ended and the agent is gone.

        Args:
            files: The workspace, for whoever the run is.
            prompt: What the agent reads.
            model: What it finds as `FILETOOLS_MODEL`; "" leaves that as it is.
            options: As `files.runs.begin` takes them: session, outputs, checkpoint.

        Raises:
            TooManyRunsError: As many run as may.
            AgentFailedError: There is no such program.
            AbortedError: It was stopped before it began.
        """
        if len(self._agents) >= self._limit:
            raise TooManyRunsError(self._limit)
        shown = self._command if isinstance(self._command, str) else shlex.join(self._command)
        beginning = asyncio.create_task(files.runs.begin(command=shown, prompt=prompt, **options))
        agent = AgentRun(files, beginning, self._max_steps)
        self._agents.add(agent)
        try:
            await agent.launch(self._command, prompt, self._limits, model)
            yield agent
        finally:
            ending = asyncio.create_task(agent.finish())
            ending.add_done_callback(lambda _: self._agents.discard(agent))
            await asyncio.shield(ending)

    @property
    def active(self) -> dict[str, AgentRun]:
        """The agents that run, by the ids of their runs."""
        return {agent.run.id: agent for agent in self._agents if agent.is_launched}

    async def stop(self, run_id: str) -> bool:
        """Stop an agent; returns when its run has ended, or False if none of that id runs here."""
        agent = self.active.get(run_id)
        if agent is not None:
            await agent.stop()
        return agent is not None

    async def aclose(self) -> None:
        """Stop all agents; returns when their runs have ended."""
        await asyncio.gather(*(agent.stop() for agent in self._agents), return_exceptions=True)


def _failure(result: AgentResult) -> str | None:
    if not (result.exit_code or result.timed_out):
        return None
    last = result.errors.strip().rpartition("\n")[2]
    ended = "it took too long" if result.timed_out else f"it ended with {result.exit_code}"
    return f"{ended}: {last}" if last else ended
