"""A client of `filetools serve --agent`: the package openai if it is installed, else what the standard library has."""

from __future__ import annotations

import http.client
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

AGENT: Final = shlex.join((sys.executable, "-m", "filetools.cli.demo.agent"))
MODEL: Final = Path(sys.executable).name
"""A server names its model after the agent's program."""
_DISCOVER: Final = {"X-Claude-File-Discovery": "enabled"}


class Client:
    """Calls one server; lives as long as that."""

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        self._token = token

    def chat(self, prompt: str) -> Iterator[dict[str, Any]]:
        """Ask the agent, and yield the parts of its answer as they come; the one that tells of files among them."""
        asked: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": prompt}], "stream": True}
        if importlib.util.find_spec("openai") is None:
            lines = self._request("POST", "/v1/chat/completions", asked, _DISCOVER)[1].split(b"\n")
            yield from (json.loads(line[6:]) for line in lines if line.startswith(b"data: {"))
            return
        # By name: it is what clients have, and no dependency of ours.
        openai: Any = importlib.import_module("openai")
        with openai.OpenAI(base_url=f"{self._address}/v1", api_key=self._token, max_retries=0) as client:
            for part in client.chat.completions.create(**asked, extra_headers=_DISCOVER):
                yield part.model_dump()

    def download(self, path: str, checksum: str) -> tuple[int, bytes]:
        """Return status and bytes of one version of a file."""
        return self._request("GET", path, None, {"If-Match": f'"{checksum}"'})

    def undo(self, run_id: str) -> bool:
        """Take a run back; whether that was done."""
        return self._request("POST", "/v1/undo", {"run": run_id}, {})[0] == 200

    def _request(self, method: str, path: str, body: object, headers: dict[str, str]) -> tuple[int, bytes]:
        data = None if body is None else json.dumps(body).encode()
        known = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **headers}
        with closing(http.client.HTTPConnection(self._address.removeprefix("http://"))) as connection:
            connection.request(method, path, data, known)
            answer = connection.getresponse()
            return answer.status, answer.read()


@contextmanager
def served(root: Path) -> Iterator[tuple[list[str], Client]]:
    """Serve a root with the agent until the block ends; yields what the server prints first, and a client."""
    command = (sys.executable, "-m", "filetools", "serve", str(root), "--port", "0", "--agent", AGENT)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline().rstrip("\n") for _ in range(3)]
            address = re.search(r"http://\S+", lines[0])
            token = Path(lines[-1].partition(" in ")[2])
            yield lines, Client(address[0] if address else "", token.read_text().strip() if token.is_file() else "")
        finally:
            process.terminate()
