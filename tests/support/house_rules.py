"""The rules of the house as functions: each gets one module and returns what breaks the rule there, one line a fault.

They read the syntax tree and know no types: what hides behind a name of its own (`reader = os.open`) or a method that
stores and `pathlib` share (`stat`, `open`, `rename`) on a plain name is for the reviewer.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from tests.support.declared import REPOSITORY, core_names, extra_names
from tests.support.house import nodes

PACKAGE: Final = "filetools"
TOP: Final = "__init__"
"""The unit of `filetools/__init__.py`, which stands above all floors."""

FLOORS: Final[tuple[tuple[str, ...], ...]] = (
    ("distribution", "durable", "errors", "models", "printable", "processes", "settings"),
    ("paths", "content"),
    ("stores", "locks", "journal", "events"),
    ("permissions", "search", "project", "editors", "descriptors", "sessions"),
    ("writer", "tree"),
    ("sync",),
    ("changes",),
    ("history",),
    ("facade",),
    ("tools",),
    ("app", "adapters"),
    ("servers",),
    ("cli", "__main__"),
    (TOP, "public"),
)
"""The units of each floor, from the ground up."""

LEVEL: Final = {unit: level for level, units in enumerate(FLOORS) for unit in units}

SIDEWAYS: Final[Mapping[tuple[str, str], str]] = {
    ("settings", "errors"): "a bad setting is an error with a code, like any other",
    ("errors", "printable"): "the path that an error names is shown to models and people",
    ("settings", "models"): "the choices of settings are words of the shared vocabulary",
    (TOP, "public"): "its names are loaded from there",
    ("__main__", "cli"): "it is the door of the command line and holds nothing else",
}
"""The imports within one floor that are allowed, each with its reason."""

_VOCABULARY: Final = frozenset(
    {
        "content",
        "distribution",
        "errors",
        "events",
        "facade",
        "models",
        "paths",
        "permissions",
        "printable",
        "sessions",
        "settings",
    }
)
DOORS: Final[Mapping[str, frozenset[str]]] = {
    "servers": _VOCABULARY | {"app", "tools", "adapters"},
    "cli": _VOCABULARY | {"app", "tools", "adapters", "servers"},
    "__main__": frozenset({"cli", "distribution", "servers"}),
}
"""What doors may import: the facade and the records of calls. Journal, stores, locks, mirrors and watchers stay behind it."""

OWNERS: Final[Mapping[str, str]] = {"pyee": "events", "sqlite3": "journal/storage", "watchdog": "tree"}
"""Packages that one unit keeps to itself."""

LENT: Final[Mapping[tuple[str, str], str]] = {
    ("app/doctor.py", "sqlite3"): "the doctor tells which SQLite this Python has",
    ("tree/watchdog_observer.py", "watchdog"): "replaces the unit `watch`",
}
"""Modules that may import another unit's package all the same, each with its reason."""

AT_HOME: Final[Mapping[str, frozenset[str]]] = {
    "adapters": frozenset({"agents", "deepagents", "langchain_core", "pydantic_ai"}),
    "cli": frozenset({"click", "rich"}),
    "servers": frozenset({"anyio", "mcp", "mcp_types", "fastapi", "starlette", "uvicorn"}),
}
"""Extras that a unit may import at the top of its modules, because nobody imports the unit without them."""

