from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filetools.errors import (
    AbortedError,
    DirectoryNotFoundError,
    InvalidArgumentError,
    PathNotDirectoryError,
    SymlinkNotAllowedError,
)
from filetools.models.searching import Entry, ListResult
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.search.listing import list_page
from filetools.search.options import ListOptions, decode_cursor, encode_cursor
from filetools.search.source import Listable
from tests.support.direct_store import CountedStore, DirectStore, open_store

Tree = dict[str, Any]


def grow(root: Path, tree: Tree) -> None:
    """Build a tree from a literal: a mapping is a folder, a text is a file."""
    for name, value in tree.items():
        if isinstance(value, dict):
            (root / name).mkdir(parents=True, exist_ok=True)
            grow(root / name, value)
        else:
            (root / name).write_text(value)


@pytest.fixture(params=["direct", "scanned"])
def store(request: pytest.FixtureRequest, direct: DirectStore) -> Listable:
    """The quick way through descriptors, and the way of any other store."""
    return direct if request.param == "direct" else CountedStore(direct)


def all_pages(store: Listable, path: WorkspacePath, options: ListOptions) -> list[str]:
    paths: list[str] = []
    cursor = None
    while True:
        page = list_page(store, path, options, cursor)
        assert len(page.entries) <= options.limit
        paths += [entry.path for entry in page.entries]
        cursor = page.next_cursor
        assert page.truncated is (cursor is not None)
        if cursor is None:
            return paths


NAMES = ListOptions(recursive=True, details=False)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_limit_out_of_range_is_refused(store: Listable, limit: int) -> None:
    with pytest.raises(InvalidArgumentError, match="limit must be 1 to 1000"):
        list_page(store, ROOT, ListOptions(limit=limit))


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("missing", DirectoryNotFoundError),
        ("file", PathNotDirectoryError),
        ("link", SymlinkNotAllowedError),
    ],
)
def test_what_is_no_folder_is_refused(store: Listable, tmp_path: Path, path: str, error: type[Exception]) -> None:
    grow(tmp_path, {"file": "", "folder": {}})
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(error):
        list_page(store, WorkspacePath(path), ListOptions())


@pytest.mark.parametrize(
    "cursor", ["", "x", "é", encode_cursor({}), encode_cursor({"after": 1, "type": "file", "of": ""})]
)
def test_malformed_cursor_is_refused(store: Listable, cursor: str) -> None:
    with pytest.raises(InvalidArgumentError, match="cursor"):
        list_page(store, ROOT, ListOptions(), cursor)


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("a", ListOptions(recursive=True, limit=1)),
        ("", ListOptions(recursive=True, limit=1, include_hidden=False)),
        ("", ListOptions(recursive=True, limit=1, use_gitignore=True)),
        ("", ListOptions(recursive=True, limit=1, max_depth=3)),
    ],
)
def test_cursor_of_another_listing_is_refused(store: Listable, tmp_path: Path, path: str, options: ListOptions) -> None:
    grow(tmp_path, {"a": {"b": "", "c": ""}})
    cursor = list_page(store, ROOT, ListOptions(recursive=True, limit=1)).next_cursor
    with pytest.raises(InvalidArgumentError, match="another path or with other options"):
        list_page(store, WorkspacePath(path), options, cursor)


def test_forged_cursor_does_not_leave_the_folder(direct: DirectStore, tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"x": ""}, "b": {"secret": ""}})
    store = CountedStore(direct)
    inside = WorkspacePath("a")
    options = ListOptions(recursive=True)
    cursor = encode_cursor({"after": "../b/0", "type": "file", "found": 0, "of": options.fingerprint(inside)})
    list_page(store, inside, options, cursor)
    assert store.scanned == ["a"]


def test_abort_stops_a_listing(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"b": {"c": ""}}})
    looks = iter([False, True])
    with pytest.raises(AbortedError):
        list_page(store, ROOT, NAMES, abort=lambda: next(looks))


