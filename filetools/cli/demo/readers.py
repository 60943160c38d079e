"""A reader that looks at the files all the while, past filetools, as any program would: does it ever see half a write?"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from filetools.cli.demo.marks import is_whole

PAUSE_SECONDS: Final = 0.001


class Reader:
    """Reads files in a thread of its own between `start` and `stop`, and judges every content it sees.

    Args:
        root: Where they are.
        originals: Each path with its bytes at the start.
    """

    def __init__(self, root: Path, originals: dict[str, bytes]) -> None:
        self._root = root
        self._originals = originals
        self._seen: dict[str, bytes] = dict(originals)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read, name="demo reader", daemon=True)
        self.reads = 0
        self.torn: list[str] = []
        """Paths of reads that found half a file, or none."""

    def start(self) -> None:
        """Begin reading."""
        self._thread.start()

    def stop(self) -> None:
        """End reading; returns when the last read has been judged."""
        self._stopping.set()
        self._thread.join()

    def _read(self) -> None:
        while True:
            for path, original in self._originals.items():
                if self._stopping.wait(PAUSE_SECONDS):
                    return
                self._judge(path, original)

    def _judge(self, path: str, original: bytes) -> None:
        self.reads += 1
        try:
            content = (self._root / path).read_bytes()
        except FileNotFoundError:
            self.torn.append(path)
            return
        if content != self._seen[path] and not is_whole(content, original, path):
            self.torn.append(path)
        self._seen[path] = content
