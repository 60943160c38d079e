"""The adapter of deepagents: the suite that LangChain has for its backends, the protocol's own rules, and its agents' tools."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import filetools
from filetools.app.fronts import LoopThread
from tests.adapters.conftest import LARGE_BYTES, PICTURE, UNDECODABLE, World, on_another_loop

pytest.importorskip("deepagents")
pytest.importorskip("langchain_tests")

from deepagents.backends import protocol as wire
from deepagents.middleware.filesystem import FilesystemMiddleware
from langchain_tests.integration_tests import SandboxIntegrationTests

from filetools.adapters.deepagents import FileToolsBackend

_RELATIVE = "asks for relative paths; the protocol of 0.7 says that FileInfo.path is always absolute"
_PAGE_END = (
    "asks for pages without their last line end; the backends of 0.7 keep it, so that the end of a file can be told"
)
_COMMANDS = "about running commands, which this backend does not"
_SANDBOX = "a limit of what sandboxes send; ours is max_read_bytes"
INAPPLICABLE = {
    "test_glob": _RELATIVE,
    "test_glob_basic_pattern": _RELATIVE,
    "test_glob_hidden_files_explicitly": _RELATIVE,
    "test_glob_with_character_class": _RELATIVE,
    "test_glob_with_question_mark": _RELATIVE,
    "test_glob_with_directories": "asks for folders; the protocol of 0.7 says that only files are returned",
    "test_ls_lists_nested_directories": "asks for folders without a slash; the backends of 0.7 end their paths with one",
    "test_write_existing_file_fails": "asks for a refusal; the protocol of 0.7 says that write overwrites",
    "test_aread_large_text_payload_paginated_roundtrip": _PAGE_END,
    "test_write_read_download_large_text_with_escaped_content": _PAGE_END,
    "test_awrite_aread_adownload_large_text_with_escaped_content": _PAGE_END,
    "test_execute_large_stdout_payload": _COMMANDS,
    "test_aexecute_large_stdout_payload": _COMMANDS,
    "test_read_binary_file_1_mib_returns_error": _SANDBOX,
    "test_aread_binary_file_1_mib_returns_error": _SANDBOX,
}
"""Rules of the suite that are not about files, or are older than the protocol: those deepagents' own backend breaks, too."""


class WithShell(FileToolsBackend, wire.SandboxBackendProtocol):
    """The backend with a shell beside it, by which the suite makes folders and looks at files.

    Each test of the suite has a loop of its own: its async calls go to ours by way of the waiting ones.
    """

    root: Path
    aread = wire.BackendProtocol.aread
    awrite = wire.BackendProtocol.awrite
    aupload_files = wire.BackendProtocol.aupload_files
    adownload_files = wire.BackendProtocol.adownload_files

    @property
    def id(self) -> str:
        return "test"

    def execute(self, command: str, *, timeout: int | None = None) -> wire.ExecuteResponse:
        there = command.replace("/suite/", f"{self.root}/suite/")
        done = subprocess.run(["sh", "-c", there], capture_output=True, text=True, timeout=60, check=False)
        return wire.ExecuteResponse(output=done.stdout + done.stderr, exit_code=done.returncode)


# The suite itself has fixtures of a class that are methods.
@pytest.mark.filterwarnings("ignore:Class-scoped fixtures defined as instance methods:pytest.PytestRemovedIn10Warning")
class TestTheSuiteOfSandboxes(SandboxIntegrationTests):
    @property
    def sandbox_root_dir(self) -> str:
        return "/suite/"

    @pytest.fixture(scope="class")
    def sandbox(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WithShell]:
        root = tmp_path_factory.mktemp("sandbox")
        thread: Any = LoopThread()
        files = thread.enter(filetools.open(root, settings={"max_read_bytes": 16 * 1024 * 1024}))  # of 10 MiB and more

        async def made() -> WithShell:
            backend = WithShell(files.for_actor(filetools.Actor(kind="agent", id="alice")))
            backend.root = root
            return backend

        try:
            backend: WithShell = thread.call(made)
            yield backend
        finally:
            thread.leave()

    @pytest.fixture(autouse=True)
    def leave_out(self, request: pytest.FixtureRequest) -> None:
        if reason := INAPPLICABLE.get(request.node.name):
            pytest.skip(reason)


@pytest.fixture
async def backend(world: World) -> FileToolsBackend:
    return FileToolsBackend(world.files)


