"""`filetools project` and `filetools instances`."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.terminal import CommandLine


def test_what_cannot_be_registered_is_refused(run: CommandLine) -> None:
    for line, code, told in (
        (("add", "nothing"), 1, "DIR_NOT_FOUND: Directory not found: "),
        (("add", "notes.md"), 1, "NOT_A_DIRECTORY: Not a directory: "),
        (("remove", "x"), 1, "PROJECT_NOT_FOUND: Project not found: x"),
        (("move", "x", "."), 1, "PROJECT_NOT_FOUND: Project not found: x"),
        (("add", "~other"), 1, "DIR_NOT_FOUND: "),
        (("list", "x"), 2, ""),
    ):
        done = run("project", *line)
        assert (done.code, done.text) == (code, ""), (line, done.error)
        assert told in done.error
    assert run("project", "list").lines == []
    assert "There are no projects" in run("project", "list").error


def test_projects_are_added_listed_moved_and_removed(run: CommandLine) -> None:
    os.mkdir(run.folder.parent / "library")
    (row,) = run("project", "add", "../library", "--name", "lib").lines
    identity, name, path = row.split("  ")
    assert (name, path) == ("lib", str(run.folder.parent / "library"))
    again = run("project", "add", "../library/")
    assert (again.code, again.text) == (1, "")
    assert f"PROJECT_EXISTS: A project already exists at ~/library: {identity}" in again.error
    assert run("project", "list").lines == [row]
    os.rename(path, f"{path}-2")
    (listed,) = run("project", "list", "--json").json["data"]["projects"]
    assert (listed["id"], listed["missing"]) == (identity, True)
    assert run("project", "list").lines == [f"{identity}  missing  lib  {path}"]
    assert run("project", "move", identity, "../library-2").lines == [f"{row}-2"]
    done = run("project", "remove", identity)
    assert (done.code, done.error) == (0, "removed; its files stay\n")
    assert os.path.isdir(f"{path}-2")
    assert run("project", "list").lines == []


REGISTER = """
import asyncio, os, sys, filetools
async def main():
    async with filetools.open(sys.argv[1]) as files:
        for name in ("alice", "bob"):
            print(await files.projects.run(lambda registry: registry.register_instance(name, ".", pid=os.getppid())))
asyncio.run(main())
"""


def test_instances_are_listed(run: CommandLine) -> None:
    none = run("instances")
    assert (none.code, none.text, none.error) == (0, "", "No instance runs on this root.\n")
    command = [sys.executable, "-c", REGISTER, str(run.folder)]
    alice, bob = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    rows = [f"{identity}  idle     {name}  ~/project" for identity, name in ((alice, "alice"), (bob, "bob"))]
    assert run("instances").lines == rows
