"""Real processes that serve a root over HTTP, and raw sockets to speak with them as no library would."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from tests.support import bearer
from tests.support.declared import REPOSITORY
from tests.support.forked import Forked, forked

START_SECONDS: Final = 60.0


@dataclass(frozen=True)
class HttpServer:
    """One process of `filetools serve`."""

    process: Forked | subprocess.Popen[bytes]
    root: Path
    address: str
    """Such as "http://127.0.0.1:40123"."""
    first_line: str
    token_line: str
    """The second; empty where nobody needs a token."""
    errors: Path
    """What it wrote to standard error."""

    @property
    def host(self) -> str:
        """Host and port, as the header names them."""
        return self.address.removeprefix("http://")

    @property
    def port(self) -> int:
        """Its port."""
        return int(self.address.rpartition(":")[2])

    @property
    def token(self) -> str:
        """The token of its root, as its user reads it."""
        return bearer.TOKENS[self.port]

    def login_code(self) -> str:
        """Return the code that it prints for a person."""
        while (found := re.search(r"/login#code=(\S+)", line := self.line())) is None:
            assert line, self.errors.read_text()
        return found[1]

    def line(self) -> str:
        """Return the next line of its output."""
        return line_of(self.process)

    @contextmanager
    def socket(self, seconds: float = 60.0) -> Iterator[socket.socket]:
        """Connect to it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connected:
            yield connected

    def raw(self, *parts: bytes) -> bytes:
        """Send bytes, and return all that it answers until it closes the connection."""
        with self.socket() as connected:
            for part in parts:
                connected.sendall(part)
            return read_all(connected)

    def stop(self, by: int = signal.SIGTERM) -> None:
        """Tell it to stop, and wait until it has ended."""
        self.process.send_signal(by)
        self.process.wait()


@contextmanager
def http_server(
    root: Path,
    *arguments: str,
    environment: dict[str, str] | None = None,
    limits: dict[str, float] | None = None,
    is_fresh: bool = False,
) -> Iterator[HttpServer]:
    """Serve a root in a process of its own, on a free port, until the block ends.

    Args:
        root: What is served.
        arguments: Further arguments of `filetools serve`.
        environment: Further variables.
        limits: Other limits than the usual ones, which no argument changes.
        is_fresh: Whether the process imports everything itself, instead of being forked from one that has.
    """
    errors = root.parent / f"{root.name}-errors.txt"
    process: Forked | subprocess.Popen[bytes]
    with errors.open("w") as stderr:
        if is_fresh:
            process = start(root, "--port", "0", *arguments, environment=environment, stderr=stderr)
        else:
            module, arguments = (
                ("filetools.__main__", ("serve", str(root), "--port", "0", *arguments))
                if limits is None
                else ("tests.support.http_worker", (str(root), json.dumps(limits)))
            )
            process = forked(
                module, *arguments, folder=root, environment=_environment(environment or {}), stderr=stderr
            )
    try:
        first = line_of(process)
        found = re.search(r"http://\S+", first)
        assert found is not None, (first, errors.read_text())
        token_line = line_of(process) if limits is None else ""
        serving = HttpServer(process, root, found[0], first, token_line, errors)
        bearer.TOKENS.pop(serving.port, None)
        if "--token-file" not in arguments and (named := re.search(r"\$\(cat (.+)\)", token_line)):
            bearer.TOKENS[serving.port] = Path(*shlex.split(named[1])).read_text().strip()
        yield serving
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def start(
    root: Path, *arguments: str, environment: dict[str, str] | None = None, stderr: IO[Any] | int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start `filetools serve ROOT` as a user does, with all its imports."""
    return subprocess.Popen(
        [sys.executable, "-m", "filetools", "serve", str(root), *arguments],
        env=_environment(environment or {}),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, bufsize=0, cwd=root,
    )  # fmt: skip


def refused(root: Path, *arguments: str) -> str:
    """Start a server that must not come up, and return what it says."""
    said = root.parent / f"{root.name}-said.txt"
    with (
        said.open("w") as stderr,
        forked(
            "filetools.__main__", "serve", root, *arguments, folder=root, environment=_environment({}), stderr=stderr
        ) as process,
    ):
        assert (process.line(), process.wait()) == ("", 2)
    return said.read_text()


def _environment(more: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FILETOOLS_")}
    return {**kept, "PYTHONPATH": str(REPOSITORY), "FILETOOLS_DURABILITY": "relaxed", **more}


def line_of(process: Forked | subprocess.Popen[bytes]) -> str:
    """Return the next line of a process's output; empty once it has ended."""
    assert process.stdout is not None
    # Unbuffered: what a buffer holds already, select does not see.
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    assert ready, "it prints nothing"
    return process.stdout.readline().decode()


def read_all(connected: socket.socket) -> bytes:
    """Return all that comes until the other side closes, or breaks the connection off."""
    received = b""
    try:
        while part := connected.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def request(target: str, host: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    """Return a request of the server's user as it goes over the wire; the connection ends after it."""
    port = host.rpartition(":")[2]
    token = bearer.TOKENS.get(int(port)) if port.isdecimal() else None
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""]
    if token is not None:
        lines.insert(2, f"Authorization: Bearer {token}")
    return "\r\n".join(lines).encode("latin-1") + body


def statuses(answer: bytes) -> Sequence[int]:
    """Return the status of each answer in what came over one connection."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def logged_in(server: HttpServer) -> dict[str, str]:
    """Log in, and return the headers of the person's browser."""
    headers = {"Origin": server.address}
    answer = bearer.post(f"{server.address}/login", json={"code": server.login_code()}, headers=headers)
    cookie = str(answer.headers["set-cookie"].partition(";")[0])
    return headers | {"Cookie": cookie, "Filetools-Login": answer.json()["key"]}