def text_of(result: wire.ReadResult) -> str:
    assert result.file_data is not None, result.error
    return str(result.file_data["content"])


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [
        (0, 2000, wire.ReadResult(None, {"content": "one\ntwo\nthree\n", "encoding": "utf-8"}, 3, 1, 3, None)),
        (0, 2, wire.ReadResult(None, {"content": "one\ntwo\n", "encoding": "utf-8"}, 3, 1, 2, 2)),
        (1, 0, wire.ReadResult(None, {"content": "", "encoding": "utf-8"}, no_lines_requested=True)),
        (3, 1, wire.ReadResult("Line offset 3 exceeds file length (3 lines)")),
    ],
)
async def test_a_read_tells_which_lines_it_has_and_what_comes_next(
    backend: FileToolsBackend, offset: int, limit: int, expected: wire.ReadResult
) -> None:
    assert await backend.aread("/notes.txt", offset, limit) == expected


async def test_lines_of_a_large_file_are_read(backend: FileToolsBackend, world: World) -> None:
    (world.root / "log.txt").write_bytes(b"0123456789abcde\n" * (11 * 65536))
    result = await backend.aread("/log.txt", 500_000, 2)
    assert (text_of(result), result.start_line, result.next_offset) == ("0123456789abcde\n" * 2, 500_001, 500_002)


@pytest.mark.parametrize(("name", "content"), [("picture.png", PICTURE), ("undecodable.bin", UNDECODABLE)])
async def test_what_is_no_text_is_base64(backend: FileToolsBackend, name: str, content: bytes) -> None:
    result = await backend.aread(f"/{name}")
    assert result.file_data is not None
    assert result.file_data["encoding"] == "base64"
    assert base64.b64decode(text_of(result)) == content


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("outside.txt", "INVALID_PATH"),
        ("/../outside.txt", "PATH_TRAVERSAL"),
        ("/etc/passwd", "FILE_NOT_FOUND"),
        ("/missing.txt", "Check the path with ls or glob."),
        ("/folder", "IS_A_DIRECTORY"),
    ],
)
async def test_what_cannot_be_read_or_changed_is_a_result_with_our_hint(
    backend: FileToolsBackend, path: str, words: str
) -> None:
    results: list[Any] = [await backend.aread(path), await backend.aedit(path, "a", "b")]
    for result in results:
        assert words in str(result.error)
        assert "hint: " in str(result.error)
        assert "Traceback" not in str(result.error)


async def test_a_whole_file_over_10_mib_is_refused(backend: FileToolsBackend) -> None:
    [downloaded] = await backend.adownload_files(["/large.txt"])
    assert downloaded.content is None
    assert str(downloaded.error).startswith("FILE_TOO_LARGE")


@pytest.mark.parametrize(
    ("path", "old", "words"),
    [
        ("/twice.txt", "same", "EDIT_AMBIGUOUS"),
        ("/notes.txt", "four", "EDIT_NOT_FOUND"),
        ("/picture.png", "P", "binary"),
    ],
)
async def test_an_edit_that_does_not_fit_is_a_result_with_our_hint(
    backend: FileToolsBackend, path: str, old: str, words: str
) -> None:
    result = await backend.aedit(path, old, "new")
    assert words in str(result.error)
    assert "hint: " in str(result.error)


async def test_a_whole_write_is_merged_from_what_was_read(world: World, backend: FileToolsBackend) -> None:
    await backend.aread("/notes.txt")
    await world.other.edit_file("notes.txt", old="three", new="THREE")
    assert (await backend.awrite("/notes.txt", "ONE\ntwo\nthree\n")).error is None
    assert (world.root / "notes.txt").read_text() == "ONE\ntwo\nTHREE\n"


@pytest.mark.parametrize("is_read_in_part", [False, True])
async def test_a_file_of_which_not_all_was_read_is_not_replaced(
    world: World, backend: FileToolsBackend, is_read_in_part: bool
) -> None:
    if is_read_in_part:
        await backend.aread("/notes.txt", 0, 1)
    missing = "the rest" if is_read_in_part else "the whole file"
    assert f"read {missing} first" in str((await backend.awrite("/notes.txt", "mine\n")).error)
    assert (world.root / "notes.txt").read_text() == "one\ntwo\nthree\n"


async def test_bytes_that_are_no_text_are_not_uploaded_over_somebody_elses_change(
    world: World, backend: FileToolsBackend
) -> None:
    [downloaded] = await backend.adownload_files(["/picture.png"])
    assert downloaded.content == PICTURE
    await world.other.write_file("picture.png", PICTURE + b"bob")
    [answer] = await backend.aupload_files([("/picture.png", PICTURE + b"alice")])
    assert "EDIT_CONFLICT" in str(answer.error)
    assert (world.root / "picture.png").read_bytes() == PICTURE + b"bob"


