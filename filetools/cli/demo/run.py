"""The scene of a run: a program changes a project, what it did is told exactly, and taken back beside a person's work."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, Final

from filetools.cli.demo.agent import REPORT, TEXT
from filetools.cli.demo.chat import Client, served
from filetools.cli.demo.narrator import Narrator
from filetools.cli.demo.stage import read_tree
from filetools.distribution import install_command

_PLAN: Final = b"# Plan\n\nstate: draft\n\nnotes:\n"
_LINE: Final = b"- ann: ship it on Friday\n"
_MORE: Final = b"- ann: or on Monday\n"
_PROMPT: Final = "Review the plan and write a report."
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
        self._check("created   claudedocs/r.md" in told, "the report is listed, and why it counts as the run's")
        self._check("plan.md.old" not in told, "what came and went again is not listed")
        self._add_line(_LINE)
        found = _ID.search(told)
        undone = self._command("undo", "--run", found[1] if found else "")
        self._check("taken back" in undone, "one command takes all of it back")
        self._check_tree(_PLAN + _LINE)
        self._narrator.heading("An agent answers behind the chat interface of OpenAI")
        if any(importlib.util.find_spec(package) is None for package in ("fastapi", "uvicorn", "mcp")):
            self._narrator.note(f"left out: {install_command('server')} brings the server")
            return self._holds
        with served(self._folder) as (lines, client):
            self._narrator.say("$ filetools serve . --port 0 --agent 'python -m filetools.cli.demo.agent'")
            self._show(*lines)
            self._chat(client)
        return self._holds

    def _chat(self, client: Client) -> None:
        has_package = importlib.util.find_spec("openai") is not None
        self._narrator.say(
            f"asked by {'the package openai' if has_package else 'plain HTTP, without the package openai'}:"
        )
        self._narrator.show(f"> {_PROMPT}")
        told: dict[str, Any] = {}
        for part in client.chat(_PROMPT):
            told = part if "files_created" in part else told
            texts = [str(choice["delta"].get("content") or "") for choice in part["choices"]]
            self._narrator.show(*"".join(texts).strip().splitlines())
        self._narrator.say("x_claude_metadata, the last event of its answer, tells what it has made:")
        files = [*told.get("files_created", ()), *told.get("files_modified", ())]
        for file in files:
            tool = f"by {file['tool']}" if file.get("tool") else "by filetools"
            size, checksum = f"{file['size_bytes']:>3} bytes", file["checksum"][:15]
            self._narrator.show(f"{file['action']:<9} {file['relative_path']:<21} {size}  {checksum}…  {tool}")
        self._check(
            [file["relative_path"] for file in files] == [REPORT, "plan.md"], "both files are told, and no other"
        )
        if not files:
            return
        url, checksum = files[0]["url"], files[0]["checksum"]
        self._check(client.download(url, checksum) == (200, TEXT.encode()), "the report is downloaded by its checksum")
        self._check(
            client.download(url, "sha256:" + "0" * 64)[0] == 412, "asked for by another checksum, it is refused"
        )
        self._add_line(_MORE)
        self._narrator.say(f"POST /v1/undo of {told['session_tracking']['cli_session_id']}")
        self._check(client.undo(told["session_tracking"]["cli_session_id"]), "one request takes all of it back")
        self._check_tree(_PLAN + _LINE + _MORE)

    def _add_line(self, line: bytes) -> None:
        self._plan.write_bytes(self._plan.read_bytes() + line)
        self._narrator.say("ann adds a line to the plan:")
        self._narrator.show(f"+ {line.decode()}")

    def _check_tree(self, plan: bytes) -> None:
        self._check(read_tree(self._folder) == {"plan.md": plan}, "the tree is as before, and what ann wrote stands")

    def _command(self, *words: str) -> str:
        """Run the command line in a process of its own, and return what it printed if it went well."""
        self._narrator.say(f"$ filetools {shlex.join(words)}")
        done = subprocess.run(
            (sys.executable, "-m", "filetools", *words), cwd=self._folder, encoding="utf-8", check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._show(*done.stdout.splitlines())
        return "" if done.returncode else done.stdout

    def _show(self, *lines: str) -> None:
        self._narrator.show(*(part for line in lines for part in textwrap.wrap(line, _COLUMNS)))

    def _check(self, holds: bool, sentence: str) -> None:
        self._holds = self._holds and holds
        self._narrator.note(f"{'ok' if holds else 'BROKEN'}: {sentence}")
