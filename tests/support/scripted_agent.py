"""An agent that does what its prompt says: a line of Python, with what stands here at hand. It speaks stream-json."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Final

SCRIPT: Final = "#script\n"
"""What stands between the rest of a prompt and its script."""


def tell(**message: Any) -> None:
    """Print one message."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def say(*texts: str) -> None:
    """Say something, in blocks."""
    tell(type="assistant", message={"content": [{"type": "text", "text": text} for text in texts]})


def call(tool: str, **given: Any) -> None:
    """Tell that a tool is called, and that it has done it."""
    tell(type="assistant", message={"id": f"m-{tool}", "content": [
        {"type": "tool_use", "id": f"t-{tool}", "name": tool, "input": given}
    ]})  # fmt: skip
    tell(type="user", message={"content": [{"type": "tool_result", "tool_use_id": f"t-{tool}", "content": "ok"}]})


def end(text: str = "", **more: Any) -> None:
    """Tell the result."""
    tell(**{"type": "result", "subtype": "success", "is_error": False, "result": text, **more})


def write(path: str, text: str) -> None:
    """Write a file as a shell does."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def filetools(*arguments: str, text: str = "") -> None:
    """Run the command line, as the session that the environment names."""
    subprocess.run(
        [sys.executable, "-m", "filetools", *arguments], input=text.encode(), stdout=subprocess.DEVNULL, check=True
    )


def put(address: str, token: str, path: str, text: str) -> None:
    """Write a file over HTTP, in the session that the environment names."""
    headers = {"Filetools-Session": os.environ["FILETOOLS_SESSION"], "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{address}/v1/files/{path}", text.encode(), headers, method="PUT")
    urllib.request.urlopen(request).close()


def wait(gate: str) -> None:
    """Wait until somebody opens a FIFO for writing."""
    os.close(os.open(gate, os.O_RDONLY))


def ignore_the_end() -> None:
    """Take no notice of SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def leave_a_daemon(gate: str) -> None:
    """Leave a process behind, outside of the group and with the pipes open."""
    if os.fork() == 0:
        os.setsid()
        wait(gate)
        os._exit(0)


if __name__ == "__main__":
    prompt = sys.stdin.read()
    exec(prompt.rpartition(SCRIPT)[2])
