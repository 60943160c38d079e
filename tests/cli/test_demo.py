"""The demo counts what is on the disk, whoever spoils it."""

from __future__ import annotations

import errno
import os
import signal
import socket
from pathlib import Path

from filetools.cli.demo.play import PARTS, PROJECT
from tests.support.demo_picture import PICTURE
from tests.support.terminal import CommandLine


def test_a_lost_edit_ends_the_demo_with_1(run: CommandLine, tmp_path: Path) -> None:
    (run.folder / "json.py").write_text("raise SystemExit('a file of the folder was imported')\n")
    run.environment["TMPDIR"] = str(tmp_path)
    with run.started("demo") as process:
        process.until(lambda: any(tmp_path.glob("filetools-demo-*/project/CHANGELOG.md")))
        (shared,) = tmp_path.glob("filetools-demo-*/project/CHANGELOG.md")
        spare = shared.with_name("CHANGELOG.md.swp")
        for _ in range(3):  # an agent that writes at this very moment puts the lost lines back
            process.until(lambda: "alice" in shared.read_text())
            spare.write_text(PROJECT["CHANGELOG.md"])
            spare.replace(shared)
        code, output = process.wait(), process.output.read().decode()
    assert code == 1, output
    assert [line.split()[0] for line in output.splitlines() if "BROKEN" in line] == ["lost"]
    assert not [*tmp_path.glob("filetools-demo-*")]


def test_ctrl_c_ends_the_demo_quietly_and_leaves_nothing(run: CommandLine, tmp_path: Path) -> None:
    run.environment["TMPDIR"] = str(tmp_path)
    with run.started("demo") as process:
        process.until(lambda: any(tmp_path.glob("filetools-demo-*/project/CHANGELOG.md")))
        assert (process.interrupt(), process.error.read()) == (130, b"")
    assert not [*tmp_path.glob("filetools-demo-*")]


def test_the_picture_in_the_documents_is_of_the_present_demo() -> None:
    drawing = PICTURE.read_text(encoding="utf-8").replace("&#160;", " ")
    assert all(title in drawing for title in PARTS), "run: make picture"
    assert "BROKEN" not in drawing


def test_sigterm_ends_the_server_of_the_page_and_removes_the_folder(run: CommandLine, tmp_path: Path) -> None:
    run.environment |= {"TMPDIR": str(tmp_path), "BROWSER": "true"}
    with run.started("demo", "--open") as process:
        output = b""
        while b"http://" not in output:
            output += process.output.readline()
        port = int(output.rpartition(b"http://")[2].partition(b":")[2].partition(b"/")[0])
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    assert not [*tmp_path.glob("filetools-demo-*")]
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
