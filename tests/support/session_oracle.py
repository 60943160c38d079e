"""The reader of session logs that their writer ships, `claude-agent-sdk`, asked in a process of its own.

`make oracle` installs it, without what it depends on and without the program that its wheels carry. Only its module of
sessions is imported, which wants nothing but anyio.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests.support.declared import REPOSITORY

FOLDER: Final = "FILETOOLS_ORACLE"
"""Variable that names the folder it is installed in; where it is set, the tests that need it do not skip."""
INSTALLED: Final = Path(os.environ.get(FOLDER, REPOSITORY / ".venv" / "oracle")).resolve()
_PACKAGE: Final = "claude_agent_sdk"


class OracleFailedError(Exception):
    """Raised when the oracle raised; names the class of its error."""


class Oracle:
    """A process that answers questions about logs. Lives until `serving` ends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, logs: Path, function: str, *arguments: str) -> Any:
        """Return what a function of the oracle returns, as JSON.

        Args:
            logs: The folder of all projects, called "projects".
            function: Such as "list_sessions".
            arguments: Of that function.

        Raises:
            OracleFailedError: It raised.
        """
        assert logs.name == "projects", "the oracle knows no other name"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(logs.parent), function, *arguments]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise OracleFailedError(answer["error"])
        return answer["value"]


def is_missing() -> bool:
    """Whether it is neither installed nor asked for."""
    return not (INSTALLED / _PACKAGE).is_dir() and not os.environ.get(FOLDER)


@contextmanager
def serving() -> Iterator[Oracle]:
    """Start the oracle, and end it."""
    assert (INSTALLED / _PACKAGE).is_dir(), f"claude-agent-sdk is not in {INSTALLED}; make oracle installs it"
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.session_oracle"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        try:
            yield Oracle(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _imported() -> ModuleType:
    # Its package imports all that it depends on; an empty one in its stead lets the module of sessions be imported alone.
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(INSTALLED / _PACKAGE)]
    sys.modules[_PACKAGE] = package
    return importlib.import_module(f"{_PACKAGE}._internal.sessions")


def _answer(sessions: ModuleType, configuration: str, function: str, *arguments: str) -> dict[str, Any]:
    os.environ["CLAUDE_CONFIG_DIR"] = configuration
    try:
        return {"value": getattr(sessions, function)(*arguments)}
    except Exception as error:  # noqa: BLE001 - which errors the oracle raises is what is asked
        return {"error": type(error).__name__}


if __name__ == "__main__":
    module = _imported()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(module, *json.loads(line)), default=dataclasses.asdict) + "\n")
        sys.stdout.flush()