def test_entries_say_what_they_are(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"folder": {}, "file.txt": "12345"})
    (tmp_path / "link").symlink_to("folder")
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "file.txt", "link", "pipe"):
        os.utime(tmp_path / name, (1_600_000_000, 1_600_000_000), follow_symlinks=False)
    moment = datetime.fromtimestamp(1_600_000_000, UTC)
    assert list_page(store, ROOT, ListOptions()) == ListResult(
        path="",
        entries=[
            Entry(name="folder", path="folder", type="directory", modified=moment),
            Entry(name="file.txt", path="file.txt", type="file", size=5, modified=moment),
            Entry(name="link", path="link", type="symlink", modified=moment),
            Entry(name="pipe", path="pipe", type="other", modified=moment),
        ],
        total=4,
    )


def test_order_is_depth_first_folders_first_then_folded_then_exact(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"b": {"z": "", "Y": {}}, "A": {"q": ""}, "a.txt": "", "B.txt": "", "b.txt": "", "_": "", "Z": ""})
    expected = ["A", "A/q", "b", "b/Y", "b/z", "_", "a.txt", "B.txt", "b.txt", "Z"]
    assert all_pages(store, ROOT, NAMES) == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_of_any_size_give_the_same_entries(store: Listable, tmp_path: Path, limit: int) -> None:
    grow(tmp_path, {"a": {"b": {"c": "", "d": {}}, "e": ""}, "f": {}, "g": {"h": {"i": {"j": ""}}}, "k": ""})
    whole = list_page(store, ROOT, NAMES)
    expected = [entry.path for entry in whole.entries]
    assert len(expected) == 11
    assert all_pages(store, ROOT, ListOptions(recursive=True, limit=limit)) == expected


def test_links_are_not_descended(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"real": {"x": ""}})
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "out").symlink_to("/etc")
    assert all_pages(store, ROOT, NAMES) == ["real", "real/x", "loop", "out"]


def test_state_and_temporary_files_are_not_listed(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"a": {".filetools": {"x": ""}, ".FileTools": {}, ".ft-0123456789abcdef": "", ".ft-kept": ""}})
    (tmp_path / "a" / ".file\u200ctools").mkdir()
    assert all_pages(store, ROOT, NAMES) == ["a", "a/.ft-kept"]


def test_default_excludes_hold_for_recursive_listings_only(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {".git": {"x": ""}, "node_modules": {"y": ""}, "src": {"a.swp": "", "b.tmp": "", "c": ""}})
    assert all_pages(store, ROOT, ListOptions(recursive=True, exclude=("*.tmp",))) == ["src", "src/c"]
    assert all_pages(store, ROOT, ListOptions()) == [".git", "node_modules", "src"]
    assert all_pages(store, ROOT, ListOptions(exclude=("src",))) == [".git", "node_modules"]


def test_depth_is_bounded(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"b": {"c": ""}, "d": {}}, "e": {}})
    depths = [all_pages(store, ROOT, ListOptions(recursive=True, max_depth=depth, limit=1)) for depth in (1, 2, 3)]
    assert depths == [
        ["a", "e"],
        ["a", "a/b", "a/d", "e"],
        ["a", "a/b", "a/b/c", "a/d", "e"],
    ]


def test_ignore_files_hold_from_their_folder_on(store: Listable, tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            ".gitignore": "*.log\n/build/\n[bad\n",
            "build": {"x": ""},
            "sub": {".gitignore": "!keep.log\n/local\n", "keep.log": "", "drop.log": "", "local": "", "build": {}},
            "top.log": "",
        },
    )
    options = ListOptions(recursive=True, use_gitignore=True, limit=2)
    assert all_pages(store, ROOT, options) == ["sub", "sub/build", "sub/.gitignore", "sub/keep.log", ".gitignore"]
    assert all_pages(store, WorkspacePath("sub"), ListOptions(use_gitignore=True)) == [
        "sub/build",
        "sub/.gitignore",
        "sub/keep.log",
    ]


def test_ignore_file_that_is_a_link_does_not_count(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"rules": "*.log\n", "a.log": ""})
    (tmp_path / ".gitignore").symlink_to("rules")
    assert all_pages(store, ROOT, ListOptions(use_gitignore=True)) == [".gitignore", "a.log", "rules"]


def test_changed_ignore_file_holds_at_once(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "a\n", "a": "", "b": ""})
    options = ListOptions(use_gitignore=True)
    assert all_pages(store, ROOT, options) == [".gitignore", "b"]
    (tmp_path / ".gitignore").write_text("b\n")
    assert all_pages(store, ROOT, options) == [".gitignore", "a"]