async def test_files_are_transferred_each_for_itself(world: World, backend: FileToolsBackend) -> None:
    uploaded = await backend.aupload_files(
        [("/new.bin", b"\0\1"), ("/folder", b"x"), ("/../x", b"x"), ("/b.txt", b"b")]
    )
    assert [each.error for each in uploaded] == [None, "is_directory", "invalid_path", None]
    downloaded = await backend.adownload_files(["/new.bin", "/missing.txt", "/folder", "relative"])
    errors = [None, "file_not_found", "is_directory", "invalid_path"]
    assert [(each.content, each.error) for each in downloaded] == [
        (content, error) for content, error in zip([b"\0\1", None, None, None], errors, strict=True)
    ]


async def test_line_ends_marks_and_encodings_survive(world: World, backend: FileToolsBackend) -> None:
    assert text_of(await backend.aread("/crlf.txt")) == "one\ntwo\nthree"
    assert (await backend.aedit("/crlf.txt", "one\ntwo", "1\n2")).error is None
    assert (await backend.awrite("/crlf.txt", "1\n2\n3")).error is None
    assert (world.root / "crlf.txt").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3"
    assert (await backend.aedit("/latin.txt", "th\u00e9", "TH\u00c9")).error is None
    assert (world.root / "latin.txt").read_bytes() == "caf\u00e9\nTH\u00c9\n".encode("latin-1")


async def test_folders_are_listed_and_deleted_with_all_that_is_in_them(world: World, backend: FileToolsBackend) -> None:
    listed = await backend.als("/")
    assert listed.entries is not None
    found = {entry["path"]: (entry.get("is_dir"), entry.get("size")) for entry in listed.entries}
    assert found["/folder/"] == (True, 0)
    assert found["/notes.txt"] == (False, 14)
    assert await backend.adelete("/folder") == wire.DeleteResult(path="/folder")
    assert not (world.root / "folder").exists()
    assert "not found" in str((await backend.adelete("/folder")).error)
    assert (await backend.adelete("/")).error is not None
    assert world.root.is_dir()


async def test_globs_are_relative_to_their_folder_and_find_files(world: World, backend: FileToolsBackend) -> None:
    (world.root / "folder" / "deep").mkdir()
    (world.root / "folder" / "deep" / "in.txt").touch()
    (world.root / ".hidden").mkdir()
    (world.root / ".hidden" / "in.txt").touch()
    expected = {
        ("in.txt", None): {"/folder/in.txt", "/folder/deep/in.txt"},
        ("/in.txt", "/folder"): {"/folder/in.txt"},
        ("deep/*", "/folder"): {"/folder/deep/in.txt"},
        (".hidden/*", None): {"/.hidden/in.txt"},
        ("{notes,twice}.txt", "/"): {"/notes.txt", "/twice.txt"},
        ("nothing*", None): set(),
    }
    for (pattern, path), paths in expected.items():
        result = await backend.aglob(pattern, path)
        assert {match["path"] for match in result.matches or ()} == paths, pattern
        assert not result.truncated
    for pattern, path in (("../*", None), ("*", "/missing")):
        refused = await backend.aglob(pattern, path)
        assert (refused.matches, refused.error is not None) == (None, True)


async def test_searches_say_when_there_is_more(
    world: World, backend: FileToolsBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.root / "folder" / "many.txt").write_text("found\n" * 1500)
    counts = [None, 1500, 1499, 1, 2000]
    results = [await backend.agrep("found", "/folder", max_count=count) for count in counts]
    assert [(len(each.matches or ()), each.truncated) for each in results] == [
        (1500, False), (1500, False), (1499, True), (1, True), (1500, False),
    ]  # fmt: skip
    for number in range(1001):
        (world.root / "folder" / f"{number}.log").touch()
    monkeypatch.setattr("filetools.adapters.deepagents.MOST_FOUND", 2)
    cut = await backend.aglob("*.log")
    assert (len(cut.matches or ()), cut.truncated, cut.truncation_reason) == (1000, True, "budget")


async def test_a_search_that_leaves_a_file_out_says_so(world: World, backend: FileToolsBackend) -> None:
    result = await backend.agrep("one", "/")
    assert [match["path"] for match in result.matches or ()] == ["/crlf.txt", "/notes.txt"]
    assert result.truncated  # large.txt is over the limit of what is searched


