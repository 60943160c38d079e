"""The tool calls in the messages of an agent, whatever shape they come in, and the stream that they come in."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from filetools.errors import SDKMessageParsingError
from filetools.sessions.log import Entry, parse_entry
from filetools.sessions.tool_calls import PATH_KEYS, LoggedCall
from filetools.settings import MIB

logger = logging.getLogger(__name__)

KEY: Final = "x_claude_metadata"
MOST_BYTES: Final = 5 * MIB
_KEPT: Final = (*PATH_KEYS, "mode", "source", "destination")
"""Arguments that tell what becomes of which file; the others may hold whole files."""
_CALL_BYTES: Final = 700
"""What a call takes beside its texts."""


class AgentMessages:
    """Remembers the tool calls in messages, and nothing else of them. Lives as long as its run.

    Args:
        run: Its id, for the log.
        limit: Most bytes to remember; what comes then is left out.
    """

    def __init__(self, *, run: str = "", limit: int = MOST_BYTES) -> None:
        self.count = self.failures = 0
        """How many messages there were, and how many of them could not be read."""
        self.is_cut = False
        """Whether something was left out."""
        self._run, self._left = run, limit
        self._calls: list[LoggedCall] = []
        self._failed: set[str] = set()
        self._cwd, self._turn = "", 0
        self._message_id: Any = None

    def read(self, message: Any) -> None:
        """Take in a message: an object of an SDK, a dictionary, or an entry or a line of a log; an odd one is counted."""
        self.count += 1
        try:
            self._read(_parsed(message))
        except Exception:  # an object of somebody else's may raise anything
            self.failures += 1
            logger.exception("run %s: a message of the agent was skipped", self._run)

    def calls(self) -> list[LoggedCall]:
        """Return the calls of tools, the first one first, each with whether it failed."""
        return [replace(call, is_error=True) if call.id in self._failed else call for call in self._calls]

    def _read(self, message: Any) -> None:
        inner = _get(message, "message")
        body = message if inner is None or isinstance(inner, str) else inner
        content = _get(body, "content")
        cwd = _get(message, "cwd") or _get(_get(message, "data"), "cwd")
        self._cwd = cwd if isinstance(cwd, str) else self._cwd
        if content is None or isinstance(content, str):
            return
        if not isinstance(content, list | tuple):
            raise SDKMessageParsingError(f"The content of a message is no text and no list, but {type(content)}")
        self._failed |= {
            key for block in content if _get(block, "is_error") is True
            if isinstance(key := _get(block, "tool_use_id"), str) and self._has_room(key)
        }  # fmt: skip
        calls = [block for block in content if _is_call(block)]
        if calls and (_get(body, "id") is None or _get(body, "id") != self._message_id):
            self._turn, self._message_id = self._turn + 1, _get(body, "id")
        for block in calls:
            self._take(message, block)

    def _take(self, message: Any, block: Any) -> None:
        name, call_id, given = (_get(block, key) for key in ("name", "id", "input"))
        if not (isinstance(name, str) and isinstance(call_id, str) and isinstance(given, Mapping)):
            raise SDKMessageParsingError(f"A call of the tool {name!r} has no name, no id or no input")
        kept = {key: given[key] for key in _KEPT if isinstance(given.get(key), str)}
        stamp, session = (
            _get(message, "timestamp") or "",
            _get(message, "sessionId") or _get(message, "session_id") or "",
        )
        if self._has_room(name, call_id, *kept.values()):
            call = LoggedCall(
                name=name, id=call_id, input=kept, timestamp=str(stamp), session_id=str(session), cwd=self._cwd,
                turn=self._turn,
            )  # fmt: skip
            self._calls.append(call)

    def _has_room(self, *texts: str) -> bool:
        self._left -= _CALL_BYTES + sum(map(len, texts))
        self.is_cut = self._left < 0
        return not self.is_cut


def _parsed(message: Any) -> Any:
    if isinstance(message, str | bytes):
        message = parse_entry(message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message)
    if message is None or isinstance(message, int | float | list | tuple):
        raise SDKMessageParsingError(f"A message is no object, but {type(message)}")
    return message.raw if isinstance(message, Entry) else message


def _get(source: Any, key: str) -> Any:
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)


def _is_call(block: Any) -> bool:
    kind = _get(block, "type")
    return kind == "tool_use" or (kind is None and _get(block, "name") is not None)


class WrappedStream(AsyncIterator[Any]):
    """The messages of an agent, and `{"type": "x_claude_metadata", …}` after the last one. Lives as long as the stream.

    Args:
        stream: The messages, from an asynchronous iterator or a plain one; it is closed with this one.
        finish: Finds the metadata, once, by the tool calls that were remembered.
        messages: Remembers them.
    """

    def __init__(
        self, stream: AsyncIterable[Any] | Iterable[Any],
        finish: Callable[[AgentMessages], Awaitable[Mapping[str, Any]]], *, messages: AgentMessages | None = None,
    ) -> None:  # fmt: skip
        self.last_metadata: dict[str, Any] | None = None
        """What the last item says, once the stream has ended or was closed."""
        self._stream = aiter(stream) if isinstance(stream, AsyncIterable) else iter(stream)
        self._finish, self._messages = finish, AgentMessages() if messages is None else messages
        self._failure: Exception | None = None

    async def __anext__(self) -> Any:
        """Return the next message; what the stream raises comes after the metadata."""
        if self.last_metadata is not None:
            failure, self._failure = self._failure, None
            raise failure or StopAsyncIteration
        try:
            message = await anext(self._stream) if isinstance(self._stream, AsyncIterator) else next(self._stream)
        except (StopAsyncIteration, StopIteration):
            return await self._last()
        except Exception as error:  # noqa: BLE001  # it is raised behind what the run has made until then
            self._failure = error
            return await self._last()
        except BaseException:
            await self.aclose()
            raise
        self._messages.read(message)
        return message

    async def aclose(self) -> None:
        """Close the source and find out what the run has made; may be called twice."""
        if self.last_metadata is None:
            await self._last()

    async def _last(self) -> dict[str, Any]:
        self.last_metadata = {}
        try:
            if (closed := getattr(self._stream, "aclose", getattr(self._stream, "close", lambda: None))()) is not None:
                await closed
        finally:
            self.last_metadata = dict(await self._finish(self._messages))
        return {"type": KEY, **self.last_metadata}


wrap: Final = WrappedStream