def test_names_that_cannot_be_addressed_are_escaped(store: Listable, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/d\\e"
    os.mkdir(folder)
    for name in (b"plain", b"caf\xe9", b"new\nline"):
        Path(os.fsdecode(folder + b"/" + name)).touch()
    (tmp_path / "C:x").touch()
    (tmp_path / " ").touch()
    page = list_page(store, ROOT, ListOptions(recursive=True, details=False))
    assert [(entry.name, entry.path, entry.addressable) for entry in page.entries] == [
        ("d\\\\e", "d\\\\e", False),
        ("caf\\xe9", "d\\\\e/caf\\xe9", False),
        ("new\nline", "d\\\\e/new\nline", False),
        ("plain", "d\\\\e/plain", False),
        (" ", " ", False),
        ("C:x", "C:x", False),
    ]
    assert json.loads(page.model_dump_json())["entries"][1]["name"] == "caf\\xe9"
    json.dumps(page.to_dict()).encode("utf-8")


def test_cursor_of_a_name_that_is_not_utf8_goes_on(store: Listable, tmp_path: Path) -> None:
    for name in (b"a\xff", b"a\xfe", b"b\\c", b"d"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).touch()
    assert all_pages(store, ROOT, ListOptions(limit=1)) == ["a\\xfe", "a\\xff", "b\\\\c", "d"]


def _calls_of_pages(store: CountedStore) -> list[dict[str, int]]:
    options = ListOptions(recursive=True, limit=20)
    store.reset()
    first = list_page(store, ROOT, options)
    calls = [dict(store.calls)]
    last = encode_cursor({**decode_cursor(str(first.next_cursor)), "after": "2/1/2/f1", "type": "file"})
    store.reset()
    list_page(store, ROOT, options, last)
    return [*calls, dict(store.calls)]


def test_cost_of_a_page_does_not_depend_on_the_size_of_the_tree(direct: DirectStore, tmp_path: Path) -> None:
    def level(depth: int) -> Tree:
        files: Tree = {f"f{number}": "" for number in range(3)}
        return files if not depth else {**files, **{str(number): level(depth - 1) for number in range(3)}}

    grow(tmp_path, level(3))
    store = CountedStore(direct)
    small = _calls_of_pages(store)
    for number in range(3, 10):
        grow(tmp_path, {str(number): level(3)})
    large = _calls_of_pages(store)
    assert large == small
    assert sum(large[1].values()) <= 2 * sum(large[0].values())


@contextmanager
def chain(root: Path, name: str, depth: int) -> Iterator[None]:
    """Make a folder in a folder in a folder, too deep for the recursive clean-up of pytest."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=descriptor)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    yield
    link, spare = root / name, root / "spare"
    for _ in range(depth - 1):
        (link / name).rename(spare)
        link.rmdir()
        spare.rename(link)
    link.rmdir()


def test_deep_tree_is_listed_without_recursion(store: Listable, tmp_path: Path) -> None:
    with chain(tmp_path, "d", 1100):
        paths = all_pages(store, ROOT, ListOptions(recursive=True, max_depth=10_000, details=False))
    assert len(paths) == 1100
    assert paths[-1] == "/".join(["d"] * 1100)


def test_folder_replaced_by_a_link_on_the_way_is_empty(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"x": ""}, "b": ""})
    cursor = list_page(store, ROOT, ListOptions(recursive=True, limit=1)).next_cursor
    (tmp_path / "a" / "x").unlink()
    (tmp_path / "a").rmdir()
    (tmp_path / "a").symlink_to("/etc")
    rest = list_page(store, ROOT, ListOptions(recursive=True, limit=9), cursor)
    assert [entry.path for entry in rest.entries] == ["a", "b"]


def test_folder_that_vanishes_during_a_page_is_empty(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"a": {}, "b": {"c": ""}})
    looks: list[int] = []

    def remove_on_the_way() -> bool:
        looks.append(1)
        # The first look comes before the root is read, the second when it has been.
        if len(looks) > 1 and (tmp_path / "a").exists():
            (tmp_path / "a").rmdir()
        return False

    page = list_page(store, ROOT, NAMES, abort=remove_on_the_way)
    assert [entry.path for entry in page.entries] == ["a", "b", "b/c"]


def test_no_descriptor_stays_open(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {"a": {"b": {"c": {}, "d": {}}, "e": {}}, ".gitignore": "x\n"})
    before = len(os.listdir("/proc/self/fd"))
    for limit in (1, 2, 3, 100):
        all_pages(store, ROOT, ListOptions(recursive=True, limit=limit, use_gitignore=True))
    looks = iter([False, False, False, True])
    with pytest.raises(AbortedError):
        list_page(store, ROOT, NAMES, abort=lambda: next(looks))
    with pytest.raises(InvalidArgumentError):
        list_page(store, ROOT, NAMES, "bad")
    assert len(os.listdir("/proc/self/fd")) == before


def _wait_until_old(folder: Path) -> None:
    while time.time_ns() - folder.stat().st_ctime_ns < 40_000_000:
        os.sched_yield()


def test_change_of_a_remembered_folder_shows_at_once(store: Listable, tmp_path: Path) -> None:
    grow(tmp_path, {str(number): "" for number in range(1000)})
    _wait_until_old(tmp_path)
    assert list_page(store, ROOT, ListOptions()).total == 1000
    for change in range(5):
        (tmp_path / f"new{change}").touch()
        assert list_page(store, ROOT, ListOptions()).total == 1001 + change


PATHS = st.lists(st.sampled_from(["a", "B", "c", "d"]), min_size=1, max_size=3).map("/".join)


def _put(root: Path, path: str, is_folder: bool) -> None:
    target = root / path
    if any((root / Path(*Path(path).parts[:depth])).is_file() for depth in range(1, len(Path(path).parts) + 1)):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        target.mkdir(exist_ok=True)
    elif not target.is_dir():
        target.touch()


def _remove(root: Path, path: str, lasting: set[str]) -> None:
    target = root / path
    if path in lasting or not target.exists():
        return
    if target.is_file():
        target.unlink()
    elif not any(target.iterdir()):
        target.rmdir()


@settings(max_examples=30, deadline=None)
@given(
    lasting=st.sets(PATHS, min_size=1, max_size=8),
    passing=st.lists(st.tuples(PATHS, st.booleans()), max_size=8),
    changes=st.lists(st.lists(st.tuples(st.booleans(), PATHS, st.booleans()), max_size=4), max_size=30),
    limit=st.integers(1, 4),
)
def test_what_exists_throughout_is_given_exactly_once_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    lasting: set[str],
    passing: list[tuple[str, bool]],
    changes: list[list[tuple[bool, str, bool]]],
    limit: int,
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for path in sorted(lasting):
        (root / path).mkdir(parents=True, exist_ok=True)
    # Folders with something in them cannot be removed below, so that these last, and all above them.
    kept = {path.relative_to(root).as_posix() for path in root.rglob("*")}
    for path, is_folder in passing:
        _put(root, path, is_folder)
    store = open_store(root)
    options = ListOptions(recursive=True, limit=limit, details=False)
    seen: list[tuple[str, str]] = []
    cursor, steps = None, iter(changes)
    try:
        while True:
            page = list_page(store, ROOT, options, cursor)
            # A file that comes where a folder was is another entry, and may stand behind the place of the folder.
            seen += [(entry.path, entry.type) for entry in page.entries]
            cursor = page.next_cursor
            if cursor is None:
                break
            for puts, path, is_folder in next(steps, []):
                if puts:
                    _put(root, path, is_folder)
                else:
                    _remove(root, path, kept)
    finally:
        store.close()
        store.workspace.close()
    assert [path for path, _ in seen if path in kept] == sorted(kept, key=_order)
    assert len(seen) == len(set(seen))


def _order(path: str) -> list[tuple[str, str]]:
    return [(name.casefold(), name) for name in path.split("/")]


class Replaced(DirectStore):
    """Opens a file instead of a folder, as if the folder could be opened and not be read."""

    def open_directory(self, path: WorkspacePath) -> int:
        return os.open(self.root / "a.txt", os.O_RDONLY)


def test_a_folder_that_opens_and_cannot_be_read_is_refused_with_a_typed_error(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": "", "d": {}})
    store = Replaced(Workspace.open(tmp_path))
    with pytest.raises(PathNotDirectoryError) as caught:
        list_page(store, WorkspacePath("d"), NAMES)
    assert caught.value.path == "d"
    store.close()
    store.workspace.close()
