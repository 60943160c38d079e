"""What others may rely on: the names, the codes of errors, and an import that does nothing."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import filetools
from filetools import errors
from filetools.errors import FileToolsError
from filetools.tools import exports
from tests.support.declared import REPOSITORY, extra_names, project

PROMISED_EXPORTS = {
    "FORMATS", "ExportFormat", "answer", "answers", "anthropic_tools", "exported", "mcp_tool", "mcp_tools",
    "openai_chat_tools", "openai_responses_tools",
}  # fmt: skip

CODES = """
INVALID_ARGUMENT INVALID_PATH ABSOLUTE_PATH PATH_TRAVERSAL PATH_TOO_LONG SYMLINK_NOT_ALLOWED SYMLINK_ESCAPE
FILE_NOT_FOUND DIR_NOT_FOUND FILE_EXISTS IS_A_DIRECTORY NOT_A_DIRECTORY NOT_A_REGULAR_FILE DIR_NOT_EMPTY
PERMISSION_DENIED DISK_FULL FILE_TOO_LARGE ENCODING_ERROR LOCK_TIMEOUT SYNC_FAILED NETWORK_ERROR EDIT_CONFLICT
EDIT_NOT_FOUND EDIT_AMBIGUOUS VERSION_MISMATCH APPROVAL_REQUIRED APPROVAL_DENIED TOOL_BLOCKED PATH_HIDDEN UNKNOWN_TOOL TIMEOUT
ABORTED
BATCH_FAILED RATE_LIMITED FILE_BUSY CHANGED_MEANWHILE HARD_LINKED VERSION_GONE WORKSPACE_GONE STATE_DAMAGED STATE_VERSION
STATE_ELSEWHERE STATE_UNTRUSTED STATE_UNTRUSTED INTERNAL BUFFER_CLOSED RESYNC
PROJECT_NOT_FOUND PROJECT_EXISTS RUN_NOT_FOUND GIT_FAILED NOT_A_REPOSITORY GIT_NOT_FOUND
AGENT_FAILED TOO_MANY_RUNS
FD_NOT_FOUND FD_EXPIRED FD_INVALID_PAGE FD_INVALID_RANGE FD_READ_ERROR
"""
RETRYABLE_CODES = """
LOCK_TIMEOUT SYNC_FAILED NETWORK_ERROR RATE_LIMITED FILE_BUSY CHANGED_MEANWHILE TOO_MANY_RUNS
"""

# Runs in a fresh interpreter. What filetools is made of is imported first, so that only its own acts are seen.
WATCH_THE_IMPORT = """
import json, os, sys, threading, _thread
import aiofiles, asyncio, ctypes, filelock, logging, msgspec, pydantic, pydantic_core, pyee.asyncio, sqlite3, tomllib
import watchdog.observers
pydantic.create_model("Warm", value=(int, 1))
seen, package = [], os.path.join({repository!r}, "filetools") + os.sep
BETWEEN = (os.__file__, "<frozen os>", "<frozen _collections_abc>")

def is_from_filetools():
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename in BETWEEN:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(package)

class Watched(type(os.environ)):
    def __getitem__(self, name):
        if is_from_filetools():
            seen.append(["environment", name])
        return super().__getitem__(name)

os.environ.__class__ = Watched
STARTING = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "socket.connect", "socket.bind",
            "sqlite3.connect")
LOOKING = ("open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.remove", "os.chmod", "os.utime", "os.link")

def hook(event, arguments):
    if event in STARTING or (event in LOOKING and is_from_filetools()):
        seen.append([event, str(arguments[0])])

def start(begin):
    def started(*arguments):
        seen.append(["thread", str(arguments[0])])
        return begin(*arguments)
    return started

threading._start_new_thread = start(threading._start_new_thread)
_thread.start_new_thread = start(_thread.start_new_thread)
sys.addaudithook(hook)
import filetools
[getattr(filetools, name) for name in filetools.__all__]
{after}
print(json.dumps(seen))
"""


def run_python(program: str, folder: Path, *options: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-B", *options, "-c", program],
        capture_output=True, text=True, check=True, timeout=60, cwd=folder,
    )  # fmt: skip
    return json.loads(done.stdout)


def acts_of_the_import(folder: Path, *, after: str = "") -> list[list[str]]:
    program = WATCH_THE_IMPORT.format(repository=str(REPOSITORY), after=after)
    acts: list[list[str]] = run_python(program, folder)
    return acts


def test_the_watch_over_the_import_sees_what_was_planted(tmp_path: Path) -> None:
    planted = """
import os, subprocess, threading
os.environ.get('HOME')
open('/dev/null').close()
os.listdir('.')
threading.Thread(target=print, args=('',), kwargs={'end': ''}).start()
subprocess.run(['true'])
"""
    place = str(REPOSITORY / "filetools" / "planted.py")
    after = f"exec(compile({planted!r}, {place!r}, 'exec'))"
    acts = [act for act, _ in acts_of_the_import(tmp_path, after=after)]
    assert {"environment", "open", "os.listdir", "thread", "subprocess.Popen"} <= set(acts)


def test_importing_filetools_starts_nothing_reads_no_environment_and_touches_no_disk(tmp_path: Path) -> None:
    assert acts_of_the_import(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_importing_filetools_imports_no_extra_and_no_adapter(tmp_path: Path) -> None:
    program = "import json, sys, filetools; filetools.open, filetools.open_sync; print(json.dumps(sorted(sys.modules)))"
    loaded = run_python(program, tmp_path)
    assert "filetools" in loaded
    assert {name.partition(".")[0] for name in loaded} & (extra_names() | {"pytest", "hypothesis"}) == set()
    assert [name for name in loaded if name.startswith("filetools.adapters")] == []


@pytest.mark.parametrize(
    ("command", "spared"),
    [
        ("reading", {"rich", "mcp", "fastapi", "watchdog.observers"}),
        ("serving", {"fastapi", "uvicorn", "filetools.servers.http"}),
    ],
)
def test_a_command_loads_nothing_that_only_others_need(tmp_path: Path, command: str, spared: set[str]) -> None:
    program = f"import json, sys, filetools.cli.commands.{command}; print(json.dumps(sorted(sys.modules)))"
    assert spared & set(run_python(program, tmp_path)) == set()


def test_filetools_works_without_any_extra(tmp_path: Path) -> None:
    """A finder that refuses every extra stands in for an installation that has none."""
    program = f"""
