"""Who serves for a person, with `--open`, has agents ask; a preset that was named, wherever, holds instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import bearer
from tests.support.http_servers import HttpServer, http_server

NO_BROWSER = {"BROWSER": "true"}
SAID = "Agents need your approval to change files"


def code_of_a_write(server: HttpServer) -> str | None:
    """Have an agent write a file, and return the code that it is refused with."""
    call = {"path": "new.txt", "content": "text"}
    code: str | None = bearer.post(f"{server.address}/v1/tools/write_file", json=call).json().get("error_code")
    return code


def said(server: HttpServer) -> str:
    """Stop a server, and return all that it printed after its first lines."""
    server.stop()
    assert server.process.stdout is not None
    return server.process.stdout.read().decode()


def test_agents_ask_where_a_person_is(root: Path) -> None:
    with http_server(root, "--open", environment=NO_BROWSER) as server:
        assert code_of_a_write(server) == "APPROVAL_REQUIRED"
        assert not (root / "new.txt").exists()
        assert SAID in said(server)


def test_agents_ask_nobody_where_nobody_is(root: Path) -> None:
    with http_server(root) as server:
        assert code_of_a_write(server) is None
        assert said(server) == ""


@pytest.mark.parametrize(
    ("place", "preset", "code"),
    [
        ("option", "read_only", "TOOL_BLOCKED"),
        ("environment", "allow", None),
        ("settings of the user", "read_only", "TOOL_BLOCKED"),
    ],
)
def test_a_preset_that_was_named_holds(root: Path, place: str, preset: str, code: str | None) -> None:
    arguments, environment = ["--open"], {**NO_BROWSER, "XDG_CONFIG_HOME": str(root.parent / "config")}
    if place == "option":
        arguments += ["--permissions", preset]
    elif place == "environment":
        environment["FILETOOLS_PERMISSIONS"] = preset
    else:
        settings = root.parent / "config" / "filetools" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'permissions = "{preset}"\n')
    with http_server(root, *arguments, environment=environment) as server:
        assert code_of_a_write(server) == code
        assert SAID not in said(server)
