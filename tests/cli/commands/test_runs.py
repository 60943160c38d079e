"""Runs from the shell: whose output, code and changes are whose, what is told at the end, and what an undo leaves."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
from typing import Any

import pytest

from tests.support.storms.pictures import on_disk
from tests.support.terminal import CommandLine, Ran

FILETOOLS = f"{shlex.quote(sys.executable)} -m filetools"
RUN = r"run-[0-9a-f]+"
AWAIT = "while [ ! -e go ]; do sleep 0.01; done"


def sh(run: CommandLine, script: str, *options: str) -> Ran:
    return run("run", *options, "--", "sh", "-c", script)


def test_the_first_word_that_is_no_option_begins_the_other_command_line(run: CommandLine) -> None:
    done = run("run", "--session", "s", "sh", "-c", 'echo "$@"', "name", "--session", "--", "-h")
    assert (done.code, done.text) == (0, "--session -- -h\n")


def told(run: CommandLine, script: str, *options: str) -> dict[str, Any]:
    """Run a script, and return what is told of it."""
    data: dict[str, Any] = json.loads(sh(run, script, "--json", *options).lines[-1])["data"]
    return data


def rows(data: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    files = [file for action in ("created", "modified", "deleted") for file in data.get(f"files_{action}", ())]
    return [(file["action"], file["relative_path"], file.get("attributed")) for file in files]


def listed(run: CommandLine) -> list[tuple[str, int | None]]:
    """Return status and exit code of each run, newest first."""
    return [(each["status"], each.get("exit_code")) for each in run("runs", "--json").json["data"]["runs"]]


@pytest.mark.parametrize(
    ("line", "code"), [("run --nope touch hit", 2), ("run --output-dir ../out -- touch hit", 5), ("run", 2)]
)
def test_what_is_no_run_is_refused_before_anything_starts(run: CommandLine, line: str, code: int) -> None:
    done = run(*line.split())
    assert (done.code, done.text, done.error[:6]) == (code, "", "error ")
    assert not (run.folder / "hit").exists()


@pytest.mark.parametrize(("program", "code"), [("no-such-program", 127), ("./notes.md", 126)])
def test_a_program_that_cannot_be_started_is_a_failed_run(run: CommandLine, program: str, code: int) -> None:
    done = run("run", "--", program)
    reason = {127: "command not found", 126: "Permission denied"}[code]
    assert (done.code, done.text) == (code, "")
    assert done.error.splitlines() == [f"error: {program}: {reason}", f"{program.removeprefix('./')} changed nothing."]
    assert listed(run) == [("failed", code)]


def test_a_session_of_a_run_that_is_alive_is_taken_and_its_changes_cannot_be_undone_yet(run: CommandLine) -> None:
    with run.started("run", "--session", "s1", "--", "sh", "-c", f"touch began; {AWAIT}") as process:
        process.until((run.folder / "began").exists)
        refused = sh(run, "touch hit", "--session", "s1")
        (alive,) = run("runs", "--json").json["data"]["runs"]
        early = run("undo", "--run", alive["id"])
        (run.folder / "go").touch()
        assert process.wait() == 0
    assert (refused.code, "'s1' is under way" in refused.error, (run.folder / "hit").exists()) == (2, True, False)
    assert (alive["status"], early.code, "is under way" in early.error) == ("running", 2, True)
    assert sh(run, ":", "--session", "s1").code == 0


def test_input_output_and_code_are_the_programs_own_and_its_effect_is_told_on_standard_error(run: CommandLine) -> None:
    script = "cat; echo err >&2; mkdir claudedocs; echo '# report' > claudedocs/r.md; echo x >> notes.md; rm src/app.py"
    done = run("run", "--", "sh", "-c", f"{script}; exit 7", stdin=b"\xff\x00given")
    assert (done.code, done.raw) == (7, b"\xff\x00given")
    assert [re.sub(RUN, "RUN", line) for line in done.error.splitlines()] == [
        "err",
        "created   claudedocs/r.md    9 bytes  in its output folder",
        "modified  notes.md           8 bytes  while no other run was active",
        "deleted   src/app.py                  while no other run was active",
        "sh: 1 created, 1 modified, 1 deleted; 'filetools undo --run RUN' undoes it.",
    ]
    assert listed(run) == [("failed", 7)]


def test_as_json_what_is_told_is_one_line_after_the_output(run: CommandLine) -> None:
    done = sh(run, "echo out; echo x > new.txt", "--json", "--session", "s1", "--no-checkpoint")
    first, last = done.lines
    data = json.loads(last)["data"]
    (file,) = data["files_created"]
    assert (done.code, done.error, first) == (0, "", "out")
    assert (file["filename"], file["size_bytes"], file["attributed"]) == ("new.txt", 2, "alone")
    assert data["session_tracking"] == {"cli_session_id": "s1", "session_dir": str(run.folder)}
    assert {name: data["run"].get(name) for name in ("session", "status", "exit_code", "actor", "checkpoint")} == {
        "session": "s1", "status": "completed", "exit_code": 0, "actor": {"kind": "editor", "id": "ann"},
        "checkpoint": None,
    }  # fmt: skip
    assert run("runs", data["run"]["id"], "--json").json["data"] == data


def test_what_it_does_through_filetools_is_known_to_be_its_own(run: CommandLine) -> None:
    before = on_disk(run.folder)
    script = f"{FILETOOLS} write out/a.md --content a >&2; echo b > b.md; echo $FILETOOLS_SESSION > id"
    data = told(run, script)
    assert sorted(rows(data)) == [
        ("created", "b.md", "alone"),
        ("created", "id", "alone"),
        ("created", "out/a.md", None),
    ]
    assert (run.folder / "id").read_text().strip() == data["session_tracking"]["cli_session_id"] == data["run"]["id"]
    assert run("undo", "--run", data["run"]["id"]).code == 0
    assert on_disk(run.folder) == before
    assert run("undo", "--run", data["run"]["id"]).error == "Nothing to undo.\n"


def test_an_undo_brings_all_back_that_a_shell_did_and_leaves_what_a_person_did_since(run: CommandLine) -> None:
    (run.folder / "src" / "old.py").write_bytes(b"\x00\xff" * 5000)
    before = on_disk(run.folder)
    script = "mkdir -p a/b; echo x > a/b/c; sed -i s/two/2/ src/app.py; rm src/old.py; mv notes.md a/notes.md"
    run_id = told(run, script)["run"]["id"]
    (run.folder / "mine.md").write_text("mine\n")
    (run.folder / "src" / "app.py").write_text("one\n2\nthree\nfour\n")
    assert run("undo", "--run", run_id).code == 0
    assert (run.folder / "mine.md").read_text() == "mine\n"
    assert (run.folder / "src" / "app.py").read_text() == "one\ntwo\nthree\nfour\n"
    (run.folder / "mine.md").unlink()
    (run.folder / "src" / "app.py").write_text("one\ntwo\nthree\n")
    assert on_disk(run.folder) == before


def test_of_two_runs_at_once_each_is_told_of_its_own_folder_and_the_rest_is_counted(run: CommandLine) -> None:
    def line(name: str) -> tuple[str, ...]:
        script = (
            f"mkdir -p {name}/$FILETOOLS_SESSION; echo x > {name}/$FILETOOLS_SESSION/r; echo x > {name}.txt; {AWAIT}"
        )
        return ("run", "--json", "--output-dir", f"{name}/{{run}}", "--", "sh", "-c", script)

    def both_wrote() -> bool:
        return (run.folder / "one.txt").exists() and (run.folder / "two.txt").exists()

    with run.started(*line("one")) as first, run.started(*line("two")) as second:
        first.until(both_wrote)
        (run.folder / "go").touch()
        ended = [(process.wait(), json.loads(process.output.read())["data"]) for process in (first, second)]
    for name, (code, data) in zip(("one", "two"), ended, strict=True):
        assert (code, rows(data)) == (0, [("created", f"{name}/{data['run']['id']}/r", "folder")])
        assert data["unattributed"] >= 2
    (line_of_it,) = [each for each in run("runs", ended[0][1]["run"]["id"]).lines if each.startswith("unknown ")]
    assert line_of_it.endswith("changes by other programs, which may belong to this or to another run")


@pytest.mark.parametrize(
    ("number", "is_for_all", "status", "code"),
    [(signal.SIGINT, True, "cancelled", 130), (signal.SIGTERM, False, "cancelled", 143)],
)
def test_a_signal_ends_the_program_and_the_run_ends_in_order(
    run: CommandLine, number: signal.Signals, is_for_all: bool, status: str, code: int
) -> None:
    with run.started("run", "--", "sh", "-c", "touch new; exec sleep 60") as process:
        process.until((run.folder / "new").exists)
        (os.killpg if is_for_all else os.kill)(process.pid, number)  # a terminal sends Ctrl-C to the program, too
        assert process.wait() == code
        assert b"created   new    0 bytes" in process.error.read()
    assert listed(run) == [(status, code)]


def test_what_goes_wrong_in_telling_leaves_the_exit_code_alone(run: CommandLine) -> None:
    done = sh(run, "rm -rf .filetools; exit 3")
    assert (done.code, done.text) == (3, "")
    assert "error STATE_DAMAGED: " in done.error


def test_runs_are_listed_and_shown(run: CommandLine) -> None:
    assert run("runs").error == "No run is recorded; 'filetools run COMMAND' starts one.\n"
    assert not (run.folder / ".filetools").exists()
    sh(run, "echo x > new; exit 2")
    run("run", "--", "printf", "%s", "two  words\n")
    second, first = (re.sub(rf"{RUN}  \d\d:\d\d:\d\d", "RUN", line) for line in run("runs").lines)
    assert first == "RUN  failed     sh -c 'echo x > new; exit 2'"
    assert second == "RUN  completed  printf %s 'two words '"
    shown = run("runs", run("runs").lines[1].split()[0]).lines
    assert [line.split()[0] for line in shown[:3]] == ["id", "session", "command"]
    assert shown[-1] == "created   new    2 bytes  while no other run was active"
