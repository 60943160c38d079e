"""Mode, owner, extended attributes and ACL of a file outlive its bytes."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

import pytest

from filetools.errors import AccessDeniedError
from filetools.stores.attributes import copy_attributes
from tests.support.store_worlds import FILE, FOLDER, OTHER, LocalWorld, exchanged
from tests.support.unprivileged import NOBODY, as_nobody

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
ACCESS = "system.posix_acl_access"
DEFAULT = "system.posix_acl_default"


def acl(user: int, group_bits: int) -> bytes:
    """An access list in the kernel's form: owner rw, one more user r, the group, a mask of rw, others nothing."""
    rows = [(0x01, 6, 0xFFFFFFFF), (0x02, 4, user), (0x04, group_bits, 0xFFFFFFFF), (0x10, 6, 0xFFFFFFFF)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in [*rows, (0x20, 0, 0xFFFFFFFF)])


def set_or_skip(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError as exc:
        pytest.skip(f"this file system has no {name}: {exc}")


def test_extended_attributes_are_kept(world: LocalWorld) -> None:
    set_or_skip(world.root / FILE, "user.origin", b"somewhere\0binary")
    set_or_skip(world.root / FILE, "user.empty", b"")
    exchanged(world, FILE, b"two").discard()
    found = {name: os.getxattr(world.root / FILE, name) for name in os.listxattr(world.root / FILE)}
    assert found == {"user.origin": b"somewhere\0binary", "user.empty": b""}


def test_an_access_list_is_kept_to_the_bit(world: LocalWorld) -> None:
    set_or_skip(world.root / FILE, ACCESS, acl(NOBODY, 4))
    before = os.getxattr(world.root / FILE, ACCESS), (world.root / FILE).stat().st_mode
    exchanged(world, FILE, b"two").discard()
    assert (os.getxattr(world.root / FILE, ACCESS), (world.root / FILE).stat().st_mode) == before


def test_a_default_access_list_does_not_leak_into_a_replaced_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    set_or_skip(root, DEFAULT, acl(NOBODY, 6))
    world = LocalWorld(root)
    (root / FILE).write_bytes(b"one")
    os.removexattr(root / FILE, ACCESS)
    (root / FILE).chmod(0o640)
    exchanged(world, FILE, b"two").discard()
    assert os.listxattr(root / FILE) == []
    assert stat.S_IMODE((root / FILE).stat().st_mode) == 0o640
    world.close()


def test_an_access_list_that_only_the_temporary_file_has_goes(tmp_path: Path) -> None:
    live, temporary = tmp_path / "live", tmp_path / "temporary"
    for path in (live, temporary):
        path.touch()
    set_or_skip(temporary, ACCESS, acl(NOBODY, 6))
    live.chmod(0o640)
    with live.open("rb") as source, temporary.open("wb") as target:
        copy_attributes(source.fileno(), os.fstat(source.fileno()), target.fileno())
    assert (os.listxattr(temporary), stat.S_IMODE(temporary.stat().st_mode)) == ([], 0o640)


def test_new_files_take_the_default_access_list_of_their_folder(world: LocalWorld) -> None:
    set_or_skip(world.root / FOLDER, DEFAULT, acl(NOBODY, 6))
    (world.root / FOLDER / "expected").touch()
    world.store.prepare(FOLDER.child("new"), b"x", new=True).exchange()
    pair = [world.root / FOLDER / name for name in ("new", "expected")]
    assert os.getxattr(pair[0], ACCESS) == os.getxattr(pair[1], ACCESS)
    assert pair[0].stat().st_mode == pair[1].stat().st_mode


def test_new_files_obey_the_umask(world: LocalWorld) -> None:
    before = os.umask(0o077)
    try:
        world.store.prepare(OTHER, b"x", new=True).exchange()
    finally:
        os.umask(before)
    assert stat.S_IMODE((world.root / OTHER).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o666, 0o640, 0o4755, 0o444])
def test_a_replacement_keeps_the_mode_whatever_the_umask(world: LocalWorld, mode: int) -> None:
    (world.root / FILE).chmod(mode)
    if not os.access(world.root / FILE, os.W_OK):
        pytest.skip("only root may replace what nobody may write")
    before = os.umask(0o077)
    try:
        exchanged(world, FILE, b"two").discard()
    finally:
        os.umask(before)
    assert stat.S_IMODE((world.root / FILE).stat().st_mode) == mode


@needs_root
def test_new_files_take_the_group_of_a_folder_that_hands_it_down(world: LocalWorld) -> None:
    os.chown(world.root / FOLDER, -1, 12345)
    (world.root / FOLDER).chmod(0o2775)
    world.store.prepare(FOLDER.child("new"), b"x", new=True).exchange()
    assert (world.root / FOLDER / "new").stat().st_gid == 12345


@needs_root
def test_the_owner_is_kept_and_with_it_the_set_id_bits(world: LocalWorld) -> None:
    os.chown(world.root / FILE, NOBODY, 12345)
    (world.root / FILE).chmod(0o6755)
    exchanged(world, FILE, b"two").discard()
    found = (world.root / FILE).stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (NOBODY, 12345, 0o6755)


@needs_root
def test_rights_granted_to_the_old_bytes_are_not_carried_over(native: LocalWorld) -> None:
    # cap_net_raw, effective and permitted, revision 2
    set_or_skip(native.root / FILE, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    exchanged(native, FILE, b"two").discard()
    assert "security.capability" not in os.listxattr(native.root / FILE)


@needs_root
@pytest.mark.parametrize(
    ("owner", "mode", "groups", "wanted"),
    [(NOBODY, 0o2674, (), (NOBODY, 0o644)), (0, 0o6755, (12345,), (12345, 0o755))],
    ids=["a group that gives no other group access", "an owner that takes the set id bits away"],
)
def test_what_cannot_be_kept_gives_nobody_more(
    tmp_path: Path, owner: int, mode: int, groups: tuple[int, ...], wanted: tuple[int, int]
) -> None:
    live, temporary = tmp_path / "live", tmp_path / "temporary"
    live.touch()
    os.chown(live, owner, 12345)
    live.chmod(mode)

    def copy() -> None:
        temporary.touch()
        with live.open("rb") as source, temporary.open("wb") as target:
            copy_attributes(source.fileno(), os.fstat(source.fileno()), target.fileno())
        found = temporary.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (NOBODY, *wanted)

    as_nobody(tmp_path, copy, groups=groups)


@needs_root
def test_who_may_not_write_is_refused_while_preparing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("closed/file.txt", "open/read-only.txt"):
        (root / name).parent.mkdir()
        (root / name).write_bytes(b"one")
        os.chown(root / name, NOBODY, NOBODY)
    (root / "open/read-only.txt").chmod(0o444)
    for folder in (root, root / "open"):
        os.chown(folder, NOBODY, NOBODY)

    def try_all() -> None:
        world = LocalWorld(root)
        resolve = world.workspace.resolve
        for path, is_new in (("closed/file.txt", False), ("closed/new.txt", True), ("open/read-only.txt", False)):
            with pytest.raises(AccessDeniedError):
                world.store.prepare(resolve(path), b"two", new=is_new)
        with pytest.raises(AccessDeniedError):
            world.store.remove(resolve("closed/file.txt"))
        with pytest.raises(AccessDeniedError):
            world.store.make_directory(resolve("closed/folder"))
        assert world.hidden() == set()
        world.close()

    as_nobody(tmp_path, try_all)