DISK: Final[Mapping[str, str]] = {
    "durable.py": "syncs what the state directory and the stores write",
    "processes.py": "asks the kernel which processes are alive",
    "stores/": "the port to the disk",
    "paths/": "opens what paths name, without a race",
    "journal/": "owns the database and the contents beside it",
    "tree/": "watches folders by their descriptors, owns the lock file of the process that listens",
    "events/notifier.py": "owns the file that wakes other processes",
    "sync/mirror.py": "owns the note that tells other processes how far a mirror has come",
    "settings.py": "reads settings.toml before there is a workspace",
    "app/state.py": "makes the state directory before there is a store, and owns the token in it",
    "app/trust.py": "decides whose a state directory is, before anything in it is opened",
    "app/opening.py": "compares the places of root, mirror and state directory",
    "app/mirrors.py": "makes the folder of a mirror before there is a store on it",
    "servers/mcp/roots_server.py": "tells which folders a command line or a client means, before there is a workspace",
    "app/doctor.py": "examines a root that perhaps cannot be opened, and what it stands on",
    "permissions/policy.py": "reads permissions.json in the state directory",
    "facade/body_calls.py": "keeps what is being sent in a file without a name",
    "project/git.py": "looks for git among the programs of the machine, and for what of a repository git would touch",
    "project/folder.py": "tells which folder outside the workspace is meant, links resolved",
    "sessions/log_folders.py": "names the folder of a project's logs after its path, links resolved",
    "search/ignores.py": "finds and reads the ignore files that git reads above the root",
    "search/contents/reading.py": "reads files through the folder that the store opened",
    "search/source.py": "scans directories by the descriptors that the store opened",
    "cli/terminal.py": "gives standard output to nobody when the reader of a pipe has gone",
    "cli/runner.py": "asks at the terminal of the process",
    "cli/workplace.py": "finds the root above the working folder",
    "cli/commands/changing.py": "reads the patch, and the file of --from, inside or outside the root",
    "cli/commands/history.py": "reads the feedback that it is given, and writes the file of --output outside of every root",
    "servers/http/editor_page.py": "reads the files of the page, which it ships with",
    "servers/mcp/transports.py": "reads and writes standard input and output of the process",
    "cli/demo/": "plays the stranger, and counts on the disk itself what is left",
}
"""Who touches files past the stores, and why; a name that ends with a slash stands for a folder."""

LINES_OF_MODULE: Final = 500
LINES_OF_FUNCTION: Final = 60
LONG_MODULES: Final[Mapping[str, str]] = {
    "errors.py": "holds every error of the product, in one place",
    "facade/history_calls.py": "one method for each call about history, which the core's history replaces",
}
"""Modules that may be longer, each with its reason."""

_FORBIDDEN_MODULES: Final = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})
_FORBIDDEN_CLASS: Final = re.compile(r"(Manager|Service|Handler|Helper|Util)s?\Z")
_ALLOWED_CLASSES: Final = frozenset({"SyncManager"})
_ENVIRONMENT: Final = frozenset({"environ", "environb", "getenv", "getenvb"})
_FILE_MODULES: Final = frozenset({"shutil", "tempfile", "aiofiles", "glob", "mmap"})
_OS_CALLS: Final = frozenset(
    (
        "access", "chdir", "chflags", "chmod", "chown", "close", "copy_file_range", "fchmod", "fchown", "fdatasync",
        "fdopen", "fstat", "fstatvfs", "fsync", "ftruncate", "fwalk", "getcwd", "getxattr", "lchmod", "lchown", "link",
        "listdir", "listxattr", "lockf", "lseek", "lstat", "makedirs", "memfd_create", "mkdir", "mkfifo", "mknod",
        "open", "posix_fallocate", "pread", "preadv", "pwrite", "pwritev", "read", "readlink", "readv", "remove",
        "removedirs", "removexattr", "rename", "renames", "replace", "rmdir", "scandir", "sendfile", "setxattr",
        "splice", "stat", "statvfs", "symlink", "sync", "truncate", "unlink", "utime", "walk", "write", "writev",
    )
)  # fmt: skip
_OS_PATH_CALLS: Final = frozenset(
    (
        "exists", "getatime", "getctime", "getmtime", "getsize", "isdir", "isfile", "islink", "ismount", "lexists",
        "realpath", "samefile",
    )
)  # fmt: skip
_PATH_METHODS: Final = frozenset(
    (
        "hardlink_to", "is_block_device", "is_char_device", "is_dir", "is_fifo", "is_file", "is_mount", "is_socket",
        "is_symlink", "iterdir", "lchmod", "mkdir", "read_bytes", "read_text", "rglob", "rmdir", "samefile",
        "symlink_to", "unlink", "write_bytes", "write_text",
    )
)  # fmt: skip
"""Methods that only paths have."""
_SHARED_METHODS: Final = frozenset(
    ("chmod", "exists", "lstat", "open", "rename", "replace", "resolve", "stat", "touch")
)
"""Methods that stores or texts have, too: of a path only if it is evidently one."""


