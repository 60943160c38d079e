"""The command line as people and scripts start it: processes with pipes, or with a terminal of their own."""

from __future__ import annotations

import atexit
import json
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.support import command_server

COMMAND = (sys.executable, "-m", "filetools")
PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a process ended, and what it wrote."""

    code: int
    raw: bytes
    error: str

    @property
    def text(self) -> str:
        return self.raw.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        """The one JSON value written."""
        (line,) = self.lines
        return json.loads(line)


class Running:
    """A process under way; lives as long as its `with` block."""

    def __init__(self, output: IO[bytes], error: IO[bytes], report: IO[bytes]) -> None:
        self.output = output
        self.error = error
        self._report = report
        self.pid = int(report.readline())

    def interrupt(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        os.kill(self.pid, signal.SIGINT)
        return self.wait()

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so that the process brings about."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "it never happened"
            assert not select.select([self._report], [], [], 0.005)[0], "the process has ended"

    def until_it_reads(self) -> None:
        """Wait until the process waits for its standard input."""
        # proc_pid_syscall(5): number of the call, then its arguments; a read of standard input has 0 for the first.
        self.until(lambda: Path(f"/proc/{self.pid}/syscall").read_text().split()[1:2] == ["0x0"])

    def wait(self) -> int:
        """Return the exit code."""
        ready, _, _ = select.select([self._report], [], [], PATIENCE_SECONDS)
        assert ready, "the process does not end"
        return int(self._report.readline())

    def kill(self) -> None:
        """End it if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Server:
    """Starts processes through `command_server`; lives as long as a test session."""

    def __init__(self) -> None:
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.address = str(Path(tempfile.mkdtemp(prefix="commands-")) / "socket")
        """Where requests are taken, too, from whoever has not inherited the descriptor."""
        with other, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self.address)
            listener.listen()
            numbers = (other.fileno(), listener.fileno())
            command = (sys.executable, "-m", command_server.__name__, *map(str, numbers))
            self._process = subprocess.Popen(command, pass_fds=numbers)

    @property
    def descriptor(self) -> int:
        """What a child inherits that sends requests by itself; see `command_client`."""
        return self._connection.fileno()

    def start(self, request: Mapping[str, Any], streams: tuple[int, int, int], report: int) -> None:
        """Start a process; the report gets a line with its id, and one with its exit code."""
        socket.send_fds(self._connection, [json.dumps(request).encode()], [*streams, report])

    def close(self) -> None:
        self._connection.close()
        shutil.rmtree(Path(self.address).parent)
        self._process.wait(PATIENCE_SECONDS)


@cache
def shared_server() -> Server:
    """Return the one server of this process of tests, which ends with it."""
    server = Server()
    atexit.register(server.close)
    return server


class CommandLine:
    """Runs `filetools` in a folder, untouched by the settings of the machine."""

    def __init__(self, server: Server, folder: Path, home: Path) -> None:
        self._server = server
        self.folder = folder
        unwanted = ("FILETOOLS_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "XDG_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        # The same configuration folder as that of the test itself, so that both open one state.
        self.environment["XDG_CONFIG_HOME"] = os.environ["XDG_CONFIG_HOME"]
        self.environment |= {"HOME": str(home), "USER": "ann", "LOGNAME": "ann", "TERM": "xterm-256color"}

    def __call__(
        self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None, more: Mapping[str, str] | None = None
    ) -> Ran:
        given, written, failed = (os.memfd_create(name) for name in ("stdin", "stdout", "stderr"))
        os.write(given, stdin)
        os.lseek(given, 0, os.SEEK_SET)
        source, report = os.pipe()
        self._server.start(self._request(arguments, cwd, more), (given, written, failed), report)
        os.close(report)
        with open(source, "rb", buffering=0) as told, open(written, "rb") as output, open(failed, "rb") as error:
            os.close(given)
            code = Running(output, error, told).wait()
            for file in (output, error):
                file.seek(0)
            return Ran(code=code, raw=output.read(), error=error.read().decode())

    @contextmanager
    def started(self, *arguments: str, has_input: bool = False) -> Iterator[Running]:
        """Start it with pipes, and end it with the block; with `has_input`, its input is open and stays empty."""
        (source, report), (output, written), (error, failed) = os.pipe(), os.pipe(), os.pipe()
        given, kept = os.pipe() if has_input else (os.open(os.devnull, os.O_RDONLY), None)
        self._server.start(self._request(arguments), (given, written, failed), report)
        for descriptor in (given, report, written, failed):
            os.close(descriptor)
        with open(source, "rb", buffering=0) as told, open(output, "rb") as out, open(error, "rb") as err:
            running = Running(out, err, told)
            try:
                yield running
            finally:
                running.kill()
                if kept is not None:
                    os.close(kept)

    def at_terminal(self, *arguments: str, answer: str = "") -> Ran:
        """Run it at a terminal; the answer is typed ahead. What both streams wrote comes back as one text."""
        master, slave = pty.openpty()
        os.write(master, answer.encode())
        source, report = os.pipe()
        self._server.start(self._request(arguments), (slave, slave, slave), report)
        for descriptor in (slave, report):
            os.close(descriptor)
        written = b""
        with suppress(OSError):  # a terminal whose other side is closed ends with EIO
            while part := os.read(master, 65536):
                written += part
        os.close(master)
        with open(source, "rb", buffering=0) as told, open(os.devnull, "rb") as nothing:
            code = Running(nothing, nothing, told).wait()
        return Ran(code=code, raw=written.replace(b"\r\n", b"\n"), error="")

    def as_module(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `python -m filetools`, imports and all, as a child of this process."""
        return subprocess.Popen(
            (*COMMAND, *arguments), cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def _request(
        self, arguments: tuple[str, ...], cwd: Path | None = None, more: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        environment = self.environment | dict(more or {})
        return {"arguments": arguments, "folder": str(cwd or self.folder), "environment": environment}
