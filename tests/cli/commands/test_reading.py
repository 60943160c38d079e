from __future__ import annotations

import codecs
import json

import pytest

from tests.support.terminal import CommandLine

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def test_read_refuses_a_folder(run: CommandLine) -> None:
    done = run("read", "src", "--json")
    assert (done.code, done.json["success"], done.json["error_code"]) == (1, False, "IS_A_DIRECTORY")


@pytest.mark.parametrize(
    "content",
    [
        b"one\r\ntwo\r\nno end",
        codecs.BOM_UTF8 + "mark é\n".encode(),
        codecs.BOM_UTF8 + b"mark \xff\n",
        codecs.BOM_UTF16_LE + "sixteen é\n".encode("utf-16-le"),
        "latin é\n".encode("latin-1"),
        PNG,
        b"",
    ],
    ids=["crlf", "mark", "mark and an invalid byte", "utf-16", "latin-1", "binary", "empty"],
)
def test_read_gives_a_pipe_the_very_bytes(run: CommandLine, content: bytes) -> None:
    (run.folder / "file").write_bytes(content)
    assert run("read", "file").raw == content


def test_read_prints_the_lines_asked_for(run: CommandLine) -> None:
    assert run("read", "src/app.py", "--offset", "2", "--limit", "1").text == "two\n"
    assert run("read", "app.py", "--offset", "-1", cwd=run.folder / "src").text == "three\n"


def test_read_of_a_binary_file_at_a_terminal_is_refused(run: CommandLine) -> None:
    (run.folder / "logo.png").write_bytes(PNG)
    done = run.at_terminal("read", "logo.png")
    assert (done.code, ": logo.png is binary (image/png, 264 bytes)" in done.text) == (1, True)
    assert ": Write it to a file: filetools read logo.png > FILE" in done.text
    assert "\x89PNG" not in done.raw.decode("latin-1")


def test_read_lets_no_text_steer_the_terminal(run: CommandLine) -> None:
    (run.folder / "log.txt").write_bytes(b"\x1b[31mred\x1b[0m\r\n\ttab\n")
    assert run.at_terminal("read", "log.txt").text.expandtabs() == "\\x1b[31mred\\x1b[0m\n        tab\n"
    assert run("read", "log.txt").raw == (run.folder / "log.txt").read_bytes()


def test_read_finds_an_earlier_version(run: CommandLine) -> None:
    old = run("write", "notes.md", "--content", "new\n", "--json").json["data"]["replaced_version"]
    assert run("read", "notes.md", "--version", old).text == "notes\n"
    assert run("read", "notes.md", "--version", old.removeprefix("sha256:")[:6]).text == "notes\n"
    refused = run("read", "notes.md", "--version", "000000")
    assert (refused.code, refused.error.splitlines()[-1]) == (
        1,
        "hint: List the kept versions with 'filetools versions'.",
    )


def test_ls_prints_paths_relative_to_the_root(run: CommandLine) -> None:
    run("mkdir", "src/deep")
    assert run("ls").lines == ["src/", "notes.md"]
    assert run("ls", cwd=run.folder / "src").lines == ["src/deep/", "src/app.py"]
    assert run("ls", "-R", "src").lines == ["src/deep/", "src/app.py"]


def test_ls_stops_at_a_limit_and_says_so(run: CommandLine) -> None:
    first = run("ls", "--limit", "1")
    assert (first.lines, first.error) == (["src/"], "Only the first 1 are shown; raise --limit to see more.\n")
    assert run("ls", "--limit", "2").error == ""
    told = run("ls", "--limit", "1", "--json").json["data"]
    assert ([entry["path"] for entry in told["entries"]], told["truncated"]) == (["src"], True)


def test_info_tells_the_facts(run: CommandLine) -> None:
    told = run("info", "src/app.py", "--json").json["data"]
    assert (told["path"], told["size"], told["newline"], told["total_lines"]) == ("src/app.py", 14, "lf", 3)
    shown = run("info", "src/app.py")
    assert f"version    {told['version'].removeprefix('sha256:')}" in shown.text
    assert "line ends  lf" in shown.text
    assert max(map(len, map(str.rstrip, shown.lines))) <= 80
    assert run("info", "nope").code == 1


def test_ls_prints_every_page(run: CommandLine) -> None:
    for number in range(1100):
        (run.folder / "src" / f"{number}.txt").touch()
    everything = run("ls", "-R")
    assert (len(everything.lines), everything.error) == (1103, "")
    pages = [json.loads(line)["data"] for line in run("ls", "-R", "--json").lines]
    assert [(len(page["entries"]), page["truncated"]) for page in pages] == [(1000, True), (103, False)]
