from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import filetools
from filetools.paths.root import ResolverChoice
from filetools.paths.workspace import NameRules, Workspace, probe_rules
from filetools.paths.workspace_path import WorkspacePath
from tests.support.mounts import CASELESS, caseless


def test_nothing_is_created_without_a_state_directory(root: Path, resolver: ResolverChoice) -> None:
    workspace = Workspace.open(root, resolver=resolver)
    assert list(root.iterdir()) == []
    assert workspace.key(workspace.resolve("Stra\u00dfe")) == "Stra\u00dfe"
    workspace.close()


def test_a_planted_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / ".filetools").symlink_to(tmp_path / "outside")
    Workspace.open(root).close()
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("planted", ["link", "pipe", "directory"])
def test_a_planted_probe_is_not_used(root: Path, tmp_path: Path, planted: str) -> None:
    state = root / ".filetools"
    state.mkdir()
    probe = state / "probe-A-\u00e9"
    if planted == "link":
        probe.symlink_to(tmp_path / "outside")
    elif planted == "pipe":
        os.mkfifo(probe)
    else:
        probe.mkdir()
    assert probe_rules(state, os.stat(root).st_dev) == NameRules()
    assert not (tmp_path / "outside").exists()


def test_another_device_tells_nothing(root: Path) -> None:
    assert probe_rules(root, os.stat(root).st_dev + 1) == NameRules()
    assert list(root.iterdir()) == []


def test_the_probe_tells_a_twin_from_a_spelling(root: Path) -> None:
    (root / "probe-a-\u00e9").touch()
    (root / "probe-A-e\u0301").touch()
    assert probe_rules(root, os.stat(root).st_dev) == NameRules()


@pytest.mark.parametrize("make", CASELESS)
async def test_two_spellings_are_one_file_on_a_disk_that_ignores_case(tmp_path: Path, make: str) -> None:
    with caseless(tmp_path, make) as disk:
        root = disk / "root"
        root.mkdir()
        async with filetools.open(root, state_dir=tmp_path / "state", settings={"watch": False}) as files:
            version = (await files.write_file("README.md", "0\n")).version
            for count in range(1, 9):
                one, other = ("README.md", "readme.md")[:: 1 - count % 2 * 2]
                # exFAT's driver goes on showing what was read under one spelling while the other one is replaced.
                stale = (await files.read_file(other)).version
                version = (await files.write_file(one, f"{count}\n", expected_version=version)).version
                with pytest.raises(filetools.FileToolsError, match="it is at"):
                    await files.write_file(other, "other\n", expected_version=stale)
            await files.move_file("README.md", "Readme.md")
        assert [name.casefold() for name in os.listdir(root) if name != ".filetools"] == ["readme.md"]
        assert (root / "Readme.md").read_text() == "8\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="making a file system needs root")
def test_a_folding_file_system_is_recognised(tmp_path: Path) -> None:
    image, place = tmp_path / "image", tmp_path / "mounted"
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(8 * 1024 * 1024)
    made = ["mkfs.ext4", "-q", "-O", "casefold", str(image)]
    for command in (made, ["mount", "-o", "loop", str(image), str(place)]):
        try:
            done = subprocess.run(command, check=False, capture_output=True)
        except FileNotFoundError:
            pytest.skip(f"{command[0]} is missing")
        if done.returncode:
            pytest.skip(f"{command[0]} is not possible here")
    try:
        root = place / "root"
        root.mkdir()
        if subprocess.run(["chattr", "+F", str(root)], check=False, capture_output=True).returncode:
            pytest.skip("folders cannot be made to fold case here")
        (root / ".filetools").mkdir()
        workspace = Workspace.open(root)
        keys = {workspace.key(WorkspacePath(spelling)) for spelling in ("Caf\u00e9", "CAFE\u0301", "cafe\u0301")}
        workspace.close()
        assert len(keys) == 1
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize(
    ("rules", "spellings", "count"),
    [
        (NameRules(), ["a", "A", "\u00e9", "e\u0301"], 4),
        (NameRules(ignores_case=True), ["a/B", "A/b", "\u00e9", "e\u0301"], 3),
        (NameRules(ignores_form=True), ["a", "A", "\u00e9", "e\u0301"], 3),
        (NameRules(ignores_case=True, ignores_form=True), ["\u00e9", "E\u0301", "\u00c9", "e\u0301"], 1),
        (NameRules(ignores_case=True, ignores_form=True), ["\u0390", "\u03b9\u0308\u0301", "\u1fd3"], 1),
    ],
)
def test_keys_are_equal_for_what_is_one_file(rules: NameRules, spellings: list[str], count: int) -> None:
    keys = {rules.key(spelling) for spelling in spellings}
    assert len(keys) == count
    assert {rules.key(key) for key in keys} == keys
