"""What the command line decides about a server; no client can."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import Final

from msgspec import Struct, field, structs
from pydantic_core import Url

from filetools.errors import InvalidArgumentError
from filetools.servers.mcp.options import DoorOptions
from filetools.sessions.agent_process import AgentLimits

MIB: Final = 1024 * 1024
_ORIGIN: Final = re.compile(r"https?://[^\s/?#@*\\]+", re.IGNORECASE)


class HttpLimits(Struct, frozen=True, kw_only=True):
    """How much a client may send, and how slowly."""

    body_bytes: int = 4 * MIB
    """Of every body but that of a PUT."""
    upload_bytes: int = 1024 * MIB
    """Of the body of a PUT."""
    held_bytes: int = 256 * MIB
    """Of all bodies together that are in memory, those of PUT aside."""
    header_bytes: int = 64 * 1024
    """Of the first line and all headers together."""
    body_seconds: float = 30.0
    """For a body, beside what `bytes_per_second` allows it."""
    bytes_per_second: int = 16 * 1024
    """Slower bodies than this are given up after `body_seconds`."""
    send_seconds: float = 60.0
    """How long a client may leave unread what it was sent."""


class AgentOptions(Struct, frozen=True, kw_only=True):
    """The agent that a server runs for who asks for it."""

    command: str
    """Its program and arguments, split as by a shell."""
    max_steps: int = 200
    """How many turns with calls of tools it may take."""
    limits: AgentLimits = field(default_factory=AgentLimits)
    """How long it may take for one answer, and how much of it is kept."""

    def __post_init__(self) -> None:
        """Check the command.

        Raises:
            InvalidArgumentError: It has no words, or a quotation without an end.
        """
        try:
            shlex.split(self.command)[0]
        except (ValueError, IndexError) as exc:
            raise InvalidArgumentError(f"{self.command!r} is not a command") from exc

    @property
    def model(self) -> str:
        """Name under which clients find it: that of its program. They may ask for any other, too."""
        return PurePath(shlex.split(self.command)[0]).name


class HttpOptions(Struct, frozen=True, kw_only=True):
    """How one server is built."""

    host: str = "127.0.0.1"
    """Address or name that it listens at."""
    port: int = 8765
    token: str | None = None
    """What callers must know; None asks nobody but for the agent, which only people run then."""
    names: tuple[str, ...] = ()
    """Further names under which clients may call, at any port: those of this machine, or of a proxy before it."""
    origins: tuple[str, ...] = ()
    """Origins whose pages may call, too, such as `https://editor.example`; kept as browsers send them."""
    person: str = "person"
    """Name of whoever logs in."""
    door: DoorOptions = field(default_factory=DoorOptions)
    """What agents are offered over MCP; over HTTP nobody is asked there, and no client is an editor."""
    page: str = "/"
    """Path of the page that a browser is led to once it is logged in."""
    agent: AgentOptions | None = None
    """What runs at `/v1/chat/completions`; None: there is nothing of that name."""
    limits: HttpLimits = field(default_factory=HttpLimits)

    def __post_init__(self) -> None:
        """Check the origins.

        Raises:
            InvalidArgumentError: One of them is not an origin.
        """
        structs.force_setattr(self, "origins", tuple(map(origin_of, self.origins)))


def origin_of(given: str) -> str:
    """Return an origin as browsers send it.

    Args:
        given: Scheme `http` or `https`, host and perhaps port.

    Raises:
        InvalidArgumentError: It is anything else, such as `*` or `null`, which stand for anybody, or has a path.
    """
    try:
        if _ORIGIN.fullmatch(given):
            # The parser of the URL standard: letter case, letters beyond ASCII and the usual port as browsers have them.
            return str(Url(given)).removesuffix("/")
    except ValueError:
        pass
    raise InvalidArgumentError(
        f"{given!r} is not one origin",
        suggested_action="Name each as browsers do, by scheme, host and port alone: 'https://editor.example' or"
        " 'http://localhost:3000'. No path, no wildcard, no 'null'.",
    )
