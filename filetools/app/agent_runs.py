"""Runs agents, a limited number at once, and ends each run however its agent ends."""

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
"""Limit for messages with tool calls and results. The changes of a run are recorded without them."""


class AgentRun(AsyncIterator[Mapping[str, Any]]):
    """A running agent; iterate to receive its stream-json messages, in one task. `AgentRuns.start` creates and ends it."""

    def __init__(self, files: FileToolsFacade, beginning: asyncio.Task[Run], max_steps: int) -> None:
        self.failure: str | None = None
        """Why the agent failed; None if it has not."""
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
        """The run as `files.runs.begin` returned it."""
        return self._beginning.result()

    @property
    def is_launched(self) -> bool:
        """True once its program has been started."""
        return self._process is not None

    async def launch(self, command: str | Sequence[str], prompt: str, limits: AgentLimits | None, model: str) -> None:
        """Wait until the run has begun, then start the program; called by `AgentRuns`."""
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
            if entry is None:  # not a message
                continue
            if not self._session and isinstance(named := entry.raw.get("session_id"), str):
                self._session = named[:_LONGEST_SESSION]
            if not self._begins_turn(entry, line) or await self._note_turn(self._process):
                return entry.raw
        self._is_read = True
        raise StopAsyncIteration

    def _begins_turn(self, entry: LogEntry, line: bytes) -> bool:
        kinds, raw = {block.get("type") for block in entry.blocks}, entry.raw
        # Keep the result as well: it shows that a run without recorded calls made none.
        if (entry.type == "result" or not kinds.isdisjoint(("tool_use", "tool_result"))) and self._kept_bytes + len(
            line
        ) <= _MOST_KEPT_BYTES:
            self._kept.append(line)
            self._kept_bytes += len(line)
        if entry.type == "result" and raw.get("is_error") is True:
            self.failure = str(raw.get("result") or raw.get("subtype") or "it does not say why")
        # Subagents count their own turns.
        if entry.type != "assistant" or "tool_use" not in kinds or raw.get("parent_tool_use_id"):
            return False
        before, self._turn = self._turn, entry.message.get("id")
        return before is None or before != self._turn  # the calls of one turn may arrive in separate messages

    async def _note_turn(self, process: AgentProcess) -> bool:
        """Record the beginning of a turn. At the limit, stop the agent instead and return False."""
        if self._steps >= self._max_steps:
            self.failure = f"it was stopped after Step {self._steps}/{self._max_steps}"
            await process.stop()
            return False
        self._steps += 1
        try:
            await self._files.runs.note_turn(self.run.id, f"Step {self._steps}/{self._max_steps}")
        except FileToolsError as error:  # e.g. a full disk: the turn number is lost, the answer must not be
            logger.warning("a turn of %s was not recorded: %s", self.run.id, error)
        return True

    async def finish(self) -> dict[str, Any]:
        """End the run and return its metadata. If its messages were not read to the end, stop the agent and cancel the run.

        If the caller is cancelled, the run is ended all the same.
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
            return {}  # `launch` raises the error
        code: int | None = None
        self._is_stopped |= not (self._is_read or self.failure)
        if self._process is not None:
            if self._is_stopped or not self._is_read:
                await self._process.stop()
            result = await self._process.result()
            if result.left_behind:
                logger.warning("%s left a program behind that keeps its output open; it still runs", self.run.id)
            if result.skipped:
                logger.warning(
                    "%s: messages of its agent that were too long and skipped: %d", self.run.id, result.skipped
                )
            code, self.failure = result.exit_code, self.failure or _failure(result)
        status: RunStatus = "cancelled" if self._is_stopped else "failed" if self.failure else "completed"
        kept = b"\n".join(self._kept)
        try:
            return await self._files.runs.finish(
                self.run.id, status=status, exit_code=code, messages=kept, agent_session=self._session
            )
        except FileToolsError as error:  # e.g. a full disk: the answer must not be lost
            logger.exception("the end of %s was not recorded", self.run.id)
            found = Discovery(error=error.message)
            root = self._files.root_paths[-1]
            return metadata(found, session=self.run.session, root=root, agent_session=self._session)


class AgentRuns:
    """The agents that a server runs with one command. The server closes it before its workspaces.

    Args:
        command: The command, as a list of words or as a line that is split the way a shell does.
        limit: Maximum number of agents at once.
        max_steps: Maximum number of turns with tool calls; an agent that exceeds it is stopped.
        limits: Limits on an agent's running time and line length.
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
        """Begin a run and start its agent. Leaving the block, even by an exception, stops the agent and ends the run.

        Args:
            files: The workspace, as the actor who owns the run.
            prompt: The agent's standard input.
            model: The value of `FILETOOLS_MODEL` for the agent; "" leaves the variable unchanged.
            options: Passed to `files.runs.begin`: session, outputs, checkpoint.

        Raises:
            TooManyRunsError: The limit is reached.
            AgentFailedError: The program cannot be started.
            AbortedError: The agent was stopped before it began.
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
        """The running agents by run ID."""
        return {agent.run.id: agent for agent in self._agents if agent.is_launched}

    async def stop(self, run_id: str) -> bool:
        """Stop an agent and wait until its run has ended. Return False if no agent with that run ID is running here."""
        agent = self.active.get(run_id)
        if agent is not None:
            await agent.stop()
        return agent is not None

    async def aclose(self) -> None:
        """Stop all agents and wait until their runs have ended."""
        await asyncio.gather(*(agent.stop() for agent in self._agents), return_exceptions=True)


def _failure(result: AgentResult) -> str | None:
    if not (result.exit_code or result.timed_out):
        return None
    last = result.errors.strip().rpartition("\n")[2]
    ended = "it took too long" if result.timed_out else f"it ended with {result.exit_code}"
    return f"{ended}: {last}" if last else ended
