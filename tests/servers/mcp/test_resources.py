from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Literal

import mcp_types as wire
import pytest
from mcp import Client
from mcp_types import INVALID_PARAMS, BlobResourceContents, ResourceTemplateReference, TextResourceContents

from filetools.content.version import version_of
from filetools.errors import InvalidPathError
from filetools.models.records import Actor
from filetools.servers.mcp.resources import Address, file_address, local_address, parse_address
from tests.support.mcp_clients import ERAS, opened_door, refused

FILE_TEMPLATE = ResourceTemplateReference(uri="filetools:///files/{+path}")
NAMES = ["a b.txt", "100%.txt", "what?.txt", "#1.txt", "ä/ö.txt", "a+b&c=d.txt", "[x]{y}.txt"]


@pytest.mark.parametrize(
    "uri",
    [
        "filetools:///nothing/a", "filetools:///files", "filetools://host/files/a", "http:///files/a", "files/a",
        "filetools:///files/a?b", "filetools:///files/a#b", "filetools:///files/%ff", "file:///elsewhere/a",
        "file:///rootless/a", "file://host/root/a", "",
    ],
)  # fmt: skip
def test_what_is_no_address_of_ours_is_refused(uri: str) -> None:
    with pytest.raises(InvalidPathError):
        parse_address(uri, Path("/root"))


@pytest.mark.parametrize("name", NAMES)
def test_an_address_gives_its_path_back(name: str) -> None:
    assert parse_address(file_address(name)) == Address("files", name)
    assert parse_address(local_address(Path("/root"), name), Path("/root")) == Address("files", name)


def test_addresses_of_the_machine_are_understood_only_where_the_root_is_told() -> None:
    with pytest.raises(InvalidPathError):
        parse_address("file:///root/a")


@pytest.mark.parametrize(("mode", "code"), [("auto", INVALID_PARAMS), ("legacy", -32002)])
@pytest.mark.parametrize(
    "uri",
    [
        "filetools:///files/nope", "filetools:///files/../secret", "filetools:///versions/" + "0" * 64,
        "filetools:///buffers/nope", "file:///etc/passwd", "filetools:///fds/fd:7",
    ],
)  # fmt: skip
async def test_a_missing_resource_is_an_error_of_the_protocol(root: Path, mode: str, code: int, uri: str) -> None:
    async with opened_door(root, mode, file_root=root) as (client, _):
        error = await refused(code, client.read_resource(uri))
        assert error.data["uri"] == uri


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("path", [".filetools/journal.db", ".filetools"])
async def test_what_is_out_of_reach_is_a_fault_of_the_request(root: Path, mode: str, path: str) -> None:
    async with opened_door(root, mode) as (client, _):
        error = await refused(INVALID_PARAMS, client.read_resource(f"filetools:///files/{path}"))
        assert error.data["error_code"] == "PERMISSION_DENIED"


async def test_files_are_read_whole_and_as_bytes_where_they_are_no_text(root: Path) -> None:
    (root / "a.zip").write_bytes(b"PK\x03\x04" + bytes(40))
    async with opened_door(root, file_root=root) as (client, _):
        for uri in ("filetools:///files/src/app.py", (root / "src" / "app.py").as_uri()):
            [contents] = (await client.read_resource(uri)).contents
            assert isinstance(contents, TextResourceContents)
            assert (contents.text, contents.uri) == ("one\ntwo\nthree\n", uri)
            assert contents.meta == {"filetools/version": version_of(b"one\ntwo\nthree\n")}
        [contents] = (await client.read_resource("filetools:///files/a.zip")).contents
        assert isinstance(contents, BlobResourceContents)
        assert base64.b64decode(contents.blob) == (root / "a.zip").read_bytes()


async def test_a_folder_lists_its_children(root: Path) -> None:
    async with opened_door(root) as (client, _):
        for uri, rows in (
            ("filetools:///files/", "filetools:///files/src/\nfiletools:///files/notes.md\n"),
            ("filetools:///files/src", "filetools:///files/src/app.py\n"),
        ):
            [contents] = (await client.read_resource(uri)).contents
            assert isinstance(contents, TextResourceContents)
            assert (contents.text, contents.mime_type) == (rows, "inode/directory")


async def test_a_kept_version_is_read_by_its_hash(root: Path) -> None:
    async with opened_door(root) as (client, files):
        old = (await files.read_file("notes.md")).version
        await files.write_file("notes.md", "new\n", expected_version=old)
        for name in (old, old.removeprefix("sha256:")):
            [contents] = (await client.read_resource(f"filetools:///versions/{name}")).contents
            assert isinstance(contents, TextResourceContents)
            assert contents.text == "notes\n"


