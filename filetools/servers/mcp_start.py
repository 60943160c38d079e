"""The start of a conversation over MCP on standard input: what every client asks first, answered before anything is loaded.

The official SDK alone takes three times as long to import as the official file server takes to start, and most servers that
a client starts are never called. So the handshake and the list of tools are answered from `mcp_published.json`, to the letter
as the door would. Whatever else comes, comes in another form, or keeps away for `QUIET_SECONDS`, is for the door, which is
loaded then, reads the handshake again, and keeps its answer to it to itself.
"""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from filetools.distribution import installed_version

PUBLISHED: Final = Path(__file__).with_name("mcp_published.json")
"""What the door tells in each dialect; made by `python -m tests.support.reference`, and compared in a test."""
NATIVE: Final = "native"
QUIET_SECONDS: Final = 1.0
"""When a client says nothing for so long, there is time to load the rest before it calls."""
CHUNK_BYTES: Final = 256 * 1024
HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PRESENT_VERSION: Final = "2026-07-28"
_META: Final = "io.modelcontextprotocol/"
_DEFAULT_GROUP: Final = "core"
_EDITOR_GROUP: Final = "editor"
FLAGS: Final = frozenset(("--read-only", "--structured", "--editor"))
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "--tools": (),
    "--dialect": (),
    "--state-dir": (),
    "--mirror": (),
    "--allow-root": (),
    "--permissions": ("allow", "ask", "guarded", "read_only"),
    "--durability": ("commit", "relaxed"),
}
"""The options of the command that are understood here, without and with a value; any other is left to the command line."""


@dataclass(slots=True)
class Beginning:
    """How far a conversation has come before the door takes it over; one for each process."""

    unread: bytes = b""
    """What the door reads first: the handshake again, and what was not answered."""
    answered: set[int | str] = field(default_factory=set)
    """Requests among them whose answer the client has already."""


_beginning: Final = Beginning()
_is_loaded: Final = threading.Event()


def note_loaded() -> None:
    """From now on the end of the input does not end the process: a workspace is being opened."""
    _is_loaded.set()


def take_over() -> Beginning:
    """Return what the door goes on from, once."""
    taken = Beginning(_beginning.unread, _beginning.answered)
    _beginning.unread, _beginning.answered = b"", set()
    return taken


def begin(arguments: Sequence[str]) -> None:
    """Answer what can be answered at once; ends the process if the input ends with nothing left to do.

    Args:
        arguments: Those of `filetools mcp`. What is wrong or unusual in them is left to the command line.
    """
    if os.name != "posix" or not (_is_pipe(0) and _is_pipe(1) and _mode(2)) or find_spec("mcp") is None:
        return
    told = _told(arguments)
    if told is None:
        return
    # As in the door: a handler in Python would wait for the next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    is_idle = _Conversation(told).run()
    if is_idle:
        threading.Thread(target=_end_with_the_input, daemon=True).start()


