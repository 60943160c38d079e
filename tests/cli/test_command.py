from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from filetools.cli.command import COMMANDS, load
from tests.support.terminal import CommandLine

WITHOUT_AN_EXTRA = """
import sys
sys.modules["click"] = None
from filetools.__main__ import main
main()
"""


def test_a_missing_extra_names_the_install_command() -> None:
    done = subprocess.run((sys.executable, "-c", WITHOUT_AN_EXTRA), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "error: the command line needs the package 'click'",
        "hint: pip install 'agent-filetools[cli]'",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence", "hint"),
    [
        (("grpe", "x"), "No such command 'grpe'", "Did you mean 'grep'? Usage: filetools [OPTIONS] COMMAND [ARGS]...;"),
        (("ls", "--jsn"), "No such option '--jsn'", "Did you mean '--json'? Usage: filetools ls [OPTIONS] [PATH];"),
        (("read", "a", "--version"), "Option '--version' requires an argument", "'filetools -h' lists the commands."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_usage_looks_like_every_other_failure(
    run: CommandLine, arguments: tuple[str, ...], sentence: str, hint: str
) -> None:
    done = run(*arguments)
    first, second = done.error.splitlines()
    assert (done.code, done.text, first) == (2, "", f"error INVALID_ARGUMENT: {sentence}")
    assert second.startswith(f"hint: {hint}")
    told = run("--json", *arguments)
    assert (told.code, told.error) == (2, "")
    assert (told.json["success"], told.json["error_code"], told.json["error"]) == (False, "INVALID_ARGUMENT", sentence)
    assert told.json["suggested_action"].startswith(hint)


def test_a_path_that_is_misspelt_is_answered_with_the_nearest_as_it_is_typed(run: CommandLine) -> None:
    run("init")
    assert run("read", "src/ap.py").error.splitlines()[1] == (
        "hint: Did you mean 'src/app.py'? Look for it with 'filetools ls'."
    )
    assert "Did you mean 'app.py'?" in run("rm", "ap.py", cwd=run.folder / "src").error
    assert "Did you mean '../notes.md'?" in run("info", "notes.md", cwd=run.folder / "src").error
    told = run("ls", "scr", "--json").json
    assert told["suggested_action"].startswith("Did you mean 'src'? ")
    assert told["details"]["similar"] == ["src"]


def test_a_product_error_is_a_sentence_and_a_hint_without_a_traceback(run: CommandLine) -> None:
    done = run("read", "nope.txt")
    assert (done.code, done.text) == (1, "")
    assert done.error.splitlines() == [
        "error FILE_NOT_FOUND: File not found: nope.txt",
        "hint: Did you mean 'notes.md'? Look for it with 'filetools ls'.",
    ]


@pytest.mark.parametrize("command", [("ls",), ("write", "a", "--content", "x"), ("doctor",)])
def test_a_root_that_is_no_folder_is_refused_with_2_and_said_to_be_so(
    run: CommandLine, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = run(*command, "--root", "nope")
    assert (done.code, done.text) == (2, "")
    assert done.error.splitlines()[0] == "error INVALID_ARGUMENT: The root was not found: 'nope'"
    done = run(*command, "--root", "notes.md")
    assert (done.code, "The root is not a folder: 'notes.md'" in done.error) == (2, True)


@pytest.mark.parametrize("option", ["--root", "--state-dir", "--mirror", "--actor"])
def test_an_option_that_a_script_left_empty_is_refused(run: CommandLine, option: str) -> None:
    done = run("write", "a.txt", "--content", "x", option, "")
    assert (done.code, done.error.startswith("error INVALID_ARGUMENT: "), option in done.error) == (2, True, True)
    assert not (run.folder / "a.txt").exists()
    if option != "--mirror":
        assert run(option, "", "write", "a.txt", "--content", "x").code == 2


@pytest.mark.parametrize("words", [("init",), ("mirror", "add")])
def test_a_folder_that_a_script_left_empty_is_refused(run: CommandLine, words: tuple[str, ...]) -> None:
    assert run(*words, "").code == 2
    assert not (run.folder / ".filetools").exists()


@pytest.mark.parametrize(
    "words", [("--root", ".", "tools"), ("--root", ".", "mcp", "."), ("--state-dir", "s", "trust")]
)
def test_a_place_named_before_a_command_that_takes_none_is_refused(run: CommandLine, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert (done.code, done.text) == (2, "")
    assert f"'{words[2]}' does not take {words[0]}" in done.error.splitlines()[0]


def test_a_setting_out_of_range_names_its_source(run: CommandLine) -> None:
    done = run("ls", more={"FILETOOLS_WORKER_THREADS": "0"})
    assert done.code == 2
    assert done.error.startswith("error INVALID_ARGUMENT: Setting 'worker_threads' from environment")


def test_in_a_pipe_a_row_of_a_table_is_one_line_without_blanks_at_its_end(run: CommandLine) -> None:
    (run.folder / "a.md").write_text("# A\n")
    lines = [*run("tools").lines, *run("info", "a.md").lines]
    assert [line for line in lines if line != line.rstrip() or line.startswith(" ")] == []
    assert any(line.startswith("grep_files") and len(line) > 80 for line in lines)


def test_a_closed_pipe_is_quiet(run: CommandLine) -> None:
    for number in range(3000):
        (run.folder / f"a-file-with-a-long-name-{number}.txt").touch()
    with run.as_module("ls") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"src/\n"
        process.stdout.close()
        assert (process.wait(), process.stderr.read()) == (0, b"")


def test_an_interrupt_ends_with_130_and_quietly(run: CommandLine) -> None:
    run("write", "a.txt", "--content", "x")
    with run.started("follow", "--since", _start(run)) as process:
        assert process.output.readline().endswith(b"a.txt\n")
        told = b"Following: each change is printed as one line. Ctrl-C stops.\n"
        assert (process.interrupt(), process.error.read()) == (130, told)


def test_the_module_is_the_command(run: CommandLine) -> None:
    with run.as_module("--version") as process:
        assert process.communicate() == (run("--version").raw, b"")


NAMES = [name for commands in COMMANDS.values() for name in commands]


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command_explains_every_option_and_ends_with_examples(name: str, run: CommandLine) -> None:
    command = load(name)
    first = " ".join((command.help or "").partition("\n\n")[0].split())
    assert first == next(commands[name][1] for commands in COMMANDS.values() if name in commands)
    assert [parameter.name for parameter in command.params if not getattr(parameter, "help", None)] == []
    page = click.Context(command, info_name=name, max_content_width=100).get_help().partition("Examples:\n")
    examples = page[2].splitlines()
    assert examples
    assert all(f"filetools {name}" in example for example in examples)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("sync --preview", 2),
        ("undo", 0),
        ("redo", 0),
        ("restore before", 2),
        ("project remove 1f0c2a9b", 1),
        ("project move 1f0c2a9b .", 1),
        ('call edit_file {"path":"notes.md","old":"notes","new":"n","dry_run":true}', 0),
    ],
)
def test_a_command_that_changes_nothing_creates_no_state(run: CommandLine, line: str, code: int) -> None:
    assert run(*line.split()).code == code
    assert not (run.folder / ".filetools").exists()


def test_help_and_version_need_no_workspace(run: CommandLine) -> None:
    shown = run("-h")
    assert shown.code == 0
    assert [name for name in ("demo", "read", "follow", "doctor") if name not in shown.text] == []
    assert run("--version").text.startswith("filetools ")
    assert not (run.folder / ".filetools").exists()


def test_colours_are_for_terminals_only(run: CommandLine) -> None:
    assert "\x1b" not in run("ls").text
    assert "\x1b[1;34msrc" in run.at_terminal("ls").text
    run.environment["NO_COLOR"] = "1"
    assert "\x1b[1;34m" not in run.at_terminal("ls").text


def _start(run: CommandLine) -> str:
    epoch = run("status", "--json").json["data"]["epoch"]
    return f"{epoch}:0"
