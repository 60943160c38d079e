"""The process that matches what might take for ever: started when first needed, killed when it takes too long."""

from __future__ import annotations

import struct
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from filetools.errors import AbortedError, CallTimeoutError, InternalError
from filetools.search.contents import spans

LOOK_SECONDS: Final = 0.05
"""How often it is looked whether a text takes too long, or the caller wants to stop."""


class MatchingProcess:
    """A process that matches one expression against texts. Lives for one search; used by one thread.

    Args:
        expression: For `re`.
        flags: For `re`.
        limit_seconds: Longest time for one text.
        abort: Whether the caller wants to stop.
    """

    def __init__(
        self, expression: str, flags: int, *, limit_seconds: float, abort: Callable[[], bool] | None = None
    ) -> None:
        self._limit_seconds = limit_seconds
        self._abort = abort
        self._deadline = time.monotonic() + max(limit_seconds, 10)
        self._is_aborted = False
        self._is_late = False
        self._closed = threading.Event()
        # Neither the environment nor site packages have a say in what it imports.
        command = (sys.executable, "-I", "-S", str(Path(spans.__file__)))
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._watch = threading.Thread(target=self._look_after, name="filetools matching", daemon=True)
        self._watch.start()
        source = expression.encode("utf-8", "surrogatepass")
        try:
            self._write(struct.pack(">IQ", flags, len(source)), source)
            self._read(1, "the pattern")
        except BaseException:
            self.close()  # nobody else can: whoever wanted it does not get it
            raise
        self._deadline = 0.0

    def find(self, text: str, what: str, *, multiline: bool, most: int, every: bool = False) -> list[int]:
        """Return the spans of a text, see `find_spans`.

        Raises:
            CallTimeoutError: It took too long; names `what`. The process is gone then.
            AbortedError: The caller wants to stop.
        """
        content = text.encode("utf-8", "surrogatepass")
        self._deadline = time.monotonic() + self._limit_seconds
        self._write(spans.HEADER.pack(len(content), most, multiline, every), content)
        (size,) = spans.LENGTH.unpack(self._read(spans.LENGTH.size, what))
        found = array("Q", self._read(size, what)).tolist()
        self._deadline = 0.0
        return found

    def close(self) -> None:
        """End the process."""
        self._closed.set()
        self._process.kill()
        self._watch.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait()

    def _write(self, *parts: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it was killed, and reading its answer says why
            for part in parts:
                self._process.stdin.write(part)
            self._process.stdin.flush()

    def _read(self, size: int, what: str) -> bytes:
        assert self._process.stdout is not None
        found = self._process.stdout.read(size)
        if len(found) == size:
            return found
        if self._is_aborted:
            raise AbortedError("The search")
        if self._is_late:
            error = CallTimeoutError(f"Matching the pattern against {what}", self._limit_seconds)
            error.suggested_action = "Make the pattern simpler: repeated groups in repeated groups take longest."
            raise error
        raise InternalError("The matching process ended unexpectedly")

    def _look_after(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            deadline = self._deadline  # read once: the other thread may take it away at any moment
            self._is_late = 0.0 < deadline < time.monotonic()
            self._is_aborted = self._abort is not None and self._abort()
            if self._is_late or self._is_aborted:
                self._process.kill()
                return
