"""Runs of agents over HTTP: told whole, stopped by who may, and taken back as one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from filetools.servers.http.application import http_application
from filetools.servers.http.options import HttpOptions
from filetools.sessions.runs import Run
from tests.support import bearer

ADDRESS = "http://127.0.0.1:8765"


@dataclass(frozen=True)
class Served:
    """An application, and who calls it."""

    root: Path
    agent: FileToolsFacade
    """The workspace as the agent's that calls without a login."""
    person: FileToolsFacade
    client: httpx2.AsyncClient
    login: dict[str, str]
    """Headers of the person."""

    async def run(self, work: Callable[[], Any], *, files: FileToolsFacade | None = None, session: str = "s") -> Run:
        """Make a run of what a program does by itself, and return it as it is at its end."""
        runs = (files or self.agent).runs
        run = await runs.begin(command="agent", prompt="work", session=session)
        work()
        await runs.finish(run.id)
        return await runs.get(run.id)


@asynccontextmanager
async def serving(root: Path) -> AsyncIterator[Served]:
    async with (
        filetools.open(root, settings={"durability": "relaxed"}) as files,
        http_application(files, HttpOptions(token=bearer.TOKEN)) as application,
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(application), base_url=ADDRESS, headers=bearer.HEADERS
        ) as client,
    ):
        code = application.shared.logins.new_code()
        answer = await client.post("/login", json={"code": code}, headers={"Origin": ADDRESS})
        cookie = answer.headers["set-cookie"].partition(";")[0]
        client.cookies.clear()
        login = {"Origin": ADDRESS, "Cookie": cookie, "Filetools-Login": answer.json()["key"]}
        caller = application.shared.callers.caller
        agent, person = caller(None).files, caller("somebody").files
        yield Served(root=root, agent=agent, person=person, client=client, login=login)


def facts(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_a_run_that_there_is_none_of_is_404(root: Path) -> None:
    async with serving(root) as served:
        client = served.client
        for answer in (
            await client.get("/v1/runs/run-x"),
            await client.delete("/v1/runs/%ff"),
            await client.post("/v1/undo", json={"run": ""}),
            await client.post("/v1/undo", json={"session": "nobody"}),
        ):
            assert facts(answer) == (404, "RUN_NOT_FOUND")


@pytest.mark.parametrize(
    "order", [{"run": "r", "session": "s"}, {"run": "r", "path": "a"}, {"session": "s", "since": 1}]
)
async def test_a_run_is_named_alone(root: Path, order: dict[str, Any]) -> None:
    async with serving(root) as served:
        assert facts(await served.client.post("/v1/undo", json=order)) == (422, "INVALID_ARGUMENT")


async def test_a_run_that_has_ended_cannot_be_stopped(root: Path) -> None:
    async with serving(root) as served:
        run = await served.run(lambda: None)
        answer = await served.client.delete(f"/v1/runs/{run.id}")
        assert facts(answer) == (409, "RUN_ENDED")
        assert answer.json()["detail"] == f"The run {run.id} has ended already: completed"


async def test_a_run_that_others_look_after_cannot_be_stopped_here(root: Path) -> None:
    async with serving(root) as served:
        run = await served.agent.runs.begin()
        answer = await served.client.delete(f"/v1/runs/{run.id}")
        assert facts(answer) == (409, "RUN_ELSEWHERE")
        assert answer.json()["detail"] == f"The run {run.id} belongs to another process; stop it there"
        assert (await served.agent.runs.get(run.id)).status == "running"


async def test_a_run_under_way_is_not_taken_back(root: Path) -> None:
    async with serving(root) as served:
        run = await served.agent.runs.begin()
        answer = await served.client.post("/v1/undo", json={"run": run.id})
        assert facts(answer) == (422, "INVALID_ARGUMENT")
        assert answer.json()["suggested_action"] == "Stop it first."


async def test_agents_leave_the_runs_of_people_alone(root: Path) -> None:
    async with serving(root) as served:
        made = served.root / "made.txt"
        run = await served.run(lambda: made.write_text("one"), files=served.person)
        for answer in (
            await served.client.post("/v1/undo", json={"session": "s"}),
            await served.client.delete(f"/v1/runs/{run.id}"),
        ):
            assert facts(answer) == (403, "PERMISSION_DENIED")
        assert made.read_text() == "one"


async def test_people_take_back_the_runs_of_agents(root: Path) -> None:
    async with serving(root) as served:
        made = served.root / "made.txt"
        run = await served.run(lambda: made.write_text("one"))
        answer = await served.client.post("/v1/undo", json={"run": run.id}, headers=served.login)
        assert (answer.status_code, made.exists()) == (200, False)


async def test_a_file_is_served_as_the_run_left_it_or_not_at_all(root: Path) -> None:
    async with serving(root) as served:
        made = served.root / "é #1.md"
        run = await served.run(lambda: made.write_text("one"))
        [file] = (await served.client.get(f"/v1/runs/{run.id}")).json()["metadata"]["files_created"]
        condition = {"If-Match": f'"{file["checksum"]}"'}
        assert (await served.client.get(file["url"], headers=condition)).text == "one"
        made.write_text("two")
        assert facts(await served.client.get(file["url"], headers=condition)) == (412, "VERSION_MISMATCH")
        assert facts(await served.client.delete(file["url"], headers=condition)) == (412, "VERSION_MISMATCH")


async def test_a_run_is_taken_back_whole_and_nothing_else(root: Path) -> None:
    async with serving(root) as served:
        changed, deleted, others = (served.root / name for name in ("changed", "deleted", "others"))
        changed.write_text("a\nb\nc\n")
        deleted.write_text("one")

        def work() -> None:
            changed.write_text("A\nb\nc\n")
            deleted.unlink()
            (served.root / "made").write_text("new")

        await served.run(work)
        await served.person.edit_file("changed", [filetools.Edit(old="c", new="C")])
        await served.person.write_file("others", "later")
        dry = await served.client.post("/v1/undo", json={"session": "s", "dry_run": True})
        assert (dry.status_code, changed.read_text()) == (200, "A\nb\nC\n")
        answer = await served.client.post("/v1/undo", json={"session": "s"})
        assert (answer.status_code, changed.read_text(), deleted.read_text()) == (200, "a\nb\nC\n", "one")
        assert (others.read_text(), (served.root / "made").exists()) == ("later", False)


async def test_what_overlaps_is_named_and_nothing_is_taken_back(root: Path) -> None:
    async with serving(root) as served:
        changed, made = served.root / "changed", served.root / "made"
        changed.write_text("one\n")

        def work() -> None:
            changed.write_text("two\n")
            made.write_text("new")

        await served.run(work)
        await served.person.write_file("changed", "three\n")
        answer = await served.client.post("/v1/undo", json={"session": "s"})
        assert facts(answer) == (409, "EDIT_CONFLICT")
        assert "changed" in answer.text
        assert (changed.read_text(), made.read_text()) == ("three\n", "new")
