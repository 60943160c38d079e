from __future__ import annotations

from tests.support.terminal import CommandLine

PROTECTED = ("write", ".vscode/settings.json", "--content", "{}")


def test_without_a_terminal_a_protected_path_is_refused_at_once(run: CommandLine) -> None:
    done = run(*PROTECTED)
    assert (done.code, done.text) == (5, "")
    assert done.error.splitlines()[1] == "hint: Run the command at a terminal, where you can answer."
    assert not (run.folder / ".vscode").exists()


def test_no_at_the_terminal_refuses(run: CommandLine) -> None:
    done = run.at_terminal(*PROTECTED, answer="n\n")
    assert done.code == 5
    assert "risk high" in done.text
    assert "APPROVAL_DENIED" in done.text
    assert not (run.folder / ".vscode").exists()


def test_yes_at_the_terminal_allows(run: CommandLine) -> None:
    assert run.at_terminal(*PROTECTED, answer="y\n").code == 0
    assert (run.folder / ".vscode" / "settings.json").read_text() == "{}"


def test_presets_bind_agents_and_not_people(run: CommandLine) -> None:
    reading = {"FILETOOLS_PERMISSIONS": "read_only"}
    refused = run("append", "notes.md", "--content", "x", "--actor", "alice", "--json", more=reading)
    assert (refused.code, refused.json["error_code"]) == (5, "TOOL_BLOCKED")
    assert run("append", "notes.md", "--content", "x", more=reading).code == 0
