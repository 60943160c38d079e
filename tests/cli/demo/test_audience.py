"""The demo in the editor page: when it is refused, and that a window of a browser is told what the scenes do."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from pathlib import Path

import httpx2
import pytest
import typer

from filetools.cli.commands.playing import demo
from filetools.cli.demo import Scene, Stage, audience, play
from filetools.cli.desk import Desk, SharedOptions
from filetools.errors import NetworkError
from tests.support.live_clients import live
from tests.support.terminal import PATIENCE_SECONDS, CommandLine


class Unseen(Scene):
    """Must not be played."""

    title = "Nobody sees it"

    async def play(self, stage: Stage) -> None:
        raise AssertionError(stage)


def test_without_the_extra_it_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rocher", None)
    with pytest.raises(typer.Exit):
        demo(Desk(SharedOptions()), on_page=True)
    said = capsys.readouterr()
    assert (said.out, "pip install 'agent-filetools[editor]'" in said.err) == ("", True)


def test_scenes_with_a_folder_of_their_own_have_no_page(run: CommandLine) -> None:
    done = run("demo", "--open", "--only", "large")
    assert (done.code, done.raw, "'large' has no page" in done.error) == (2, b"", True)


def test_nothing_is_played_where_no_window_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setattr(audience, "LOGIN_SECONDS", 0.01)
    with pytest.raises(NetworkError, match="No window"):
        play([Unseen()], on_page=True)


async def test_a_window_is_told_of_the_scenes_and_the_server_ends_with_them(run: CommandLine, tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(opened)
    pipe = os.open(opened, os.O_RDWR)
    # In the background: the server waits for the program to end.
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened} &\n')
    browser.chmod(0o755)
    run.environment["BROWSER"] = str(browser)
    with run.as_module("demo", "--open", "--only", "person") as process:
        assert (await asyncio.to_thread(select.select, [pipe], [], [], PATIENCE_SECONDS))[0], "no browser is started"
        address, _, code = os.read(pipe, 1000).decode().partition("/login#code=")
        own = {"Origin": address}
        answer = httpx2.post(f"{address}/login", json={"code": code}, headers=own)
        login = {"Cookie": answer.headers["set-cookie"].partition(";")[0], "Filetools-Login": answer.json()["key"]}
        async with live(address, headers=own | login) as window:
            assert window.heard[0]["can_answer"]
            told = await window.frame("event", event="file:modified", path="src/tally/counter.py")
            assert told["actor"]["id"] == "bob"
        output, errors = await asyncio.to_thread(process.communicate)
    assert (process.returncode, errors) == (0, b"")
    assert f"{address}/login#code=" in output.decode()
    assert code not in output.decode(), "the browser would use up the printed one"
    assert "ann saves" in output.decode()
    os.close(pipe)
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/healthz")
