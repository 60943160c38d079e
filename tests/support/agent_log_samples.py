"""The logs below tests/sessions/logs: `python -m tests.support.agent_log_samples` writes them anew from their seeds.

Each folder there stands for `~/.claude/projects` of a person who works on /home/me/code/app. A test compares them with what
this module would write.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.support.agent_logs import VERSIONS, LogWriter, hostile_lines
from tests.support.declared import REPOSITORY

FOLDER: Final = REPOSITORY / "tests" / "sessions" / "logs"
ENCODED: Final = "-home-me-code-app"


def inline_agents(writer: LogWriter) -> None:
    """1.0: an agent's entries stand in the log of its session, before it a summary of an older one."""
    log = writer.session("10000000-0000-4000-8000-000000000001", version=VERSIONS[0])
    log.fact("summary", summary="Parser made stricter", leafUuid=writer.uuid())
    log.user("Don't rename public functions without asking me first.").assistant("I will ask.")
    log.user("Look where the parser is used").agent("Find all callers of parse()", layout="inline").done(
        "Three callers."
    )
    log.assistant("Three callers use it.").user("y").assistant(("Edit", {"file_path": "parser.py"})).deny(
        "Always run make first"
    )


def flat_agents(writer: LogWriter) -> None:
    """2.0: agents beside the session, one below another; one only warmed up."""
    log = writer.session("20000000-0000-4000-8000-000000000001", version=VERSIONS[1])
    log.warm_up().user("Review the error messages, please.")
    first = log.agent("Read errors.py and report unclear sentences", layout="flat", agentId="a1b2c3d4")
    below = first.agent("Check the tests, too", layout="flat", agentId="e5f60718", sessionId="a1b2c3d4")
    below.assistant(("Bash", {"command": "make"})).deny("No builds now, only read")
    below.done("The tests agree.")
    first.done("Two sentences are unclear.").assistant("Two sentences are unclear.").user("/compact").interrupt()


def nested_agents(writer: LogWriter) -> None:
    """2.1: agents in folders of their session, one in a workflow, with and without the file that names their origin."""
    log = writer.session("21000000-0000-4000-8000-000000000001", branch="fix/parser")
    log.fact("file-history-snapshot", messageId=writer.uuid(), snapshot={}, isSnapshotUpdate=False)
    log.command("/model", "opus").user("Make sure that names are whole words.")
    first = log.agent("List short names", meta=True, agentId="a000000000000001")
    first.agent("Only in tests", meta=True, agentId="a000000000000002").done("None.")
    first.done("Three names.")
    log.agent("List names of classes", layout="workflow", agentId="a000000000000003").done("Fine.")
    log.queue("Also in the docs, please").assistant("Yes.").fact("ai-title", aiTitle="Whole words")
    log.fact("custom-title", customTitle="Names").fact("tag", tag="names").fact(
        "last-prompt", lastPrompt="Also in the docs"
    )


def branches(writer: LogWriter) -> None:
    """2.1: calls at once, prompts taken back, a compaction."""
    log = writer.session("21000000-0000-4000-8000-000000000002")
    log.user("Read all parts before you plan.").parallel(4).assistant("Read.")
    log.user("Write everything into one module").assistant(("Write", {"file_path": "all.py"})).result("Written.")
    log.assistant("One module.").rewind().user("I prefer small modules.").parallel(3).assistant("Three modules.")
    log.compact("This session goes on from another one: three small modules were planned.").user(
        "Go on with the first one."
    )
    log.assistant("Done.").user("wrong: it lacks tests").assistant("I add them.")


def refusals(writer: LogWriter) -> None:
    """2.1: refusals with and without a reason, failed calls, interruptions."""
    log = writer.session("21000000-0000-4000-8000-000000000003")
    log.user("Clean the build folder.").assistant(("Bash", {"command": "rm -rf build"})).deny(
        "never delete, move it away"
    )
    log.assistant(("Write", {"file_path": "/home/me/code/app/notes.md"})).deny()
    log.user("continue").assistant(("Bash", {"command": "make"})).result("Exit code 2\nno rule", is_error=True)
    log.assistant(("Read", {"file_path": "gone.py"})).result(
        "<tool_use_error>No such file</tool_use_error>", is_error=True
    )
    log.assistant("It fails.").interrupt().user("/home/me/code/app/gone.py was moved to old/")


def hostile(writer: LogWriter) -> None:
    """2.1: odd lines between two good ones, an unfinished one at the end."""
    log = writer.session("21000000-0000-4000-8000-000000000004").user("The first good sentence of this session")
    for name, line in hostile_lines().items():
        if "deep" not in name and "integer" not in name:
            log.line(line)
    log.assistant("Seen.").user("The last good sentence of this session").line(b'{"type":"user","mess', end=b"")


SAMPLES: Final[Mapping[str, Callable[[LogWriter], None]]] = {
    "inline-agents": inline_agents,
    "flat-agents": flat_agents,
    "nested-agents": nested_agents,
    "branches": branches,
    "refusals": refusals,
    "hostile": hostile,
}


def write_samples(folder: Path) -> None:
    """Write all of them below a folder."""
    for number, (name, fill) in enumerate(SAMPLES.items()):
        fill(LogWriter(folder / name / ENCODED, seed=number))


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    write_samples(FOLDER)
