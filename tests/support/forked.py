"""Python programs as processes without their second of imports: forked from one that has imported already.

    with forked("tests.support.facade_worker", "write", root) as writer:
        assert writer.hear() == {"ready": True}

What they share is one `command_server`, which is started with the first of them.
"""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

from tests.support.declared import REPOSITORY
from tests.support.terminal import shared_server

PATIENCE_SECONDS: Final = 100.0


class Forked:
    """A process that was forked from one which has everything loaded; a `Popen` as far as tests need it.

    It is killed at the end of its `with` block, if it has one.
    """

    def __init__(self, stdin: int, stdout: int, report: int) -> None:
        self._report = open(report, "rb", buffering=0)  # noqa: SIM115 - closed when the process has ended
        self.stdin: IO[bytes] = open(stdin, "wb", buffering=0)  # noqa: SIM115
        self.stdout: IO[bytes] = open(stdout, "rb", buffering=0)  # noqa: SIM115
        self.pid = int(self._report.readline())
        self.returncode: int | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.stdin.close()
        self.stdout.close()

    def ask(self, line: str) -> None:
        """Send it a line."""
        self.stdin.write(f"{line}\n".encode())

    def line(self) -> str:
        """Return its next line, with the end; without one, or empty, once it has ended."""
        while b"\n" not in self._rest:
            assert select.select([self.stdout], [], [], PATIENCE_SECONDS)[0], "it prints nothing"
            part = os.read(self.stdout.fileno(), 65536)
            if not part:
                rest, self._rest = self._rest, b""
                return rest.decode()
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode() + "\n"

    def hear(self) -> dict[str, Any]:
        """Return its next line, which is a JSON object."""
        said: dict[str, Any] = json.loads(self.line())
        return said

    def rest(self) -> Iterator[dict[str, Any]]:
        """Yield all whole lines, each a JSON object, that it still says until it ends or is killed."""
        while (line := self.line()).endswith("\n"):
            yield json.loads(line)

    def send_signal(self, number: int) -> None:
        """Send it a signal if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and is not reported yet
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it if it still runs."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Return the exit code, or None."""
        if self.returncode is None and select.select([self._report], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        """Return the exit code."""
        if self.returncode is None:
            assert select.select([self._report], [], [], PATIENCE_SECONDS)[0], "the process does not end"
            self.returncode = int(self._report.readline())
            self._report.close()
        return self.returncode


def forked(
    module: str,
    *arguments: str | Path,
    folder: Path = REPOSITORY,
    environment: Mapping[str, str] | None = None,
    stderr: IO[Any] | None = None,
) -> Forked:
    """Run a module as the program of a new process.

    Args:
        module: Such as "filetools.__main__"; it is imported anew, what it imports of filetools is there already.
        arguments: What follows the program's name in `sys.argv`.
        folder: Where it works.
        environment: All variables; by default those of this process.
        stderr: Where it writes errors; by default where this process does.
    """
    given = dict(os.environ if environment is None else environment)
    request = {
        "arguments": [*map(str, arguments)], "folder": str(folder), "module": module,
        "environment": {"PYTHONPATH": str(REPOSITORY), **given},
    }  # fmt: skip
    (hears, asks), (output, written), (source, report) = os.pipe(), os.pipe(), os.pipe()
    errors = 2 if stderr is None else stderr.fileno()
    shared_server().start(request, (hears, written, errors), report)
    for descriptor in (hears, written, report):
        os.close(descriptor)
    return Forked(asks, output, source)
