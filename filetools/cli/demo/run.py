"""The scene of a run: a program changes a project, what it did is told exactly, and taken back beside a person's work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Final

from filetools.cli.demo.narrator import Narrator
from filetools.cli.demo.stage import read_tree

_PLAN: Final = b"# Plan\n\nstate: draft\n\nnotes:\n"
_LINE: Final = b"- ann: ship it on Friday\n"
_SCRIPT: Final = (
    'mkdir -p claudedocs && echo "# report" > claudedocs/r.md; sed -i.old s/draft/final/ plan.md && rm plan.md.old'
)
_COLUMNS: Final = 74
_ID: Final = re.compile(r"--run (run-[0-9a-f]+)")


def play_run() -> bool:
    """Play it in a temporary folder and print what the commands print; whether each step did what it promises."""
    with tempfile.TemporaryDirectory(prefix="filetools-demo-") as folder:
        return _Run(Path(folder)).play()


class _Run:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plan = folder / "plan.md"
        self._narrator = Narrator()
        self._holds = True

    def play(self) -> bool:
        self._plan.write_bytes(_PLAN)
        self._narrator.heading("A program runs, and what it did is known")
        told = self._command("run", "--", "sh", "-c", _SCRIPT)
        self._check(
            "created   claudedocs/r.md" in told, "the report is listed with its size, and why it counts as the run's"
        )
        self._check("plan.md.old" not in told, "what came and went again is not listed")
        self._plan.write_bytes(self._plan.read_bytes() + _LINE)
        self._narrator.say("ann writes a line below it:")
        self._narrator.show("+ " + _LINE.decode())
        found = _ID.search(told)
        undone = self._command("undo", "--run", found[1] if found else "")
        self._check("taken back" in undone, "one command takes all of it back")
        self._check(
            read_tree(self._folder) == {"plan.md": _PLAN + _LINE}, "the tree is as before, and ann's line stands"
        )
        return self._holds

    def _command(self, *words: str) -> str:
        """Run the command line in a process of its own, and return what it printed if it went well."""
        self._narrator.say(f"$ filetools {shlex.join(words)}")
        done = subprocess.run(
            (sys.executable, "-m", "filetools", *words), cwd=self._folder, encoding="utf-8", check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._narrator.show(*(part for line in done.stdout.splitlines() for part in textwrap.wrap(line, _COLUMNS)))
        return "" if done.returncode else done.stdout

    def _check(self, holds: bool, sentence: str) -> None:
        self._holds = self._holds and holds
        self._narrator.note(f"{'ok' if holds else 'BROKEN'}: {sentence}")