import asyncio, json, sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(extra_names())!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refusing())
import filetools
async def main():
    async with filetools.open(".") as files:
        await files.write_file("a.txt", "one")
        return (await files.read_file("a.txt")).content
print(json.dumps(asyncio.run(main())))
"""
    assert run_python(program, tmp_path) == "one"


def test_an_import_that_lacks_an_extra_is_one_line_that_says_what_to_install(tmp_path: Path) -> None:
    """Every package of ours is imported where no extra is installed: it works, or names its extra."""
    program = f"""
import importlib, json, pkgutil, sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(extra_names())!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refusing())
import filetools
lacking = {{}}
for module in pkgutil.walk_packages(filetools.__path__, "filetools.", onerror=lambda name: None):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        lacking[module.name] = [str(error), error.name]
for name in ("filetools.servers.mcp.server", "filetools.cli.commands.reading"):  # a module below one that cannot be imported
    try:
        importlib.import_module(name)
    except ImportError as error:
        lacking[name] = [str(error), error.name]
print(json.dumps(lacking))
"""
    install = "pip install 'agent-filetools[{}]'".format
    cli = [f"filetools.cli needs the package 'click': {install('cli')}", "click"]
    mcp = [f"The MCP server needs the package 'mcp': {install('mcp')}", "mcp"]
    adapters = {
        f"filetools.adapters.{module}": [
            f"filetools.adapters.{module} needs the package {package!r}: {install(module.replace('_', '-'))}", package,
        ]
        for module, package in (
            ("deepagents", "deepagents"), ("langchain", "langchain_core"), ("openai_agents", "agents"),
            ("pydantic_ai", "pydantic_ai"),
        )
    }  # fmt: skip
    assert run_python(program, tmp_path) == {
        **adapters,
        "filetools.cli": cli,
        "filetools.cli.commands.reading": cli,
        "filetools.servers.http": [
            f"The HTTP server needs the package 'fastapi': {install('server')}", "fastapi",
        ],
        "filetools.servers.mcp": mcp,
        "filetools.servers.mcp.server": mcp,
    }  # fmt: skip


def test_every_install_command_names_the_distribution() -> None:
    """On the package index `filetools` is another project."""
    shown = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("filetools/**/*.py")]
    commands = re.compile(r"(?:pip install|uv add|uvx|pipx run|--from)\s+['\"]?([\w.-]+)")
    named = {name for page in shown for name in commands.findall(page.read_text(encoding="utf-8"))}
    assert "agent-filetools" in named
    assert [name for name in named if name == "filetools"] == []
    assert project()["name"] == "agent-filetools"


def test_all_names_are_documented_and_all_documented_names_are_there() -> None:
    lines = (REPOSITORY / "docs/embedding.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("## Public names")
    documented = [line.split("`")[1] for line in lines[start:] if line.startswith("| `")]
    for prefix, module in (("filetools.", filetools), ("exports.", exports)):
        names = [name.removeprefix(prefix) for name in documented if name.startswith(prefix)]
        assert names == sorted(names, key=str.casefold)
        assert sorted(names) == sorted(module.__all__)
        for name in names:
            assert hasattr(module, name)


def test_the_exports_are_what_they_were_promised_to_be() -> None:
    assert set(exports.__all__) >= PROMISED_EXPORTS
    for name, first in (("answer", "tools"), ("answers", "tools"), ("exported", "tools"), ("anthropic_tools", "tools")):
        assert next(iter(inspect.signature(getattr(exports, name)).parameters)) == first
    assert set(get_args(exports.ExportFormat)) == set(exports.FORMATS)


def error_classes() -> list[type[FileToolsError]]:
    return [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, FileToolsError) and value is not FileToolsError
    ]


def test_every_promised_code_has_its_error() -> None:
    assert {kind.code for kind in error_classes()} == set(CODES.split())


def test_an_error_shares_a_code_with_its_own_base_alone() -> None:
    """A subclass says more about the failure of its base. INTERNAL is the code of all that have none of their own."""
    kinds = [kind for kind in error_classes() if kind.code != "INTERNAL"]
    codes = [kind.code for kind in kinds if kind.code not in {getattr(base, "code", None) for base in kind.__bases__}]
    assert len(codes) == len(set(codes))
    assert set(codes) == {kind.code for kind in kinds}


def test_what_is_retryable_says_so_and_says_what_to_do() -> None:
    assert {kind.code for kind in error_classes() if kind.retryable} == set(RETRYABLE_CODES.split())
    assert [kind.__name__ for kind in error_classes() if kind.retryable and not kind.action] == []
