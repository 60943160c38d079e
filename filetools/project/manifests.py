"""Reads dependencies from the manifests of projects, and recognises folders as projects. Executes nothing."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar, cast

from filetools.content.facts import text_of
from filetools.distribution import require_extra
from filetools.errors import FileToolsError
from filetools.paths.workspace_path import ROOT
from filetools.project.folder import ProjectFolder
from filetools.settings import parsed_toml

T = TypeVar("T", dict[str, Any], list[Any], str)
_WORDS: Final[dict[type, str]] = {dict: "table", list: "list", str: "string"}
_MOST_BYTES: Final = 256 * 1024
_MOST_NAMED_BYTES: Final = 64 * 1024
_MOST_FILES: Final = 50
_MOST_CHARACTERS: Final = 2000
_FOR_DEVELOPERS: Final = re.compile(
    r"(?i)(?:^|[^a-z])(?:(?:dev|build)(?:dependencies|el(?:opment)?)?|tests?|testing|docs?|lint(?:ing|ers?)?|typ(?:es|ing)"
    r"|mypy|ci|bench(?:marks?)?|qa|style|coverage|examples?)(?:$|[^a-z])"
)
_KINDS: Final = ("runtime", "optional", "dev")
_ADDRESS: Final = re.compile(r"(?:[a-z+]+:|[\w.~-]*/|\.)\S*|\S+\.(?:whl|zip|tar\.gz)")
_OPTION: Final = re.compile(r"(--[a-z-]+|-[a-z])[ =]?\s*(.*)")


class _Manifest:
    """The dependencies in one file, and the parts of it that could not be parsed."""

    def __init__(self, file: str, kind: str) -> None:
        self.file, self.kind, self.name = file, kind, ""
        self.data: dict[str, Any] = {}
        self.rows: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.faults: dict[str, None] = {}
        self.includes: list[str] = []

    def read_toml(self, text: str) -> None:
        self.data = parsed_toml(text)

    def fault(self, why: str) -> None:
        self.faults[_plain(why)] = None

    def value(self, wanted: type[T], *keys: str) -> T:
        """Return the value at a path of keys; empty if it is missing or of another type."""
        found: Any = self.data
        for depth, key in enumerate(keys, 1):
            kind: type = wanted if depth == len(keys) else dict
            found = found.get(key, kind())
            if not isinstance(found, kind):
                self.fault(f"{'.'.join(keys[:depth])} is not a {_WORDS[kind]}")
                found = wanted()
                break
        return cast(T, found)

    def table(self, kind: str, *keys: str) -> None:
        """Record the dependencies of a table; a version is a text, a table that contains one, or a list of these."""
        for name, versions in self.value(dict, *keys).items():
            for version in versions if isinstance(versions, list) else [versions]:
                self.add(name, version, kind)

    def add(self, name: str, version: Any, kind: str, *, indirect: bool = False) -> None:
        if isinstance(version, dict):
            kind = "optional" if version.get("optional") is True and kind == "runtime" else kind
            version = next((version[key] for key in ("version", "git", "url", "path") if key in version), "")
        if isinstance(version, str) and name.strip():
            key = _plain(name), _plain(version), kind
            row = {"name": key[0], "version": key[1], "kind": kind, "file": self.file, "indirect": indirect}
            self.rows[key] = {word: each for word, each in row.items() if each}
        else:
            self.fault(f"{name!r} has no name or no version that is a text")

    def require(self, kind: str, *lines: Any) -> None:
        for line in lines:
            try:
                name, version = _requirement(line)
            except ModuleNotFoundError as exc:
                self.fault(str(exc))
            except (ValueError, TypeError, RecursionError) as exc:
                self.fault(f"{str(line)[:80]!r} is not a requirement: {str(exc).splitlines()[0]}")
            else:
                if name != self.name and not name.startswith("."):  # otherwise the project itself
                    self.add(name, version, kind)

    def include(self, target: str) -> None:
        """Record an included requirements file, whose path is relative to this one."""
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(self.file), target))
        if "://" in target or inside.startswith(("/", "..")):
            self.fault(f"it includes {target}, which is not in the folder")
        else:
            self.includes.append(inside)


def dependencies(folder: ProjectFolder) -> dict[str, Any]:
    """Return the dependencies in pyproject.toml, package.json, Cargo.toml, go.mod and `*requirements*.txt` of a folder.

    Args:
        folder: The folder. At most 50 files are read.

    Returns:
        `{"dependencies": [{"name", "version"?, "kind", "file", "indirect"?}], "warnings"?}`. Kind is "runtime", "optional"
        for extras and other optional ones, or "dev" for building, testing and documentation; they are sorted in this order,
        indirect ones of go.mod last. A version is a range, or else the source, without passwords. A warning names a file and
        what could not be parsed.
    """
    names = {entry.name for entry in folder.reads.scan(ROOT)}
    lists = sorted((_kind(name) == "dev", name) for name in names if re.fullmatch(r".*requirements.*\.txt", name))
    pending = [(name, "") for name in _PARSERS if name in names] + [(name, _kind(name)) for _, name in lists]
    seen: dict[str, _Manifest] = {}
    while pending and len(seen) < _MOST_FILES:
        file, kind = pending.pop(0)
        if file not in seen:
            seen[file] = _read(folder, file, kind)
            pending += [(each, "dev" if kind == "dev" else _kind(each)) for each in seen[file].includes]
    found = [row for each in seen.values() for row in each.rows.values()]
    warnings = [
        f"{_plain(each.file)}: {next(iter(each.faults))}"
        + (f" ({len(each.faults) - 1} more)" if len(each.faults) > 1 else "")
        for each in seen.values()
        if each.faults
    ]
    if any(file not in seen for file, _ in pending):
        warnings.append(f"only {len(seen)} files are read")
    if "setup.py" in names and not any(
        row["file"].endswith((".toml", ".txt")) and row["kind"] != "dev" for row in found
    ):
        warnings.append("setup.py: it would have to be run, which is never done")
    found.sort(key=lambda row: ("indirect" in row, _KINDS.index(row["kind"])))
    return {"dependencies": found} | ({"warnings": warnings} if warnings else {})


def discovered(folder: ProjectFolder, folders: Iterable[str]) -> dict[str, Any]:
    """Return the folders that are projects, because they contain `.git` or a manifest.

    Args:
        folder: The base of their paths.
        folders: "" is the base itself; deleted and unreadable folders are omitted.

    Returns:
        `{"projects": [{"path", "kind", "name"}]}`; kind is python, node, rust, go, several joined by "+", or git without a
        manifest; the name is that in the first manifest that has one, else that of the folder.
    """
    projects = []
    for each in folders:
        try:
            path = folder.reads.resolve(each)
            found = [entry for entry in folder.reads.scan(path) if entry.type in ("file", "directory")]
        except FileToolsError:
            continue
        names = {entry.name for entry in found if entry.type == "file" or entry.name == ".git"}
        files = [name for name in _LANGUAGES if name in names]
        if files or ".git" in names:
            named = (_read(folder, path.child(name), most=_MOST_NAMED_BYTES).name for name in files if name in _PARSERS)
            name = _plain(next(filter(None, named), "")) or posixpath.basename(folder.shown(path))
            kind = "+".join(dict.fromkeys(_LANGUAGES[name] for name in files)) or "git"
            projects.append({"path": folder.shown(path), "kind": kind, "name": name})
    return {"projects": projects}


def _read(folder: ProjectFolder, file: str, kind: str = "", *, most: int = _MOST_BYTES) -> _Manifest:
    manifest = _Manifest(file, kind)
    try:
        text = text_of(folder.reads.read(folder.reads.resolve(file), limit=most)[0], name=file)
        if text is None:
            manifest.fault("it is binary")
        else:
            _PARSERS.get(posixpath.basename(file), _requirements)(manifest, text)
    except FileToolsError as exc:
        manifest.fault(exc.message)
    except (ValueError, RecursionError) as exc:
        manifest.fault(str(exc))
    return manifest


def _pyproject(manifest: _Manifest, text: str) -> None:
    manifest.read_toml(text)
    manifest.name = manifest.value(str, "project", "name") or manifest.value(str, "tool", "poetry", "name")
    manifest.require("runtime", *manifest.value(list, "project", "dependencies"))
    for extra in manifest.value(dict, "project", "optional-dependencies"):
        kind = "dev" if _kind(extra) == "dev" else "optional"
        manifest.require(kind, *manifest.value(list, "project", "optional-dependencies", extra))
    manifest.value(dict, "tool", "poetry", "dependencies").pop("python", None)
    manifest.table("runtime", "tool", "poetry", "dependencies")
    manifest.table("dev", "tool", "poetry", "dev-dependencies")
    for group in manifest.value(dict, "tool", "poetry", "group"):
        manifest.table("dev", "tool", "poetry", "group", group, "dependencies")
    for group in manifest.value(dict, "dependency-groups"):
        # Included groups are listed separately.
        lines = [line for line in manifest.value(list, "dependency-groups", group) if not isinstance(line, dict)]
        manifest.require("dev", *lines)
    manifest.require("dev", *manifest.value(list, "build-system", "requires"))


def _requirement(line: Any) -> tuple[str, str]:
    """Return name and version of a PEP 508 requirement, or of a URL or path that pip accepts."""
    if len(line) > _MOST_CHARACTERS:
        raise ValueError("it is too long")
    if isinstance(line, str) and _ADDRESS.fullmatch(line):
        egg = re.search(r"[#&]egg=([\w.-]+)", line)
        return egg[1] if egg else posixpath.basename(line.partition("#")[0].rstrip("/")), line
    require_extra("context", "listing Python requirements", "packaging")
    from packaging.requirements import Requirement

    found = Requirement(line)
    ranges = sorted(map(str, found.specifier), key=line.replace(" ", "").find)  # in the written order
    return found.name, found.url or ",".join(ranges)


def _requirements(manifest: _Manifest, text: str) -> None:
    for whole in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.split(r"(?:^|\s)#", whole, maxsplit=1)[0].strip()
        option = _OPTION.fullmatch(line)
        if option is None:
            manifest.require(manifest.kind, *filter(None, [line.partition(" --")[0].strip()]))
        elif option[1] in ("-r", "--requirement"):
            manifest.include(option[2].strip("'\""))
        elif option[1] in ("-e", "--editable"):
            manifest.require(manifest.kind, option[2])


def _package(manifest: _Manifest, text: str) -> None:
    manifest.data = json.loads(text)
    if not isinstance(manifest.data, dict):
        raise ValueError("it is not a table")  # noqa: TRY004 -- as what else cannot be parsed
    manifest.name = manifest.value(str, "name")
    peers = manifest.value(dict, "peerDependenciesMeta").items()
    optional = {
        *manifest.value(dict, "optionalDependencies"),
        *(name for name, is_so in peers if is_so == {"optional": True}),
    }
    for key in ("dependencies", "peerDependencies", "optionalDependencies", "devDependencies"):
        for name, version in manifest.value(dict, key).items():
            is_optional = key != "devDependencies" and name in optional
            manifest.add(name, version, "optional" if is_optional else _kind(key))


def _cargo(manifest: _Manifest, text: str) -> None:
    manifest.read_toml(text)
    manifest.name = manifest.value(str, "package", "name")
    shared = manifest.value(dict, "workspace", "dependencies")
    for keys in [(), *(("target", each) for each in manifest.value(dict, "target"))]:
        for key in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, version in manifest.value(dict, *keys, key).items():
                is_shared = isinstance(version, dict) and version.get("workspace") is True
                manifest.add(name, shared.get(name, "") if is_shared else version, _kind(key))
    used = {row[0] for row in manifest.rows}
    for name in [name for name in shared if name not in used]:
        manifest.add(name, shared[name], "runtime")


def _go(manifest: _Manifest, text: str) -> None:
    block = ""
    for line in text.splitlines():
        words = re.sub(r'["`]', "", line.partition("//")[0].replace("(", " ( ")).split()
        if words[1:] == ["("] or words == [")"]:
            block = words[0].strip(")")
        elif words:
            directive, *values = [block, *words] if block else words
            if directive == "module":
                manifest.name = values[0] if values else ""
            elif directive == "require" and len(values) == 2:
                manifest.add(values[0], values[1], "runtime", indirect=re.search(r"//\s*indirect", line) is not None)
            elif directive == "require":
                manifest.fault(f"{line.strip()!r} is not a requirement")
    if not manifest.name:
        manifest.fault("it has no module line")


def _kind(name: str) -> str:
    return "dev" if _FOR_DEVELOPERS.search(name) else "runtime"


def _plain(text: str) -> str:
    """Return a text as one line of at most 200 characters, without passwords and lone surrogates."""
    return " ".join(re.sub(r"//[^/@\s]*@", "//", text).split())[:200].encode("utf-8", "replace").decode()


_PARSERS: Final[dict[str, Callable[[_Manifest, str], None]]] = {
    "pyproject.toml": _pyproject, "package.json": _package, "Cargo.toml": _cargo, "go.mod": _go
}  # fmt: skip
_LANGUAGES: Final = {
    "pyproject.toml": "python", "requirements.txt": "python", "setup.py": "python", "package.json": "node",
    "Cargo.toml": "rust", "go.mod": "go",
}  # fmt: skip