class _Conversation:
    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told
        self._held = b""
        self._greeting = b""
        self._is_ready = False

    def run(self) -> bool:
        """Answer line by line, until one cannot be answered here or none comes; whether nothing is left to answer."""
        while select.select([0], [], [], QUIET_SECONDS)[0]:
            piece = os.read(0, CHUNK_BYTES)
            if not piece and not self._held:
                os._exit(0)
            self._held += piece
            if not self._answer_lines() or not piece:
                break
        _beginning.unread = self._greeting + self._held
        return not self._held

    def _answer_lines(self) -> bool:
        """Answer all whole lines; whether that was possible."""
        while (end := self._held.find(b"\n") + 1) > 0:
            line = self._held[:end]
            result = self._result(line)
            if result is None:
                return False
            self._held = self._held[end:]
            if result:
                _write(result)
        return True

    def _result(self, line: bytes) -> bytes | None:
        """Return the answer to a line, empty for a notification; None if it is not one that is answered here."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return None
        params, identity = message.get("params", {}), message.get("id")
        if not isinstance(params, dict):
            return None
        if "id" not in message:
            return self._notified(message.get("method"), line)
        if isinstance(identity, bool) or not isinstance(identity, int | str):
            return None
        result = self._asked(message.get("method"), params)
        if result is None:
            return None
        if message["method"] == "initialize":
            self._greeting += line
            _beginning.answered.add(identity)
        return json.dumps({"jsonrpc": "2.0", "id": identity, "result": result}).encode("ascii") + b"\n"

    def _notified(self, method: object, line: bytes) -> bytes | None:
        if method != "notifications/initialized" or not self._greeting or self._is_ready:
            return None
        self._greeting += line
        self._is_ready = True
        return b""

    def _asked(self, method: object, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if method == "initialize":
            version = params.get("protocolVersion")
            if self._greeting or not isinstance(version, str) or not _is_party(params, "clientInfo", "capabilities"):
                return None
            spoken = version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
            return {**self._told["initialize"], "protocolVersion": spoken}
        if params.keys() - {"_meta"}:
            return None
        meta = params.get("_meta", {})
        if self._is_ready:
            is_theirs = isinstance(meta, dict) and _META + "protocolVersion" not in meta
            legacy = {"ping": {}, "tools/list": self._told["tools/list"]}
            return legacy.get(str(method)) if is_theirs else None
        if self._greeting or not isinstance(meta, dict) or meta.get(_META + "protocolVersion") != PRESENT_VERSION:
            return None
        if not _is_party(meta, _META + "clientInfo", _META + "clientCapabilities"):
            return None
        present = {"server/discover": "discover", "tools/list": "present tools/list"}
        return self._told.get(present.get(str(method), ""))


def _told(arguments: Sequence[str]) -> Mapping[str, Any] | None:
    """Return what the door tells with some arguments; None if they are not plain and right."""
    given: dict[str, str] = {}
    words = iter(arguments)
    folders = []
    for word in words:
        if word in FLAGS:
            given[word] = ""
        elif word in VALUES:
            given[word] = next(words, "")
            if VALUES[word] and given[word] not in VALUES[word]:
                return None
        elif word.startswith("-"):
            return None
        else:
            folders.append(word)
    dialect = given.get("--dialect", NATIVE)
    is_several = dialect == "mcp-filesystem"
    if not all(map(os.path.isdir, folders)):
        return None
    if len(folders) != 1 and not (is_several and {"--mirror", "--state-dir"}.isdisjoint(given)):
        return None
    told = json.loads(PUBLISHED.read_bytes()).get(dialect)
    if told is None or (dialect != NATIVE and not {"--structured", "--editor"}.isdisjoint(given)):
        return None
    groups = [name.strip() for name in given.get("--tools", "").split(",") if name.strip()]
    wanted = set(groups or [_DEFAULT_GROUP if dialect == NATIVE else dialect])
    if "--editor" in given:
        wanted.add(_EDITOR_GROUP)
    return _offered(told, wanted, only_reads="--read-only" in given, structured="--structured" in given)


def _offered(
    told: Mapping[str, Any], wanted: set[str], *, only_reads: bool, structured: bool
) -> Mapping[str, Any] | None:
    """Return the answers of a dialect with the wanted tools; None if there is none of a name."""
    rows = told["tools"]
    if wanted - {row["group"] for row in rows} - {row["tool"]["name"] for row in rows}:
        return None
    chosen = [row for row in rows if row["group"] in wanted or row["tool"]["name"] in wanted]
    kept = [row for row in chosen if row["reads"] or not only_reads]
    tools = [row.get("structured", row["tool"]) if structured else row["tool"] for row in kept]
    server = {**told["initialize"]["serverInfo"], "version": installed_version() or "0"}
    present = {"_meta": {_META + "serverInfo": server}}
    return {
        "initialize": {**told["initialize"], "serverInfo": server},
        "discover": {**told["discover"], **present},
        "tools/list": {"tools": tools},
        "present tools/list": {**told["list"], **present, "tools": tools},
    }


def _is_party(told: Mapping[str, Any], info: str, capabilities: str) -> bool:
    """Whether a client tells of itself what the protocol wants."""
    who, can = told.get(info), told.get(capabilities)
    if not isinstance(who, dict) or not isinstance(can, dict):
        return False
    return all(isinstance(who.get(name), str) for name in ("name", "version")) and all(
        isinstance(each, dict) for each in can.values()
    )


def _write(content: bytes) -> None:
    while content:
        try:
            content = content[os.write(1, content) :]
        except BlockingIOError:
            select.select([], [1], [])
        except OSError:  # the client has closed its end
            os._exit(0)


def _end_with_the_input() -> None:
    """End the process, while it still loads, with an input that is closed and has nothing left to read."""
    import fcntl
    import termios

    poller = select.poll()
    poller.register(0, getattr(select, "POLLRDHUP", 0))  # of a socket; that a pipe was closed is always told
    poller.poll()
    left = fcntl.ioctl(0, termios.FIONREAD, bytes(4))
    if not any(left) and not _is_loaded.is_set():
        os._exit(0)


def _is_pipe(descriptor: int) -> bool:
    mode = _mode(descriptor)
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _mode(descriptor: int) -> int:
    """Return the kind of file that a descriptor leads to; 0 if it is closed."""
    try:
        return os.fstat(descriptor).st_mode
    except OSError:
        return 0
