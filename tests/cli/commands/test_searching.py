from __future__ import annotations

import pytest

from tests.support.terminal import CommandLine


@pytest.mark.parametrize(
    "arguments", [("find", "nothing-here"), ("grep", "nothing-here"), ("grep", "-c", "x", "-g", "*.no")]
)
def test_nothing_found_is_exit_code_1_without_a_word(run: CommandLine, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.code, done.text, done.error) == (1, "", "")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("grep", "("), 2), (("grep", "-l", "-c", "a"), 2), (("grep", "a", "nowhere"), 1), (("find", "a", ".."), 5)],
)
def test_what_makes_no_sense_is_refused(run: CommandLine, arguments: tuple[str, ...], code: int) -> None:
    done = run(*arguments)
    assert (done.code, done.text) == (code, "")
    assert done.error.startswith("error ")


def test_find_prints_paths(run: CommandLine) -> None:
    run("init")
    assert run("find", "APP").lines == ["src/app.py"]
    assert run("find", "*", cwd=run.folder / "src").lines == ["src/app.py"]
    assert run("find", "s").lines == ["src/", "src/app.py", "notes.md"]


def test_grep_gives_a_pipe_path_line_and_text(run: CommandLine) -> None:
    assert run("grep", "t.o|not").lines == ["src/app.py:2:two", "notes.md:1:notes"]
    assert run("grep", "TWO", "-i", "-C1", "src").lines == [
        "src/app.py-1-one",
        "src/app.py:2:two",
        "src/app.py-3-three",
    ]
    assert run("grep", "-l", "o").lines == ["src/app.py", "notes.md"]
    assert run("grep", "-c", "o", "-g", "*.py").lines == ["src/app.py:2"]


def test_grep_at_a_terminal_colours_the_same_lines(run: CommandLine) -> None:
    done = run.at_terminal("grep", "o*")
    assert done.code == 0
    assert "\x1b[35msrc/app.py\x1b[0m:\x1b[32m1\x1b[0m:one\n" in done.text
    assert "\x1b[35mnotes.md\x1b[0m:" in done.text


def test_lines_that_would_steer_the_terminal_are_escaped_and_long_ones_cut(run: CommandLine) -> None:
    (run.folder / "evil.txt").write_text("here \x1b[31m red\n")
    (run.folder / "long.txt").write_text("z" * 9000 + "there\n")
    evil, long = run("grep", "here").lines
    assert (evil, long[:13], len(long) < 2000) == ("evil.txt:1:here \\x1b[31m red", "long.txt:1:…z", True)


def test_a_limit_ends_the_search_and_says_so(run: CommandLine) -> None:
    done = run("grep", "o", "-m", "1")
    assert (done.code, done.lines) == (0, ["src/app.py:1:one"])
    assert "Only the first 1 are shown" in done.error


def test_grep_leaves_tabs_to_a_pipe(run: CommandLine) -> None:
    (run.folder / "tabs.txt").write_text("a\tb\n")
    assert run("grep", "a.b").lines == ["tabs.txt:1:a\tb"]
    assert "\x1b[32m1\x1b[0m:a       b\n" in run.at_terminal("grep", "a.b").text


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (("-w", "x"), ["a.txt:1:x", "a.txt:3:a x.x", "b.txt:1:x"]),
        (("-A1", "-w", "x", "a.txt"), ["a.txt:1:x", "a.txt-2-xy", "a.txt:3:a x.x", "a.txt-4-4"]),
        (("-C1", "-A0", "^5|xy", "a.txt"), ["a.txt-1-x", "a.txt:2:xy", "--", "a.txt-4-4", "a.txt:5:5"]),
        (("-o", "x.?", "a.txt"), ["a.txt:1:x", "a.txt:2:xy", "a.txt:3:x.", "a.txt:3:x", "a.txt:6:x"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_grep_takes_what_fingers_know(run: CommandLine, arguments: tuple[str, ...], lines: list[str]) -> None:
    (run.folder / "a.txt").write_text("x\nxy\na x.x\n4\n5\nzx\n")
    (run.folder / "b.txt").write_text("x\n")
    assert run("grep", *arguments).lines == lines


def test_a_path_that_is_not_there_keeps_the_others_from_nothing(run: CommandLine) -> None:
    done = run("grep", "o", "notes.mx", "notes.md")
    assert (done.code, done.lines) == (1, ["notes.md:1:notes"])
    assert "Did you mean 'notes.md'?" in done.error