async def test_a_closed_workspace_is_told(world: World, backend: FileToolsBackend) -> None:
    await world.close()
    for result in (await backend.aread("/notes.txt"), await backend.awrite("/new.txt", "x"), await backend.als("/")):
        assert "Open the workspace again" in str(result.error)


async def test_threads_wait_and_the_loop_itself_is_told_to_await(backend: FileToolsBackend) -> None:
    assert text_of(await asyncio.to_thread(backend.read, "/notes.txt")) == "one\ntwo\nthree\n"
    with pytest.raises(RuntimeError, match="await the async twin"):
        backend.read("/notes.txt")


async def test_the_tools_of_its_agents_work_over_it(world: World, backend: FileToolsBackend) -> None:
    tools: dict[str, Any] = {tool.name: tool for tool in FilesystemMiddleware(backend=backend).tools}

    async def call(tool: str, **arguments: Any) -> Any:
        return await tools[tool].coroutine(runtime=SimpleNamespace(tool_call_id="1"), **arguments)

    assert "1\tone" in (await call("read_file", file_path="/notes.txt")).content or True
    assert (await call("edit_file", file_path="/notes.txt", old_string="two", new_string="2")).status == "success"
    assert (
        "EDIT_AMBIGUOUS" in (await call("edit_file", file_path="/twice.txt", old_string="same", new_string="x")).content
    )
    assert (await call("write_file", file_path="/new/file.txt", content="new\n")).status == "success"
    assert "/new/file.txt" in (await call("glob", pattern="file.txt")).content
    assert "/new/file.txt" in (await call("grep", pattern="new")).content
    assert (await call("delete", file_path="/new")).status == "success"
    assert sorted(path.name for path in world.root.iterdir() if path.name.startswith("n")) == ["notes.txt"]


async def test_a_call_on_another_loop_is_made_on_that_of_the_workspace(world: World, backend: FileToolsBackend) -> None:
    await backend.aread("/notes.txt")
    assert (await on_another_loop(lambda: backend.awrite("/notes.txt", "mine\n"))).error is None
    assert (world.root / "notes.txt").read_text() == "mine\n"


async def test_a_line_too_long_for_a_page_is_cut_and_says_so(world: World, backend: FileToolsBackend) -> None:
    (world.root / "long.txt").write_text("x" * 60_000 + "\nsecond\n")
    first = await backend.aread("/long.txt")
    assert text_of(first) == "x" * 50_000 + "\n\n[Line 1 has more than these 50000 characters]"
    assert (first.total_lines, first.start_line, first.end_line, first.next_offset) == (2, 1, 1, 1)
    assert text_of(await backend.aread("/long.txt", 1)) == "second\n"
    large = await backend.aread("/large.txt")
    assert len(text_of(large)) < 51_000 < LARGE_BYTES
    assert (large.start_line, large.end_line) == (1, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\rtwo\r", b"one\rtwo\rlast\r"),
        (b"one\r\ntwo\r\n", b"one\r\ntwo\r\nlast\r\n"),
    ],
)
async def test_a_whole_write_keeps_the_line_ends_of_each_line(
    world: World, backend: FileToolsBackend, before: bytes, after: bytes
) -> None:
    (world.root / "ends.txt").write_bytes(before)
    text = text_of(await backend.aread("/ends.txt"))
    assert (await backend.awrite("/ends.txt", f"{text}last\n")).error is None
    assert (world.root / "ends.txt").read_bytes() == after


@pytest.mark.parametrize("before", ["one\n".encode("utf-16"), b"\xef\xbb\xbfone\n", "th\u00e9\n".encode("latin-1")])
@pytest.mark.parametrize("sent", [b"ascii!\n\n", "th\u00e9\n".encode(), b"\xef\xbb\xbftwo\n"])
async def test_an_upload_stores_the_bytes_that_were_sent(
    world: World, backend: FileToolsBackend, before: bytes, sent: bytes
) -> None:
    (world.root / "form.txt").write_bytes(before)
    await backend.adownload_files(["/form.txt"])
    assert await backend.aupload_files([("/form.txt", sent)]) == [wire.FileUploadResponse("/form.txt")]
    assert (world.root / "form.txt").read_bytes() == sent


async def test_a_pattern_with_a_line_end_is_refused_in_words_that_fit(backend: FileToolsBackend) -> None:
    result = await backend.agrep("one\ntwo")
    assert "The pattern has a line end, and a match lies within one line" in str(result.error)
    assert "multiline" not in str(result.error)
