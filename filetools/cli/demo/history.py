"""The scene of the history: what a person told agents of three versions becomes a handful of rules."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, Final

from filetools.cli.demo.narrator import Narrator

PROJECT: Final = "/srv/shop"
_COLUMNS: Final = 74
_TESTS: Final = "Always run the tests before you say that it works."
_REFUSED: Final = (
    "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    "Never edit generated files, change their template."
)
_AGENT: Final = "You review code. Change nothing, list what you find."
_SAID: Final[dict[str, tuple[str | list[str], ...]]] = {
    "1.0.44": ("Totals are wrong: 0.1 + 0.2 shows 0.30000000000000004.", "y", _TESTS),
    "2.0.31": ("Review the checkout, please.", [_REFUSED], _TESTS.upper(), "/compact"),
    "2.1.30": ("I want small commits,\nwith one change each.", ["Exit code 2"], f"  {_TESTS}"),
}
"""What was said in the session of each version; in brackets, how a call failed."""


def play_history() -> bool:
    """Play it in a temporary folder: commands on logs that are made up there; whether each did what it promises."""
    with tempfile.TemporaryDirectory(prefix="filetools-demo-") as folder:
        return _History(Path(folder)).play()


class _History:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._narrator = Narrator()
        self._holds = True

    def play(self) -> bool:
        self._narrator.heading("What people told their agents becomes rules")
        self._narrator.say(f"Three versions of an agent kept logs of {PROJECT}, which is gone. One line is damaged.")
        self._write_logs()
        before, where = self._logs(), ("--project", PROJECT, "--logs", "logs")
        ids = [line[:10] for line in self._run("list", *where).stdout.splitlines()]
        self._check(ids == ["[30000000]", "[20000000]", "[10000000]"], "all three sessions, the newest first")
        warnings = self._run("collect", *where, "--output", "said.json").stderr
        self._check(warnings.count("warning: ") == 1, "the damaged line costs a warning, and nothing else")
        items = json.loads((self._folder / "said.json").read_bytes())
        told = [item["content"] for item in items if item["sidechain"]]
        self._check((len(items), told) == (9, [_AGENT]), "9 things were said, one of them by an agent to its own agent")
        counts = self._run("analyze", "--input", "said.json").stdout
        self._check(counts.startswith("total: 7\n"), "neither that counts, nor the call that failed by itself")
        rules = self._run("rules", "--input", "said.json").stdout
        self._check(rules.lower().count(_TESTS.lower()) == 1, "what was said three times is one rule")
        self._check("change their template" in rules, "why a call was refused is a rule, too")
        self._check(self._logs() == before, "nothing was written among the logs")
        return self._holds

    def _write_logs(self) -> None:
        for number, (version, said) in enumerate(_SAID.items(), 1):
            session = f"{number}0000000-0000-4000-8000-000000000000"
            place = self._folder / "logs" / PROJECT.replace("/", "-") / session
            common = {
                "type": "user",
                "sessionId": session,
                "version": version,
                "timestamp": f"2026-0{number}-02T10:00:00Z",
            }
            lines = [json.dumps({**common, "message": {"content": _content(each)}}) for each in said]
            (place / "subagents").mkdir(parents=True)
            place.with_suffix(".jsonl").write_text("\n".join([*lines, *(['{"type": "us'] if number == 2 else []), ""]))
        agent = {**common, "agentId": "a1", "isSidechain": True, "message": {"content": _AGENT}}
        (place / "subagents" / "agent-a1.jsonl").write_text(json.dumps(agent) + "\n")

    def _logs(self) -> list[tuple[Path, int, int]]:
        facts = ((place, place.stat()) for place in (self._folder / "logs").rglob("*"))
        return sorted((place, status.st_mtime_ns, status.st_size) for place, status in facts)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "filetools", "history", *arguments)
        self._narrator.say(f"$ filetools history {' '.join(arguments)}")
        done = subprocess.run(command, cwd=self._folder, capture_output=True, encoding="utf-8", check=False)
        lines = (*done.stdout.splitlines(), *done.stderr.splitlines())
        self._narrator.show(*(part for line in lines for part in textwrap.wrap(line, _COLUMNS)))
        self._holds = self._holds and done.returncode == 0
        return done

    def _check(self, holds: bool, sentence: str) -> None:
        self._holds = self._holds and holds
        self._narrator.note(f"{'ok' if holds else 'BROKEN'}: {sentence}")


def _content(said: str | list[str]) -> Any:
    return said if isinstance(said, str) else [{"type": "tool_result", "content": said[0], "is_error": True}]