async def test_an_open_document_is_read_by_its_handle_and_its_text_by_the_path(root: Path) -> None:
    async with opened_door(root) as (client, files):
        person = files.for_actor(Actor(kind="editor", id="ann"))
        opened = await person.buffers.open("notes.md")
        await person.buffers.change(opened.handle, buffer_version=1, text="unsaved\n")
        for uri in (f"filetools:///buffers/{opened.handle}", "filetools:///files/notes.md"):
            [contents] = (await client.read_resource(uri)).contents
            assert isinstance(contents, TextResourceContents)
            assert contents.text == "unsaved\n"


@pytest.mark.parametrize("mode", ERAS)
async def test_all_resources_are_listed_in_pages(root: Path, mode: str) -> None:
    (root / "many").mkdir()
    for number in range(700):
        (root / "many" / f"{number}.txt").touch()
    (root / ".gitignore").write_text("notes.md\n")
    async with opened_door(root, mode) as (client, _):
        first = await client.list_resources()
        assert len(first.resources) == 500
        second = await client.list_resources(cursor=first.next_cursor)
        assert second.next_cursor is None
        found = {each.uri: each.mime_type for each in [*first.resources, *second.resources]}
        await refused(INVALID_PARAMS, client.list_resources(cursor="nonsense"))
    assert len(found) == 704
    assert found["filetools:///files/many"] == "inode/directory"
    assert "filetools:///files/notes.md" not in found


async def test_the_forms_of_addresses_are_told(root: Path) -> None:
    async with opened_door(root) as (client, _):
        templates = (await client.list_resource_templates()).resource_templates
    assert [each.uri_template for each in templates] == [
        "filetools:///files/{+path}", "filetools:///versions/{hash}", "filetools:///buffers/{handle}",
        "filetools:///fds/{id}",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("typed", "values"),
    [("", ["src/", "notes.md"]), ("s", ["src/"]), ("src/a", ["src/app.py"]), ("nope/x", []), ("../", []), ("S", [])],
)
async def test_paths_are_completed(root: Path, mode: str, typed: str, values: list[str]) -> None:
    async with opened_door(root, mode) as (client, _):
        completion = (await client.complete(FILE_TEMPLATE, {"name": "path", "value": typed})).completion
    assert (completion.values, completion.has_more) == (values, False)


class SkillsResult(wire.PaginatedResult, wire.CacheableResult):
    """The extension's `ListSkillsResult`, of which nothing but its list matters here."""

    result_type: Literal["complete"]
    skills: list[dict[str, Any]]


class DirectoryResult(wire.PaginatedResult):
    """The extension's `ReadResourceDirectoryResult`."""

    result_type: Literal["complete"]
    resources: list[wire.Resource]


async def directory(client: Client, uri: str, **more: Any) -> DirectoryResult:
    request = wire.Request[dict[str, Any], str](method="resources/directory/read", params={"uri": uri, **more})
    result: DirectoryResult = await client.session.send_request(request, DirectoryResult)
    return result


async def test_a_folder_is_read_as_the_extension_has_it(root: Path) -> None:
    (root / ".hidden").touch()
    async with opened_door(root) as (client, _):
        found = await directory(client, "filetools:///files/")
        assert client.server_capabilities.extensions == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
        below = await directory(client, "filetools:///files/src")
    assert {each.uri: (each.name, each.mime_type) for each in found.resources} == {
        "filetools:///files/src": ("src", "inode/directory"),
        "filetools:///files/.hidden": (".hidden", None),
        "filetools:///files/notes.md": ("notes.md", "text/markdown"),
    }
    assert [(each.uri, each.size) for each in below.resources] == [("filetools:///files/src/app.py", 14)]


async def test_a_large_folder_is_read_in_pages(root: Path) -> None:
    (root / "many").mkdir()
    for number in range(700):
        (root / "many" / f"{number}.txt").touch()
    async with opened_door(root) as (client, _):
        first = await directory(client, "filetools:///files/many")
        second = await directory(client, "filetools:///files/many", cursor=first.next_cursor)
        await refused(INVALID_PARAMS, directory(client, "filetools:///files/many", cursor="nonsense"))
    assert (len(first.resources), len(second.resources), second.next_cursor) == (500, 200, None)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    "uri",
    [
        "filetools:///files/notes.md", "filetools:///files/../up", "filetools:///buffers/x", "file:///etc",
    ],
)  # fmt: skip
async def test_what_is_no_folder_is_a_wrong_argument(root: Path, mode: str, uri: str) -> None:
    async with opened_door(root, mode) as (client, _):
        error = await refused(INVALID_PARAMS, directory(client, uri))
    assert error.data["uri"] == uri