@dataclass(frozen=True)
class Module:
    """One module of the package: where it stands, and what it says."""

    place: str
    """Path below the package, such as "stores/local.py"."""
    source: str

    @property
    def unit(self) -> str:
        """The unit that it belongs to, such as "stores"."""
        return PurePosixPath(self.place).parts[0].removesuffix(".py")

    def imports(self) -> Iterator[tuple[ast.stmt, str]]:
        """Yield each import with the dotted name of what it imports, also where it is hidden in a function."""
        for node in nodes(self.source):
            if isinstance(node, ast.Import):
                yield from ((node, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                prefix = "." * node.level + (node.module or "")
                names = [f"{prefix}.{alias.name}" for alias in node.names] if prefix == PACKAGE else [prefix]
                yield from ((node, name) for name in names)

    def fault(self, node: ast.AST, words: str) -> str:
        """Return the line that tells of a fault."""
        return f"{self.place}:{getattr(node, 'lineno', 0)} {words}"


Rule = Callable[[Module], list[str]]


@cache
def modules() -> tuple[Module, ...]:
    """Return all modules of the package."""
    root = REPOSITORY / PACKAGE
    places = [(path, path.relative_to(root).as_posix()) for path in sorted(root.rglob("*.py"))]
    return tuple(Module(place, path.read_text(encoding="utf-8")) for path, place in places)


def stands_on_its_floor(module: Module) -> list[str]:
    """A unit imports itself and lower floors, never sideways, never up; a door only what doors may use."""
    if module.unit not in LEVEL:
        return [f"{module.place} belongs to {module.unit!r}, which stands on no floor"]
    return [
        module.fault(node, f"imports {name}: {reason}")
        for node, name in module.imports()
        if (reason := _refusal(module.unit, name)) is not None
    ]


def _refusal(unit: str, name: str) -> str | None:
    if name.startswith("."):
        return "relative imports hide the floor"
    root, _, rest = name.partition(".")
    if root != PACKAGE:
        return None
    other = rest.partition(".")[0] or TOP
    if other == unit:
        return None
    if other not in LEVEL:
        # `from filetools import open`: a name of the top, not a unit.
        return "the top stands above all floors" if unit != TOP else None
    if LEVEL[other] > LEVEL[unit]:
        return f"floor {LEVEL[other]} is above floor {LEVEL[unit]}"
    if LEVEL[other] == LEVEL[unit] and (unit, other) not in SIDEWAYS:
        return f"both stand on floor {LEVEL[unit]}"
    if unit in DOORS and other not in DOORS[unit]:
        return f"{unit} uses only {', '.join(sorted(DOORS[unit]))}"
    return None


def is_named_after_a_thing(module: Module) -> list[str]:
    """No module is a drawer for everything, no class a Manager, Service, Handler, Helper or Util but SyncManager."""
    parts = {part.removesuffix(".py") for part in PurePosixPath(module.place).parts}
    faults = [f"{module.place} is called {name}" for name in sorted(parts & _FORBIDDEN_MODULES)]
    return faults + [
        module.fault(node, f"class {node.name}")
        for node in nodes(module.source)
        if isinstance(node, ast.ClassDef) and node.name not in _ALLOWED_CLASSES and _FORBIDDEN_CLASS.search(node.name)
    ]


def leaves_packages_to_their_owner(module: Module) -> list[str]:
    """Some packages are used by one unit only, so that the others need not know their traps."""
    return [
        module.fault(node, f"imports {name}, which {OWNERS[root]} keeps to itself")
        for node, name in module.imports()
        if (root := name.partition(".")[0]) in OWNERS
        and not module.place.startswith(f"{OWNERS[root]}/")
        and (module.place, root) not in LENT
    ]


def imports_only_what_is_declared(module: Module) -> list[str]:
    """What is neither Python's own nor a dependency is not imported; an extra only inside the function that needs it."""
    top, core, extra = set(_top_statements(nodes(module.source)[0])), core_names(), extra_names()
    faults = []
    for node, name in module.imports():
        root = name.partition(".")[0]
        if root in (PACKAGE, "") or root in sys.stdlib_module_names or root in core:
            continue
        if root not in extra:
            faults.append(module.fault(node, f"imports {name}, which is not declared"))
        elif node in top and root not in AT_HOME.get(module.unit, frozenset()):
            faults.append(module.fault(node, f"imports the extra {name} outside a function"))
    return faults


def leaves_the_environment_alone(module: Module) -> list[str]:
    """Only settings.py reads the environment."""
    if module.place == "settings.py":
        return []
    faults = [
        module.fault(node, f"reads os.{node.attr}")
        for node in nodes(module.source)
        if isinstance(node, ast.Attribute) and node.attr in _ENVIRONMENT and _is_name(node.value, "os")
    ]
    return faults + [
        module.fault(node, f"imports {name} of os") for node, name in _names_from(module, "os") if name in _ENVIRONMENT
    ]


def prints_only_at_the_door(module: Module) -> list[str]:
    """Only the command line prints."""
    if module.unit in ("cli", "__main__"):
        return []
    return [
        module.fault(node, "uses print")
        for node in nodes(module.source)
        if isinstance(node, ast.Name) and node.id == "print"
    ]


def leaves_files_to_the_stores(module: Module) -> list[str]:
    """Files are touched through a store; whoever touches them otherwise is listed in `DISK`."""
    return [] if any(stands_for(place, module.place) for place in DISK) else disk_accesses(module)


def disk_accesses(module: Module) -> list[str]:
    """Return where a module touches files itself."""
    faults = [module.fault(node, f"uses {name}") for node in nodes(module.source) if (name := _disk_name(node))]
    faults += [
        module.fault(node, f"imports {name}") for node, name in module.imports() if name.split(".")[0] in _FILE_MODULES
    ]
    return faults + [
        module.fault(node, f"imports {name} of os")
        for origin in ("os", "os.path", "io")
        for node, name in _names_from(module, origin)
        if name in _OS_CALLS | _OS_PATH_CALLS
    ]


def is_read_in_one_sitting(module: Module) -> list[str]:
    """A module has at most 400 lines, a function 60 with its docstring aside."""
    lines = module.source.count("\n")
    is_long = lines > LINES_OF_MODULE and module.place not in LONG_MODULES
    faults = [f"{module.place} has {lines} lines"] if is_long else []
    return faults + [
        module.fault(node, f"{node.name} has {_lines_of(node)} lines")
        for node in nodes(module.source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _lines_of(node) > LINES_OF_FUNCTION
    ]


RULES: Final[tuple[Rule, ...]] = (
    stands_on_its_floor,
    is_named_after_a_thing,
    leaves_packages_to_their_owner,
    imports_only_what_is_declared,
    leaves_the_environment_alone,
    prints_only_at_the_door,
    leaves_files_to_the_stores,
    is_read_in_one_sitting,
)


def stands_for(entry: str, place: str) -> bool:
    """Whether an entry of `DISK` speaks about a module."""
    return place.startswith(entry) if entry.endswith("/") else place == entry


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _names_from(module: Module, origin: str) -> Iterator[tuple[ast.ImportFrom, str]]:
    for node in nodes(module.source):
        if isinstance(node, ast.ImportFrom) and node.module == origin and not node.level:
            yield from ((node, alias.name) for alias in node.names)


def _top_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when the module is imported: everything outside functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting += [] if is_function else ast.iter_child_nodes(node)


def _disk_name(node: ast.AST) -> str | None:
    """Return the words for one use of the disk, or None."""
    if isinstance(node, ast.Call) and _is_name(node.func, "open"):
        return "open()"
    if not isinstance(node, ast.Attribute):
        return None
    name = node.attr
    is_os = (name in _OS_CALLS and _is_name(node.value, "os")) or (name in _OS_PATH_CALLS and _is_os_path(node.value))
    is_io = name == "open" and _is_name(node.value, "io")
    is_path = name in _PATH_METHODS or (name in _SHARED_METHODS and _is_evidently_a_path(node.value))
    return ast.unparse(node) if is_os or is_io or is_path else None


def _is_os_path(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "path" and _is_name(node.value, "os")


def _is_evidently_a_path(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("Path", "pathlib.Path", "Path.cwd", "Path.home")
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    docstring = ast.get_docstring(node, clean=False)
    return (node.end_lineno or node.lineno) - node.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)
