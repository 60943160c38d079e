"""Settings: their sources, the precedence of these, and their effect on calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.app.trust import own_folder
from filetools.settings import load_settings, session_logs_folder, user_directory
from tests.support.crashing import QUIET, grow
from tests.support.opened import outcome_of, refused


async def code_of(root: Path, **settings: Any) -> str:
    try:
        async with filetools.open(root, settings={**QUIET, **settings}):
            return "opened"
    except filetools.FileToolsError as exc:
        return exc.code


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lock_timeout_seconds", 0),
        ("max_read_bytes", 0),
        ("max_write_bytes", -1),
        ("mirror_wait_seconds", -0.1),
        ("worker_threads", 257),
        ("tool_timeout_seconds", 601),
        ("permissions", "everything"),
        ("mirror_policy", "sometimes"),
        ("exclude", 5),
        ("unknown", True),
    ],
)
async def test_a_value_out_of_range_is_refused_by_name(tmp_path: Path, name: str, value: object) -> None:
    assert await code_of(tmp_path, **{name: value}) == "INVALID_ARGUMENT"
    with pytest.raises(filetools.FileToolsError) as caught:
        load_settings({name: value}, environment={})
    assert repr(name) in caught.value.message
    assert "argument" in caught.value.message


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"permissions": "everything"}, "'permissions'"),
        ({"watch": "perhaps"}, "'watch'"),
        ({"snapshot_max_bytes": -1}, "'snapshot_max_bytes'"),
        ({"file_descriptor": {"max_bytes": 0}}, "'file_descriptor.max_bytes'"),
        ({"file_descriptor": {"page_size": 9}}, "did you mean 'default_page_size'"),
        ({"file_descriptor": {"zzz": 9}}, "'zzz'; known are the fields of filetools.settings.DescriptorSettings$"),
    ],
)
def test_settings_made_by_a_program_are_checked(given: dict[str, Any], named: str) -> None:
    with pytest.raises(filetools.errors.InvalidArgumentError, match=named):
        filetools.Settings(**given)


@pytest.mark.parametrize(
    ("name", "text", "accepted"),
    [
        ("watch", "yes", "true, false, 1 or 0"),
        ("worker_threads", "many", "a whole number of at least 1 and at most 256"),
        ("worker_threads", "257", "a whole number of at least 1 and at most 256"),
        ("sync_after_seconds", "1 day", "a number of at least 0"),
        ("mirror_policy", "Strict", "one of 'eventual', 'strict'"),
        ("file_descriptor", "on", "a table"),
    ],
)
def test_a_refused_variable_is_named_with_its_value_and_what_is_accepted(name: str, text: str, accepted: str) -> None:
    variable = f"FILETOOLS_{name.upper()}"
    with pytest.raises(filetools.FileToolsError) as caught:
        load_settings(environment={variable: text})
    assert caught.value.message == f"Setting {name!r} from environment ({variable}): {text!r} is not {accepted}"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"exclude": [1]}, "Setting 'exclude' from argument: [1] is not a list of texts"),
        (
            {"zzz": 1},
            "Setting 'zzz' from argument: unknown key 'zzz'; known are the fields of filetools.settings.Settings",
        ),
        (
            {"file_descriptor": {"enabled": 1}},
            "Setting 'file_descriptor.enabled' from argument: 1 is not true or false",
        ),
    ],
)
def test_a_refused_argument_is_reported_with_what_is_accepted(given: dict[str, Any], told: str) -> None:
    with pytest.raises(filetools.FileToolsError) as caught:
        load_settings(given, environment={})
    assert caught.value.message == told


def test_each_source_wins_over_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, user = tmp_path / "own", tmp_path / "user"
    monkeypatch.setenv("FILETOOLS_CONFIG_DIR", str(user))
    grow(own, {"settings.toml": b"worker_threads = 3\nmax_read_bytes = 3\npermissions = 'ask'\n"})
    grow(user, {"settings.toml": b"worker_threads = 2\nmax_read_bytes = 2\npermissions = 'guarded'\nwatch = false\n"})
    environment = {"FILETOOLS_WORKER_THREADS": "4", "FILETOOLS_MAX_READ_BYTES": "4", "FILETOOLS_EXCLUDE": "a, b"}
    settings, sources = load_settings({"worker_threads": 5, "watch": None}, own_directory=own, environment=environment)
    found = {name: (getattr(settings, name), sources[name]) for name in ("worker_threads", "max_read_bytes")}
    assert found == {"worker_threads": (5, "argument"), "max_read_bytes": (4, "environment")}
    assert (settings.permissions, sources["permissions"]) == ("ask", "user settings.toml of this root")
    assert (settings.watch, sources["watch"]) == (False, "user settings.toml")
    assert (settings.exclude, sources["exclude"]) == (("a", "b"), "environment")
    assert (settings.durability, sources["durability"]) == ("commit", "default")


async def test_the_users_file_for_a_root_holds(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        own = own_folder(files.state_directory)
    assert own is not None
    grow(own, {"settings.toml": b"max_write_bytes = 4\npermissions = 'read_only'\n"})
    async with filetools.open(tmp_path, settings=QUIET) as files:
        assert (files.settings.max_write_bytes, files.settings.permissions) == (4, "read_only")
        await refused("TOOL_BLOCKED", files.write_file("a.txt", "x"))
    async with filetools.open(tmp_path, permissions="allow", settings=QUIET) as files:
        await refused("FILE_TOO_LARGE", files.write_file("a.txt", "12345"))
        assert await outcome_of(files.write_file("a.txt", "1234")) == "done"


async def test_no_tool_can_write_the_settings(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        for path in (".filetools/settings.toml", ".filetools\\settings.toml", ".Filetools/settings.toml"):
            await refused("PERMISSION_DENIED", files.write_file(path, "permissions = 'allow'"))
            await refused("PERMISSION_DENIED", files.move_file("a.txt", path))
            await refused("PERMISSION_DENIED", files.copy_file("a.txt", path))


async def test_whole_settings_may_be_given_and_arguments_win_over_them(tmp_path: Path) -> None:
    settings = filetools.Settings(**QUIET, permissions="ask", max_write_bytes=9)
    async with filetools.open(tmp_path, settings=settings, permissions="allow") as files:
        assert files.settings == replace(settings, permissions="allow")


async def test_one_thread_is_enough(tmp_path: Path) -> None:
    async with filetools.open(
        tmp_path, mirror=tmp_path.with_name("m"), settings={**QUIET, "worker_threads": 1}
    ) as files:
        await files.write_multiple([{"path": f"{number}.txt", "content": "x"} for number in range(5)])
        assert (await files.list_files()).total == 5
        assert (await files.sync_all(verify=True)).success


def test_without_a_home_nothing_is_looked_for_in_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "FILETOOLS_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert user_directory() == Path("/.config/filetools")


def test_logs_of_agents_are_in_the_home_folder_unless_the_environment_names_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/zoe\u0308")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    assert session_logs_folder() == Path("/home/zo\u00eb/.claude/projects")
    monkeypatch.setenv("HOME", "not-absolute")
    assert session_logs_folder() == Path("/.claude/projects")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/srv/cafe\u0301/")
    assert session_logs_folder() == Path("/srv/caf\u00e9/projects")
