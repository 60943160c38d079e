"""What the command line promises as a whole: which commands and options there are, and with which code each ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import filetools
from filetools.cli.command import cli
from tests.support import inside
from tests.support.terminal import CommandLine


def test_shared_options_may_stand_before_the_command(run: CommandLine, tmp_path: Path) -> None:
    root = str(run.folder)
    done = run("--root", root, "--json", "--actor", "alice", "append", "notes.md", "--content", "x", cwd=tmp_path)
    assert (done.code, done.json["success"]) == (0, True)
    (record, *_) = run("log", "--json").json["data"]["changes"]
    assert record["actor"] == {"kind": "agent", "id": "alice"}
    assert run("--root", root, "doctor", "--settings", "--json", cwd=tmp_path).code == 0
    assert run("--actor", "bob", "append", "notes.md", "--content", "y", "--actor", "carol").code == 0
    assert run("log", "--json").json["data"]["changes"][0]["actor"]["id"] == "carol"


Ended = Callable[..., tuple[int, str]]
PREPARED = (
    ("checkpoint", "start"),
    ("edit", "src/app.py", "--old", "two", "--new", "2", "--actor", "alice"),
    ("edit", "src/app.py", "--old", "2", "--new", "3"),
)
FINE = (
    "read notes.md", "ls", "info notes.md", "find notes", "grep notes", "write new.txt --content x",
    "append notes.md --content x", "edit notes.md --old notes --new x", "mkdir new/folder", "cp notes.md copy.md",
    "mv notes.md moved.md", "rm notes.md", "log notes.md", "versions notes.md", "diff src/app.py NEWEST",
    "who src/app.py", "undo", "redo", "diff --since start --until start", "checkpoint", "checkpoints",
    "restore start --dry-run", "run -- true", "runs", "status", "sync --mirror ../backup", "doctor",
    "call list_files", "tools", "context", "approvals",
)  # fmt: skip
ENDINGS: list[tuple[str, int]] = [
    *((line, 0) for line in FINE),
    ("read nope", 1), ("read ../out", 5), ("grep (", 2),
    ("write notes.md --content x --expected-version 000000000000", 3), ("edit notes.md --old nope --new x", 1),
    ("edit notes.md --old notes --new x --expected-version 000000000000", 3),
    ("rm notes.md --expected-version 000000000000", 3), ("rm .", 5), ("follow --since bad", 2),
    ("undo --of alice", 3), ("run", 2),
    ('call write_file {"path":"notes.md","content":"x","expected_version":"000000000000"}', 3),
    ('call read_file {"path":"../out"}', 5), ("context nope", 1), ("nope", 2),
]  # fmt: skip


@pytest.fixture
def ended(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ended:
    """Run commands in this process, which is quicker; how they end is the same."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("HOME", str(root.parent))
    monkeypatch.setenv("FILETOOLS_DURABILITY", "relaxed")

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ending:
            cli.main(args=arguments, prog_name="filetools")
        written = capsys.readouterr()
        return int(ending.value.code or 0), written.out + written.err

    return run


@pytest.mark.parametrize(("line", "code"), ENDINGS, ids=[line for line, _ in ENDINGS])
def test_a_command_ends_with_the_code_that_is_promised(root: Path, ended: Ended, line: str, code: int) -> None:
    (root / "link").symlink_to("/etc/passwd")
    if line.split()[0] in ("diff", "who", "undo", "redo", "checkpoint", "restore"):
        assert [ended(*each)[0] for each in PREPARED] == [0, 0, 0]
    if "NEWEST" in line:
        line = line.replace("NEWEST", ended("versions", "src/app.py")[1].split()[4])
    found, said = ended(*line.split())
    assert found == code, said
    assert said or code == 1 or line.split()[0] in ("find", "grep")
    assert (
        logging.getLogger("filetools").level == logging.NOTSET
    )  # what a program that embeds us hears is its own matter


async def test_a_lock_that_is_not_free_ends_with_4(run: CommandLine, root: Path) -> None:
    async with filetools.open(root, settings={"watch": False}) as files, inside.at_work(files, "notes.md"):
        waiting = {"FILETOOLS_LOCK_TIMEOUT_SECONDS": "0.2"}
        done = await asyncio.to_thread(run, "append", "notes.md", "--content", "x", more=waiting)
    assert (done.code, done.error.startswith("error LOCK_TIMEOUT")) == (4, True)


@pytest.mark.parametrize("line", ["write new.txt", "append new.txt", "call read_file -"])
def test_ctrl_c_ends_what_waits_for_its_input_with_130(run: CommandLine, line: str) -> None:
    with run.started(*line.split(), has_input=True) as process:
        process.until_it_reads()
        assert (process.interrupt(), process.output.read(), process.error.read()) == (130, b"", b"")


def test_ctrl_c_in_the_middle_of_long_work_ends_with_130(run: CommandLine) -> None:
    count = 1500  # over a second of work, so that a slow test comes in time
    for number in range(count):
        (run.folder / f"f{number}.txt").write_text("x")
    with run.started("sync", "--mirror", "../backup", "--verify") as process:
        copied = run.folder.parent / "backup"
        process.until(lambda: any(copied.glob("f*.txt")))
        assert (process.interrupt(), process.error.read()) == (130, b"")
    assert run("sync", "--mirror", "../backup", "--verify").code == 0
    assert sorted(path.name for path in copied.glob("f*.txt")) == sorted(f"f{number}.txt" for number in range(count))
