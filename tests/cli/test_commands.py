"""What the command line promises as a whole: which commands and options there are, and with which code each ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import filetools
from filetools.cli.command import COMMANDS, cli, load
from tests.support.terminal import CommandLine

SERVING = ("mcp", "serve")
WITHOUT_A_ROOT = ("demo", "tools", "context")
OWN_OPTIONS = {
    "demo": ("--open",),
    "read": ("--offset", "--limit", "--version"),
    "ls": ("-R", "--recursive", "-l", "--long", "--limit", "--cursor", "--all-pages"),
    "info": (),
    "find": ("-a", "--all", "-m", "--limit"),
    "grep": ("-g", "--glob", "-i", "--ignore-case", "-w", "--word", "-n", "--line-number", "-F", "--literal", "-U",
             "--multiline", "-A", "--after", "-B", "--before", "-C", "--context", "-o", "--only-matching", "-l", "--files",
             "-c", "--count", "-a", "--all", "-m", "--limit"),
    "write": ("--content", "--from", "--expected-version", "-f", "--force"),
    "append": ("--content", "--from", "--expected-version"),
    "patch": ("--dry-run",),
    "edit": ("--old", "--new", "--all", "--expected-version", "--dry-run"),
    "rm": ("-r", "--recursive", "--expected-version"),
    "mv": ("-f", "--force"),
    "cp": ("-f", "--force"),
    "mkdir": (),
    "log": ("-n", "--number", "-p", "--patch"),
    "follow": ("--since",),
    "versions": ("-n", "--number"),
    "diff": ("--since", "--until"),
    "who": (),
    "undo": ("-n", "--number", "--of", "--call", "--session", "--run", "--since", "--until", "--partial",
             "--dry-run"),
    "redo": ("--partial", "--dry-run"),
    "checkpoint": ("--around", "--replace", "--delete"),
    "checkpoints": (),
    "restore": ("--partial", "--dry-run"),
    "run": ("--session", "--output-dir", "--checkpoint"),
    "runs": (),
    "init": (),
    "status": ("-v", "--verbose"),
    "mirror": ("--adopt",),
    "instances": (),
    "sync": ("--verify", "--preview"),
    "doctor": ("--settings", "--repair"),
    "call": (),
    "tools": ("--format",),
    "context": ("--prompt",),
    "approvals": ("--diff",),
    "approve": ("--deny", "--for-run"),
    "mcp": ("--tools", "--permissions", "--read-only", "--structured"),
    "serve": ("--port", "--open", "--permissions"),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_OPTIONS)
def test_a_command_has_its_options_and_the_shared_ones(name: str) -> None:
    options = {each for parameter in load(name).params for each in parameter.opts}
    expected = {*OWN_OPTIONS[name]}
    if name not in SERVING:
        expected.add("--json")
    if name not in (*SERVING, *WITHOUT_A_ROOT):
        expected |= {"--root", "--state-dir"}
    if name not in (*SERVING, *WITHOUT_A_ROOT, "doctor", "init", "mirror", "instances"):
        expected.add("--actor")
    assert expected - options == set()


def test_there_is_no_command_that_nobody_promises() -> None:
    names = {name for commands in COMMANDS.values() for name in commands}
    assert names - {"fd", "project", "history"} == set(OWN_OPTIONS)


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
ENDINGS: list[tuple[str, int]] = [
    ("read notes.md", 0),
    ("read nope", 1),
    ("read src", 1),
    ("read notes.md --offset x", 2),
    ("read notes.md --version 00000000", 2),
    ("read ../out", 5),
    ("read /etc/passwd", 5),
    ("read link", 5),
    ("ls", 0),
    ("ls nope", 1),
    ("ls notes.md", 1),
    ("ls --limit 0", 2),
    ("ls ..", 5),
    ("info notes.md", 0),
    ("info nope", 1),
    ("find notes", 0),
    ("find nothing-like-it", 1),
    ("find notes nope", 1),
    ("grep notes", 0),
    ("grep nothing-like-it", 1),
    ("grep (", 2),
    ("grep -l -c notes", 2),
    ("write new.txt --content x", 0),
    ("write notes.md --content x --expected-version 000000000000", 3),
    ("write src --content x", 1),
    ("write .vscode/settings.json --content x", 5),
    ("append notes.md --content x", 0),
    ("append notes.md --from nope", 2),
    ("edit notes.md --old notes --new x", 0),
    ("edit notes.md --old nope --new x", 1),
    ("edit notes.md --old notes", 2),
    ("edit notes.md --old notes --new x --expected-version 000000000000", 3),
    ("mkdir new/folder", 0),
    ("mkdir notes.md", 1),
    ("cp notes.md copy.md", 0),
    ("cp notes.md src/app.py", 1),
    ("mv notes.md moved.md", 0),
    ("mv nope moved.md", 1),
    ("rm notes.md", 0),
    ("rm notes.md --expected-version 000000000000", 3),
    ("rm src", 1),
    ("rm .", 5),
    ("log", 0),
    ("log notes.md", 0),
    ("log nope", 1),
    ("follow --since bad", 2),
    ("versions notes.md", 0),
    ("versions nope", 1),
    ("diff src/app.py", 1),
    ("diff src/app.py NEWEST", 0),
    ("diff notes.md", 2),
    ("diff nope", 1),
    ("who src/app.py", 0),
    ("who nope", 1),
    ("undo", 0),
    ("undo --of alice", 3),
    ("undo --since never", 2),
    ("redo", 0),
    ("diff", 1),
    ("diff --since start --until start", 0),
    ("diff --since nope", 2),
    ("diff src", 1),
    ("diff src NEWEST", 2),
    ("diff --since start nope.txt", 0),
    ("diff --until start", 2),
    ("diff src/app.py NEWEST --since start", 2),
    ("checkpoint", 0),
    ("checkpoint --around", 2),
    ("checkpoint --around true", 2),
    ("checkpoint --around --delete start -- true", 2),
    ("checkpoint more -- true", 2),
    ("checkpoint --around -- true", 0),
    ("checkpoint --around -- false", 1),
    ("checkpoint --around -- no-such-program", 127),
    ("checkpoint --around -- ./notes.md", 126),
    ("checkpoint start --around -- true", 2),
    ("checkpoints", 0),
    ("checkpoint start", 2),
    ("checkpoint start --replace", 0),
    ("restore start --dry-run", 0),
    ("restore nope", 2),
    ("run", 2),
    ("run touch hit", 2),
    ("run -- true", 0),
    ("run -- no-such-program", 127),
    ("runs", 0),
    ("runs run-000000000000", 1),
    ("undo --run run-000000000000", 1),
    ("undo --run run-000000000000 --session s1", 2),
    ("undo --run run-000000000000 notes.md", 2),
    ("status", 0),
    ("sync --mirror ../backup", 0),
    ("sync", 2),
    ("sync --mirror .", 2),
    ("doctor", 0),
    ("doctor --settings", 0),
    ("call list_files", 0),
    ('call read_file {"path":"nope"}', 1),
    ("call nope", 2),
    ("call read_file no-json", 2),
    ('call write_file {"path":"notes.md","content":"x","expected_version":"000000000000"}', 3),
    ('call read_file {"path":"../out"}', 5),
    ("tools", 0),
    ("context", 0),
    ("context src --prompt", 0),
    ("context nope", 1),
    ("context .filetools", 5),
    ("context src notes.md", 2),
    ("tools --format nope", 2),
    ("approvals", 0),
    ("approve nope", 2),
    ("append notes.md --content x --actor alice --durability relaxed", 0),
    ("nope", 2),
]


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
    async with filetools.open(root, settings={"watch": False}) as files:
        locks = files._parts.locks
        async with locks.hold(["notes.md"], path="notes.md", owner="somebody"):
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
