"""Writing: a refused write leaves no trace; a successful one is reported completely."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from filetools.facade.facade import FileToolsFacade
from filetools.models.files import WriteResult
from tests.support import inside
from tests.support.crashing import grow, leftovers, snapshot
from tests.support.opened import names_of, recorded, refused, told, version


@pytest.fixture
def root(tmp_path: Path) -> Path:
    grow(tmp_path, {"a.txt": b"old\n", "d/e.txt": b"deep\n"})
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "dangling").symlink_to(tmp_path.with_name("outside"))
    return tmp_path


def standing(root: Path) -> dict[str, bytes | None]:
    (root / "pipe").unlink(missing_ok=True)
    (root / "link").unlink(missing_ok=True)
    (root / "dangling").unlink(missing_ok=True)
    return snapshot(root)


NO_PLACES: dict[str, list[Any]] = {
    "IS_A_DIRECTORY": ["d"],
    "NOT_A_REGULAR_FILE": ["pipe"],
    "SYMLINK_NOT_ALLOWED": ["link", "dangling", "dangling/x", "link/x"],
    "NOT_A_DIRECTORY": ["a.txt/x", "a.txt/x/y", "pipe/x"],
    "INVALID_PATH": [""],
    "PATH_TRAVERSAL": ["../x"],
    "PERMISSION_DENIED": [".filetools/x"],
    "PATH_TOO_LONG": ["x" * 256],
    "INVALID_ARGUMENT": [7],
}


async def test_a_path_where_no_file_can_be_is_refused(files: FileToolsFacade, root: Path) -> None:
    for code, given in NO_PLACES.items():
        for path in given:
            await refused(code, files.write_file(path, "x"))
            await refused(code, files.append_file(path, "x"))
            await refused(code if path not in ("a.txt",) else "FILE_EXISTS", files.create_file(path, "x"))
            await refused(code, files.copy_file("a.txt", path, overwrite=True))
    assert await recorded(files) == []
    assert standing(root) == {"a.txt": b"old\n", "d": None, "d/e.txt": b"deep\n"}
    assert not root.with_name("outside").exists()
    assert leftovers(root) == []


UNWRITABLE: dict[str, list[Any]] = {
    "INVALID_ARGUMENT": [
        {"content": None}, {"content": 5}, {"content": "x", "encoding": "no-such-codec"}, {"content": "x", "newline": "lf"},
        {"content": "x", "expected_version": "abc"}, {"content": "x", "expected_version": 5},
    ],
    "VERSION_MISMATCH": [{"content": "x", "expected_version": each} for each in ("0" * 12, f"sha256:{'0' * 64}")],
    "ENCODING_ERROR": [{"content": "!", "encoding": "base64"}, {"content": "\ud800"}, {"content": "ж", "encoding": "latin-1"}],
}  # fmt: skip


async def test_what_cannot_be_written_is_refused_and_changes_nothing(files: FileToolsFacade, root: Path) -> None:
    for code, given in UNWRITABLE.items():
        for options in given:
            heard = told(files)
            for path in ("a.txt", "new.txt") if code != "VERSION_MISMATCH" else ("a.txt",):
                error = await refused(code, files.write_file(path, **options))
                assert error.retryable is False
            assert (heard, await recorded(files)) == ([], [])
            assert standing(root) == {"a.txt": b"old\n", "d": None, "d/e.txt": b"deep\n"}


async def test_missing_parents_are_refused_where_they_are_not_wanted(files: FileToolsFacade, root: Path) -> None:
    error = await refused("DIR_NOT_FOUND", files.write_file("x/y.txt", "1", create_parents=False))
    assert error.path == "x"
    assert not (root / "x").exists()
    assert (await files.write_file("d/y.txt", "1", create_parents=False)).created


async def test_a_new_file_is_published_with_its_folders_outermost_first(files: FileToolsFacade, root: Path) -> None:
    heard = told(files)
    result = await files.write_file("x/y/z.txt", "text\n")
    assert result == WriteResult(
        path="x/y/z.txt", bytes_written=5, created=True, version=version("text\n"), number=result.number
    )
    assert names_of(heard) == [
        ("directory:created", "x"),
        ("directory:created", "x/y"),
        ("file:created", "x/y/z.txt"),
    ]
    assert await recorded(files) == [
        ("create_directory", "x", "agent"),
        ("create_directory", "x/y", "agent"),
        ("create", "x/y/z.txt", "agent"),
    ]
    assert (root / "x/y/z.txt").read_bytes() == b"text\n"


async def test_a_replaced_file_stays_readable_by_its_version(files: FileToolsFacade) -> None:
    heard = told(files)
    result = await files.write_file("a.txt", "new\n", expected_version=version("old\n")[:19])
    assert result == WriteResult(
        path="a.txt", bytes_written=4, created=False, version=version("new\n"), replaced_version=version("old\n"),
        number=result.number,
    )  # fmt: skip
    (event,) = heard
    plain = event.to_dict()
    assert plain.pop("lock_acquired") <= plain.pop("lock_released")
    assert plain == {
        "event": "file:modified",
        "path": "a.txt",
        "actor": {"kind": "agent", "id": files.actor.id},
        "seq": result.number,
        "version": version("new\n"),
        "size": 4,
        "source": "agent",
    }
    assert (await files.read_file("a.txt", version=version("old\n"))).content == "old\n"


async def test_equal_bytes_change_nothing(files: FileToolsFacade, root: Path) -> None:
    heard, before = told(files), (root / "a.txt").stat()
    result = await files.write_file("a.txt", "old\n", expected_version=version("old\n"))
    assert result == WriteResult(path="a.txt", bytes_written=4, created=False, version=version("old\n"), unchanged=True)
    assert (heard, await recorded(files)) == ([], [])
    assert ((root / "a.txt").stat().st_ino, (root / "a.txt").stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_bytes_and_base64_are_written_as_they_are(files: FileToolsFacade, root: Path) -> None:
    content = bytes(range(256))
    first = await files.write_file("b.bin", content)
    second = await files.write_file("c.bin", base64.b64encode(content).decode(), encoding="base64")
    assert (first.version, first.bytes_written) == (second.version, second.bytes_written) == (version(content), 256)
    assert (root / "b.bin").read_bytes() == (root / "c.bin").read_bytes() == content


async def test_a_file_that_exists_is_not_created(files: FileToolsFacade, root: Path) -> None:
    error = await refused("FILE_EXISTS", files.create_file("a.txt", "old\n"))
    assert (error.message, isinstance(error, FileExistsError)) == ("Already exists: a.txt", True)
    result = await files.create_file("n.txt")
    assert result == WriteResult(path="n.txt", bytes_written=0, created=True, version=version(""), number=result.number)


async def test_appending_counts_the_added_bytes(files: FileToolsFacade, root: Path) -> None:
    await refused("VERSION_MISMATCH", files.append_file("a.txt", "x", expected_version="0" * 64))
    await refused("VERSION_MISMATCH", files.append_file("n.txt", "x", expected_version=version("old\n")))
    result = await files.append_file("a.txt", "möre", expected_version=version("old\n"))
    assert result == WriteResult(
        path="a.txt", bytes_written=5, created=False, version=version("old\nmöre"), replaced_version=version("old\n"),
        number=result.number,
    )  # fmt: skip
    created = await files.append_file("n/n.txt", "1")
    assert created == WriteResult(
        path="n/n.txt", bytes_written=1, created=True, version=version("1"), number=created.number
    )
    assert (await files.append_file("a.txt", "")).unchanged
    assert (root / "a.txt").read_text() == "old\nmöre"


async def test_a_copy_is_refused_where_source_or_destination_do_not_fit(files: FileToolsFacade, root: Path) -> None:
    for source, destination, code in [
        ("no.txt", "b.txt", "FILE_NOT_FOUND"),
        ("d", "b.txt", "IS_A_DIRECTORY"),
        ("pipe", "b.txt", "NOT_A_REGULAR_FILE"),
        ("link", "b.txt", "SYMLINK_NOT_ALLOWED"),
        ("a.txt", "d/e.txt", "FILE_EXISTS"),
        ("a.txt", "d", "IS_A_DIRECTORY"),
        ("../a.txt", "b.txt", "PATH_TRAVERSAL"),
        (".filetools/state/id", "b.txt", "PERMISSION_DENIED"),
    ]:
        await refused(code, files.copy_file(source, destination))
    await refused("INVALID_ARGUMENT", files.copy_file("a.txt", "./a.txt", overwrite=True))
    assert standing(root) == {"a.txt": b"old\n", "d": None, "d/e.txt": b"deep\n"}
    assert await recorded(files) == []


async def test_a_copy_takes_bytes_and_mode(files: FileToolsFacade, root: Path) -> None:
    (root / "a.txt").chmod(0o750)
    result = await files.copy_file("a.txt", "c/b.txt")
    assert result == WriteResult(
        path="c/b.txt", bytes_written=4, created=True, version=version("old\n"), number=result.number
    )
    assert (root / "c/b.txt").stat().st_mode & 0o777 == 0o750
    over = await files.copy_file("a.txt", "d/e.txt", overwrite=True)
    assert (over.created, over.replaced_version) == (False, version("deep\n"))
    assert (root / "d/e.txt").stat().st_mode & 0o777 == 0o750


async def test_a_lock_timeout_reports_that_the_lock_is_held(files: FileToolsFacade, root: Path) -> None:
    await refused("INVALID_ARGUMENT", files.write_file("a.txt", "new", lock_timeout_seconds=-1))
    async with inside.at_work(files, "a.txt"):
        error = await refused("LOCK_TIMEOUT", files.write_file("a.txt", "new", lock_timeout_seconds=0.02))
        assert (error.path, error.retryable, error.suggested_action) == ("a.txt", True, "Wait 5 seconds and retry")
        assert error.message.startswith("Could not lock a.txt within 0.02 s; held by somebody")
        assert isinstance(error, TimeoutError)
    assert (await files.write_file("b.txt", "another file")).created
    assert (await files.write_file("a.txt", "new", lock_timeout_seconds=0)).version == version("new")
    assert await recorded(files) == [("create", "b.txt", "agent"), ("modify", "a.txt", "agent")]


@pytest.mark.parametrize(
    "text", ["QUJD=", "QUJD==", "QUI=QUI=", "QUI", "QUJ=", "QR==", "Q===", "=", "%%%%", "QU JD", "QUI=\n"]
)
async def test_base64_that_no_encoder_writes_is_refused(files: FileToolsFacade, root: Path, text: str) -> None:
    await refused("ENCODING_ERROR", files.write_file("z", text, encoding="base64"))
    await refused("ENCODING_ERROR", files.append_file("z", text, encoding="base64"))
    assert not (root / "z").exists()
