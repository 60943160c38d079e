"""An agent behind the chat interface of OpenAI: who may run it, what is refused, what it says and made, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

import filetools
from filetools.errors import InvalidArgumentError
from filetools.servers.http.application import ServerApplication, http_application
from filetools.servers.http.options import AgentOptions, HttpOptions
from filetools.sessions.agent_process import AgentLimits
from tests.support import bearer, scripted_agent
from tests.support.crashing import files_in
from tests.support.http_servers import HttpServer, http_server
from tests.support.opened import steps_until
from tests.support.scripted_agent import SCRIPT

AGENT = shlex.join([sys.executable, scripted_agent.__file__])
MODEL = Path(sys.executable).name
ADDRESS = "http://127.0.0.1:8765"
TOKEN = "a token of the tests".replace(" ", "-")
DISCOVER = {"X-Claude-File-Discovery": "enabled"}
PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    root = tmp_path_factory.mktemp("chat") / "project"
    root.mkdir()
    with http_server(root, "--agent", AGENT) as serving:
        yield serving
        known = ("no files were found", "too long and skipped")
        lines = serving.errors.read_text().splitlines()
        assert [line for line in lines if not any(each in line for each in known)] == []


@pytest.fixture
def client(server: HttpServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.address}/v1", api_key=server.token) as opened:
        yield opened


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[str]:
    """A FIFO at which agents wait; nobody does any more when the test is over."""
    path = str(tmp_path / "gate")
    os.mkfifo(path)
    yield path
    os.close(os.open(path, os.O_RDWR))


def user(script: Any) -> list[Any]:
    return [{"role": "user", "content": script}]


def ask(client: openai.OpenAI, script: str, **more: Any) -> openai.types.chat.ChatCompletion:
    answer: openai.types.chat.ChatCompletion = client.chat.completions.create(
        model=MODEL, messages=user(script), **more
    )
    return answer


def streamed(client: openai.OpenAI, script: str, **more: Any) -> openai.Stream[Any]:
    stream: openai.Stream[Any] = client.chat.completions.create(model=MODEL, messages=user(script), stream=True, **more)
    return stream


def post(server: HttpServer, body: Any, headers: dict[str, str] | None = None) -> httpx2.Response:
    sent = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"} | (headers or {})
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return bearer.post(f"{server.address}/v1/chat/completions", content=content, headers=sent, timeout=PATIENCE_SECONDS)


def newest_run(server: HttpServer) -> dict[str, Any]:
    [run] = bearer.get(f"{server.address}/v1/runs?limit=1").json()["runs"]
    return dict(run)


# Who may run it.


NO_TOKEN = {
    "message": "Send the token: 'Authorization: Bearer …'", "type": "invalid_request_error", "param": None,
    "code": "token_required",
}  # fmt: skip


def test_without_the_token_nobody_runs_it(server: HttpServer) -> None:
    for path in ("models", "chat/completions"):
        for headers in (
            {},
            {"Authorization": "Bearer"},
            {"Authorization": "Bearer x"},
            {"Authorization": server.token},
        ):
            answer = httpx2.request(
                "GET" if path == "models" else "POST", f"{server.address}/v1/{path}", headers=headers
            )
            assert (answer.status_code, answer.json()) == (401, {"error": NO_TOKEN})
            assert answer.headers["content-type"] == "application/json"


def test_pages_of_other_origins_run_nothing(server: HttpServer) -> None:
    answer = post(server, {}, {"Origin": "http://evil.example"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_origin")


@asynccontextmanager
async def served(root: Path, **options: Any) -> AsyncIterator[tuple[ServerApplication, httpx2.AsyncClient]]:
    """Yield an application in this process, and a client of it that sends the token."""
    async with (
        filetools.open(root, settings={"durability": "relaxed"}) as files,
        http_application(files, HttpOptions(**{"token": TOKEN, **options})) as made,
        bearer.AsyncClient(
            transport=httpx2.ASGITransport(made), base_url=ADDRESS, headers={"Authorization": f"Bearer {TOKEN}"}
        ) as client,
    ):
        yield made, client


async def test_origins_that_are_let_in_may_all_but_run_it(root: Path) -> None:
    friend = "http://localhost:3000"
    async with served(root, agent=AgentOptions(command=AGENT), origins=(friend,)) as (_, client):
        assert (await client.get("/v1/status", headers={"Origin": friend})).status_code == 200
        assert (await client.get("/v1/models", headers={"Origin": friend})).status_code == 403
        preflight = {"Origin": friend, "Access-Control-Request-Method": "POST"}
        assert (await client.options("/v1/chat/completions", headers=preflight)).status_code == 403
        assert (await client.get("/v1/models", headers={"Origin": ADDRESS})).status_code == 200


async def test_without_an_agent_there_is_nothing(root: Path) -> None:
    async with served(root) as (_, client):
        unknown = (await client.get("/v1/nothing")).json()
        assert unknown["detail"] == "There is no such route; /openapi.json describes all"
        for answer in (await client.get("/v1/models"), await client.post("/v1/chat/completions", json={})):
            assert answer.status_code == 404
            assert answer.json()["error"] | {"param": None} == {
                "message": unknown["detail"], "type": "invalid_request_error", "param": None, "code": "no_such_route",
            }  # fmt: skip


async def test_without_a_token_that_is_known_only_people_are_answered(root: Path) -> None:
    async with (
        filetools.open(root, settings={"durability": "relaxed"}) as files,
        http_application(files, HttpOptions(agent=AgentOptions(command=AGENT))) as made,
        httpx2.AsyncClient(transport=httpx2.ASGITransport(made), base_url=ADDRESS) as client,
    ):
        for path in ("/v1/status", "/v1/models"):
            for token in ("None", ""):
                refused = await client.get(path, headers={"Authorization": f"Bearer {token}"})
                assert refused.status_code == 401
        code = made.shared.logins.new_code()
        key = (await client.post("/login", json={"code": code}, headers={"Origin": ADDRESS})).json()["key"]
        for path in ("/v1/status", "/v1/models"):
            login = {"Origin": ADDRESS, "Filetools-Login": key}
            assert (await client.get(path, headers=login)).status_code == 200


def test_a_server_with_a_token_has_one_for_everything(root: Path) -> None:
    file = root.parent / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    with http_server(root, "--agent", AGENT, "--token-file", str(file)) as serving:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        for path in ("/v1/models", "/v1/status"):
            assert bearer.get(serving.address + path).status_code == 401
            assert bearer.get(serving.address + path, headers=headers).status_code == 200
        assert serving.line() == f"The agent {MODEL} answers at {serving.address}/v1/chat/completions\n"
        assert f"$(cat {file})" in serving.token_line


@pytest.mark.parametrize("command", ["", "''", "agent 'x"])
def test_what_is_no_command_is_told_before_anything_is_served(command: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is not a command"):
        AgentOptions(command=command)


# What is refused.


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        ({"messages": user([{"type": "image_url", "image_url": {"url": "x"}}])}, "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": "x", "tool_calls": [{}]}]}, "messages[0].tool_calls"),
        ({"model": None}, "model"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": "yes"}}, "stream_options.include_usage"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"n": 2}, "n"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"whatever": 1}, "whatever"),
        ({"file_discovery_patterns": ["a|b"]}, "file_discovery_patterns"),
        ({"output_dirs": [5]}, "output_dirs[0]"),
    ],
)
def test_what_is_not_supported_is_refused_by_its_name(server: HttpServer, change: dict[str, Any], param: str) -> None:
    answer = post(server, {"model": MODEL, "messages": user("end()")} | change)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["type"]) == (400, param, "invalid_request_error")
    assert error["message"].startswith(param)


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"model": "\\ud800"}'])
def test_what_is_no_order_is_400(server: HttpServer, body: bytes) -> None:
    answer = post(server, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_argument")


def test_the_limits_of_the_server_hold_and_speak_its_language(server: HttpServer) -> None:
    large, deep = {"model": "x" * 5_000_000}, b"[" * 100_000 + b"]" * 100_000
    for answer, status in (
        (post(server, large), 413),
        (post(server, deep), 400),
        (post(server, {}, {"Content-Type": "text/plain"}), 415),
        (
            bearer.get(f"{server.address}/v1/chat/completions", headers={"Authorization": f"Bearer {server.token}"}),
            405,
        ),
    ):
        assert (answer.status_code, set(answer.json()["error"])) == (status, {"message", "type", "param", "code"})
    assert answer.headers["allow"] == "POST"


def test_the_clients_own_exceptions_tell_what_is_wrong(server: HttpServer, client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as missing:
        client.chat.completions.create(model="two words", messages=user("end()"))
    assert missing.value.param == "model"
    with pytest.raises(openai.BadRequestError) as bad:
        ask(client, "end()", n=2)
    assert bad.value.param == "n"
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="x").models.list()
    with pytest.raises(openai.BadRequestError, match="segment"):
        ask(client, "end()", extra_body={"output_dirs": ["../out"]})


@pytest.mark.parametrize("header", ["X-Claude-Allowed-Tools", "x-claude-max-turns", "X-CLAUDE-PERMISSION-MODE"])
def test_a_header_that_would_restrict_the_agent_is_not_passed_over(server: HttpServer, header: str) -> None:
    answer = post(server, {"model": MODEL, "messages": user("write('ran', 'x'); end()")}, {header: "Read"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, header.lower())
    assert not (server.root / "ran").exists()


# What it says.


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_of_any_name_is_handed_on(client: openai.OpenAI, stream: bool) -> None:
    script = "end(os.environ.get('FILETOOLS_MODEL', 'the usual one'))"
    for model, said in (("vendor/some-model:4.5", "vendor/some-model:4.5"), (MODEL, "the usual one")):
        answer = client.chat.completions.create(model=model, messages=user(script), stream=stream)
        parts = list(answer) if isinstance(answer, openai.Stream) else []
        text = "".join(each.choices[0].delta.content or "" for each in parts)
        if isinstance(answer, openai.types.chat.ChatCompletion):
            text = answer.choices[0].message.content or ""
        assert (text, {each.model for each in parts} or {model}) == (said, {model})


@pytest.mark.parametrize("end", ["end('x')", "sys.exit(3)"])
def test_the_agents_own_session_is_named(server: HttpServer, end: str) -> None:
    script = f"tell(type='system', subtype='init', session_id='0b1c2d3e-1111'); {end}"
    answer = post(server, {"model": MODEL, "messages": user(script)}, DISCOVER)
    run = newest_run(server)
    assert run["agent_session"] == "0b1c2d3e-1111"
    tracking = bearer.get(f"{server.address}/v1/runs/{run['id']}").json()["metadata"]["session_tracking"]
    assert (tracking["cli_session_id"], tracking["agent_session_id"]) == (run["session"], "0b1c2d3e-1111")
    if answer.status_code == 200:
        assert answer.json()["x_claude_metadata"]["session_tracking"] == tracking


async def test_an_agent_that_takes_too_long_is_stopped(root: Path, gate: str) -> None:
    limits = AgentLimits(seconds=0.2, stop_seconds=5.0)
    async with served(root, agent=AgentOptions(command=AGENT, limits=limits)) as (_, client):
        order = {"model": MODEL, "messages": user(f"wait({gate!r})")}
        answer = await client.post("/v1/chat/completions", json=order)
    assert answer.status_code == 502
    assert "it took too long" in answer.json()["error"]["message"]


def test_the_prompt_has_all_that_was_said_and_the_newest_last(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL,
        temperature=0.5,
        tools=[],
        messages=[
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "two", "tool_calls": [], "refusal": None},
            {"role": "system", "content": "be kind"},
            {"role": "developer", "content": [{"type": "text", "text": "be"}, {"type": "text", "text": "quick"}]},
            {"role": "user", "name": "ann", "content": f"last\n\n {SCRIPT}end(prompt)"},
        ],
    )
    expected = f"be kind\n\nbe\nquick\n\nUser: one\n\nAssistant: two\n\nlast\n\n {SCRIPT}end(prompt)"
    assert answer.choices[0].message.content == expected


def test_an_answer_is_whole(client: openai.OpenAI) -> None:
    counts = "{'input_tokens': 3, 'cache_read_input_tokens': 4, 'output_tokens': 5, 'cache_creation_input_tokens': 'x'}"
    answer = ask(client, f"say('one\\ud83d', 'two'); end('two', usage={counts})")
    message = {"role": "assistant", "content": "one\ufffd\n\ntwo", "refusal": None}
    assert answer.to_dict() == {
        "id": answer.id, "object": "chat.completion", "created": answer.created, "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
    }  # fmt: skip


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl asks")
def test_a_stream_tells_all_in_its_order(server: HttpServer) -> None:
    script = "write('claudedocs/stream.md', '# report'); say('one'); say('two'); end('two')"
    order = {
        "model": MODEL, "messages": user(script), "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    text = subprocess.run(
        ["curl", "-sN", f"{server.address}/v1/chat/completions", "-H", f"Authorization: Bearer {server.token}",
         "-H", "Content-Type: application/json", "-H", "X-Claude-File-Discovery: TRUE ", "-d", json.dumps(order)],
        capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS,
    ).stdout  # fmt: skip
    run = newest_run(server)
    created = json.loads(text.partition("\n")[0].removeprefix("data: "))["created"]
    same = {"id": f"chatcmpl-{run['id']}", "object": "chat.completion.chunk", "created": created, "model": MODEL}
    metadata = bearer.get(f"{server.address}/v1/runs/{run['id']}").json()["metadata"]

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Any:
        return {**same, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}

    *events, last = text.removesuffix("\n\n").split("\n\n")
    *chunks, metadata_event = events
    assert [json.loads(each.removeprefix("data: ")) for each in chunks] == [
        chunk({"role": "assistant", "content": ""}), chunk({"content": "one"}), chunk({"content": "\n\ntwo"}),
        chunk({}, "stop"),
        {**same, "choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}},
    ]  # fmt: skip
    name, data = metadata_event.split("\n")
    assert name == "event: x_claude_metadata"
    assert json.loads(data.removeprefix("data: ")) == {**metadata, **same, "choices": []}
    assert [file["url"] for file in metadata["files_created"]] == ["/v1/files/claudedocs/stream.md"]
    assert last == "data: [DONE]"


@pytest.mark.parametrize(("script", "is_told"), [("/sc:research\nend()", True), ("'/sc:research'; end()", False)])
def test_only_who_asks_is_told_of_files(client: openai.OpenAI, script: str, is_told: bool) -> None:
    answer = ask(client, f"{script}".replace("/sc:research\n", f"/sc:research\n{SCRIPT}"))
    assert ("x_claude_metadata" in answer.to_dict()) is is_told


def test_only_files_that_fit_the_patterns_are_told(client: openai.OpenAI) -> None:
    script = "write('kept/a.md', 'x'); write('kept/a.txt', 'x'); end()"
    found = metadata_of(ask(client, script, extra_headers=DISCOVER, extra_body={"file_discovery_patterns": ["*.md"]}))
    assert ([file["filename"] for file in found["files_created"]], found["discovery_status"]) == (["a.md"], "success")
    body = {"file_discovery_patterns": ["*.csv"]}
    found = metadata_of(ask(client, script.replace("kept", "none"), extra_headers=DISCOVER, extra_body=body))
    assert (found["files_created"], found["discovery_status"]) == ([], "no_files_found")


def metadata_of(answer: openai.types.chat.ChatCompletion) -> dict[str, Any]:
    found: Any = answer.to_dict()["x_claude_metadata"]
    return dict(found)


def test_what_a_run_made_is_downloaded_exactly_and_taken_back_whole(server: HttpServer, client: openai.OpenAI) -> None:
    write = partial(bearer.put, f"{server.address}/v1/files/whole/there.txt")
    write(content=b"before\n")
    before = files_in(server.root)
    answer = ask(
        client,
        "write('whole/by shell.md', 'one'); filetools('write', 'whole/by tool.md', text='two');"
        "write('whole/there.txt', 'after\\n'); call('Write', file_path='whole/by shell.md'); end()",
        extra_headers=DISCOVER, extra_body={"output_dirs": ["whole"]},
    )  # fmt: skip
    found = metadata_of(answer)
    facts = {file["filename"]: (file.get("attributed"), file.get("tool")) for file in found["files_created"]}
    assert facts == {"by shell.md": ("folder", "Write"), "by tool.md": (None, None)}
    assert [file["relative_path"] for file in found["files_modified"]] == ["whole/there.txt"]
    [file] = [file for file in found["files_created"] if file["filename"] == "by shell.md"]
    place, condition = f"{server.address}{file['url']}", {"If-Match": f'"{file["checksum"]}"'}
    assert bearer.get(place, headers=condition).content == b"one"
    bearer.put(place, content=b"changed")
    assert bearer.get(place, headers=condition).status_code == 412
    bearer.put(place, content=b"one")
    session = found["session_tracking"]["cli_session_id"]
    undone = bearer.post(f"{server.address}/v1/undo", json={"session": session, "partial": True})
    assert undone.status_code == 200
    assert files_in(server.root) == before


# How it ends.


def failed_row(server: HttpServer) -> tuple[str, str]:
    run = newest_run(server)
    return run["status"], run["prompt"]


@pytest.mark.parametrize(
    ("script", "why", "status"),
    [
        ("print('oh no', file=sys.stderr); sys.exit(1)", "it ended with 1: oh no", "failed"),
        ("say('x'); end('no login', is_error=True)", "no login", "failed"),
        ("pass", "it ended without an answer", "completed"),
        ("print('garbage')", "it ended without an answer", "completed"),
    ],
)  # fmt: skip
def test_an_agent_that_fails_is_502_and_not_run_again(
    server: HttpServer, client: openai.OpenAI, script: str, why: str, status: str
) -> None:
    count = len(bearer.get(f"{server.address}/v1/runs?limit=1000").json()["runs"])
    with pytest.raises(openai.InternalServerError) as failed:
        ask(client, script)
    assert (failed.value.status_code, failed.value.code, failed.value.type) == (502, "agent_failed", "server_error")
    assert f"The agent {MODEL!r} failed: {why}" in str(failed.value)
    assert failed_row(server) == (status, script)
    assert len(bearer.get(f"{server.address}/v1/runs?limit=1000").json()["runs"]) == count + 1


def test_an_agent_that_fails_in_mid_stream_ends_it_with_an_error(server: HttpServer, client: openai.OpenAI) -> None:
    script = "say('half'); sys.exit(3)"
    text = post(server, {"model": MODEL, "messages": user(script), "stream": True}, DISCOVER).text
    *_, half, error, done, end = text.split("\n\n")
    assert json.loads(half.removeprefix("data: "))["choices"][0]["delta"] == {"content": "half"}
    assert json.loads(error.removeprefix("data: ")) == {
        "error": {"message": f"The agent {MODEL!r} failed: it ended with 3", "type": "server_error", "param": None,
                  "code": "agent_failed"}
    }  # fmt: skip
    assert (done, end) == ("data: [DONE]", "")
    with pytest.raises(openai.APIError, match="it ended with 3"):
        list(streamed(client, script))


def test_garbage_and_lines_without_end_cost_nothing_but_themselves(client: openai.OpenAI) -> None:
    script = "say('one'); print('garbage'); print('{' * 20_000_000); print('[1]'); print(); say('two'); end()"
    assert ask(client, script).choices[0].message.content == "one\n\ntwo"


def test_a_run_that_never_ends_is_stopped(server: HttpServer, client: openai.OpenAI, gate: str) -> None:
    with streamed(client, f"say('begun'); wait({gate!r})") as stream:
        first = next(iter(stream))
        run = bearer.delete(f"{server.address}/v1/runs/{first.id.removeprefix('chatcmpl-')}", timeout=PATIENCE_SECONDS)
        with pytest.raises(openai.APIError, match="stopped"):
            list(stream)
    assert (run.status_code, run.json()["status"]) == (200, "cancelled")
    assert newest_run(server) == run.json()


class Caller:
    """One request to an application in this process, whose client leaves when it is told to."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.left = asyncio.Event()
        self.answered = asyncio.Event()
        """Set with the second part of the answer, which is the first text."""
        self.parts: list[bytes] = []
        self._body = [{"type": "http.request", "body": json.dumps(order).encode()}]

    async def receive(self) -> dict[str, Any]:
        if self._body:
            return self._body.pop()
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.parts.append(message.get("body", b""))
        if len(self.parts) > 2:
            self.answered.set()

    async def call(self, application: ServerApplication) -> None:
        headers = {"host": "127.0.0.1:8765", "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        path = "/v1/chat/completions"
        await application(
            {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": [(name.encode(), value.encode()) for name, value in headers.items()], "http_version": "1.1"},
            self.receive, self.send,
        )  # fmt: skip


SOON = AgentLimits(stop_seconds=0.1)


def is_there(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("stream", "manners"), [(True, ""), (False, "ignore_the_end(); ")])
async def test_who_goes_away_stops_the_agent(root: Path, gate: str, stream: bool, manners: str) -> None:
    script = f"{manners}write('pid', str(os.getpid())); say('x'); call('Write', file_path='pid'); wait({gate!r})"
    caller = Caller({"model": MODEL, "messages": user(script), "stream": stream})
    async with served(root, agent=AgentOptions(command=AGENT, limits=SOON)) as (made, client):
        answering = asyncio.create_task(caller.call(made))
        if stream:
            await caller.answered.wait()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not [row for row in (await client.get("/v1/runs")).json()["runs"] if row["turns"]]:
                assert not answering.done(), caller.parts
            caller.left.set()
            await answering
        [row] = (await client.get("/v1/runs")).json()["runs"]
        assert (row["status"], is_there((root / "pid").read_text())) == ("cancelled", False)
        assert b"[DONE]" not in b"".join(caller.parts)
        undone = await client.post("/v1/undo", json={"run": row["id"]})
        assert (undone.status_code, (root / "pid").exists()) == (200, False)


async def test_a_server_that_stops_stops_its_agents(root: Path, gate: str) -> None:
    caller = Caller({"model": MODEL, "messages": user(f"write('pid', str(os.getpid())); say('x'); wait({gate!r})")})
    async with filetools.open(root, settings={"durability": "relaxed"}) as files:
        async with http_application(files, HttpOptions(token=TOKEN, agent=AgentOptions(command=AGENT))) as made:
            answering = asyncio.create_task(caller.call(made))
            await steps_until(lambda: (root / "pid").exists() and (root / "pid").read_text())
        await answering
        [run] = await files.runs.list()
        assert (run.status, is_there((root / "pid").read_text())) == ("cancelled", False)
    assert json.loads(caller.parts[-1])["error"]["code"] == "aborted"


async def test_what_an_agent_leaves_behind_holds_up_no_answer(root: Path, gate: str) -> None:
    async with served(root, agent=AgentOptions(command=AGENT, limits=SOON)) as (_, client):
        order = {"model": MODEL, "messages": user(f"leave_a_daemon({gate!r}); end('done')")}
        answer = (await client.post("/v1/chat/completions", json=order)).json()
    assert answer["choices"][0]["message"]["content"] == "done"


async def test_a_run_whose_server_was_killed_has_failed(root: Path, gate: str) -> None:
    with http_server(root, "--agent", AGENT) as killed:
        connected = openai.OpenAI(base_url=f"{killed.address}/v1", api_key=killed.token, max_retries=0)
        with connected as client:
            stream = streamed(client, f"write('made', 'x'); say('x'); wait({gate!r})")
            run_id = [next(stream), next(stream)][0].id.removeprefix("chatcmpl-")
            killed.process.kill()
            with pytest.raises(openai.APIError):
                list(stream)
    async with served(root, agent=AgentOptions(command=AGENT)) as (_, restarted):
        assert (await restarted.get(f"/v1/runs/{run_id}")).json()["status"] == "failed"
        order = {"model": MODEL, "messages": user("end('x')")}
        assert (await restarted.post("/v1/chat/completions", json=order)).status_code == 200


# Several at once.


async def test_two_runs_that_write_one_file_are_told_apart(server: HttpServer, gate: str) -> None:
    async with asking(server) as client:
        one = await begun(
            client, f"put({server.address!r}, {server.token!r}, 'both', 'one'); say('x'); wait({gate!r}); end()"
        )
        two = await begun(
            client, f"put({server.address!r}, {server.token!r}, 'both', 'two'); say('x'); wait({gate!r}); end()"
        )
        with open(gate, "r+b", buffering=0):
            first, second = [(await rest(stream))[-1].to_dict() for stream in (one, two)]
    assert [file["action"] for file in first["files_created"]] == ["created"]
    assert [file["action"] for file in second["files_modified"]] == ["modified"]
    undo = partial(bearer.post, f"{server.address}/v1/undo")
    sessions = [{"session": each["session_tracking"]["cli_session_id"]} for each in (first, second)]
    conflict = undo(json=sessions[0])
    assert (conflict.status_code, conflict.json()["code"]) == (409, "EDIT_CONFLICT")
    assert (server.root / "both").read_text() == "two"
    assert [undo(json=each).status_code for each in reversed(sessions)] == [200, 200]
    assert not (server.root / "both").exists()


@asynccontextmanager
async def asking(server: HttpServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{server.address}/v1", api_key=server.token, max_retries=0) as client:
        yield client


async def begun(client: openai.AsyncOpenAI, script: str, **body: Any) -> openai.AsyncStream[Any]:
    """Begin a run, and return its stream once it has said its first word."""
    stream = await client.chat.completions.create(
        model=MODEL, messages=user(script), stream=True, extra_headers=DISCOVER, extra_body=body
    )
    while not (await anext(stream)).choices[0].delta.content:
        pass
    return stream


async def rest(stream: openai.AsyncStream[Any]) -> list[Any]:
    return [chunk async for chunk in stream]


async def test_twenty_runs_at_once_are_kept_apart_and_no_more_are_begun(server: HttpServer, gate: str) -> None:
    """Half of them write as a shell does: into a folder of their own, and into one that is nobody's."""
    wait, place = f"say('x'); wait({gate!r})", server.address
    by_tool = [
        f"{wait}; put({place!r}, {server.token!r}, 'open/{number}.md', 'x'); end()" for number in range(0, 20, 2)
    ]
    by_shell = [
        f"{wait}; write('own-{number}/{number}.md', 'x'); write('open/{number}.md', 'x'); end()"
        for number in range(1, 20, 2)
    ]
    async with asking(server) as client:
        scripts = [script for pair in zip(by_tool, by_shell, strict=True) for script in pair]
        streams = await asyncio.gather(
            *(begun(client, script, output_dirs=[f"own-{number}"]) for number, script in enumerate(scripts))
        )
        with pytest.raises(openai.RateLimitError) as refused:
            await begun(client, "end()")
        assert (refused.value.code, refused.value.response.headers["retry-after"]) == ("too_many_runs", "5")
        with open(gate, "r+b", buffering=0):
            told = [chunks[-1].to_dict() for chunks in await asyncio.gather(*map(rest, streams))]
    for number, found in enumerate(told):
        own = f"own-{number}" if number % 2 else "open"
        files = [file["relative_path"] for file in found["files_created"]]
        assert (files, found["discovery_status"]) == ([f"{own}/{number}.md"], "success")
        assert not {"files_modified", "files_deleted"} & found.keys()
    assert sum(found.get("unattributed", 0) for found in told) >= 10
