"""What manifests say of dependencies and projects, and that none of them, whatever is in it, breaks the answer."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filetools.project.folder import ProjectFolder, opened_folder
from filetools.project.manifests import dependencies, discovered

Row = tuple[str, str, str]

PYPROJECT = """
[project]
name = "Mine"
dependencies = ["a >=1.2, <3, !=2.0 ; python_version < '4'", "a>=1.2,<3,!=2.0", "b[x,y]", "c @ git+https://me:pw@host/c.git@main"]
[project.optional-dependencies]
fast = ["d~=1.0"]
all = ["Mine[fast]"]
tests = ["e"]
[dependency-groups]
lint = ["f==1", {include-group = "typing"}]
typing = ["g"]
[tool.poetry.dependencies]
python = "^3.11"
h = "^1.0"
i = {version = "^2", optional = true}
j = [{version = "<1", python = "<3.9"}, {version = ">=1", python = ">=3.9"}]
k = {git = "https://host/k.git", branch = "main"}
l = {path = "../l"}
[tool.poetry.dev-dependencies]
m = "*"
[tool.poetry.group.extra.dependencies]
n = "1.*"
[build-system]
requires = ["hatchling"]
"""
CARGO = """
[package]
name = "mine"
[dependencies]
a = "1"
b = { version = "2", features = ["x"] }
c = { workspace = true }
d.workspace = true
e = { git = "https://host/e" }
[dev-dependencies]
f = "0.1"
j.workspace = true
[build-dependencies]
cc = "1"
[target.'cfg(windows)'.dependencies]
g = "3"
[target.x86_64-unknown-linux-gnu.dev-dependencies]
h = "4"
[workspace.dependencies]
c = "5"
d = { path = "d" }
i = "6"
j = "7"
"""
GO = """
module github.com/me/mine // a comment

go 1.22
toolchain go1.22.1
require github.com/a/a v1.0.0
require (
	github.com/b/b v0.0.0-20200101000000-abcdef123456
	"github.com/c/c" v2.0.0+incompatible // indirect
	// nothing here
	github.com/d/d/v2 v2.1.0 // indirect; for tests

)
require(
	github.com/e/e v1.1.1
)
exclude github.com/x/x v1.0.0
replace (
	github.com/a/a => ../a
)
retract [v1.0.0, v1.1.0]
"""
REQUIREMENTS = r"""
# a comment
a==1.0  # another
b>=2 ; python_version < "4"
c==1.0 \
    --hash=sha256:aaaa \
    --hash=sha256:bbbb
d[x]
-r more/base.txt
--requirement=more/equals.txt
-c constraints.txt
-i https://me:pw@index/simple
--find-links packages
-e .
-e .[dev]
-e git+https://me:pw@host/e.git@main#egg=e&subdirectory=x
--editable ./libs/f
git+ssh://git@host/g.git
https://host/h-1.0-py3-none-any.whl#sha256=00
./i.whl
j @ https://host/j.zip
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[ProjectFolder]:
    with opened_folder(str(tmp_path)) as folder:
        yield folder


def written(folder: ProjectFolder, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        place = Path(folder.path, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def rows(answer: dict[str, Any]) -> list[Row]:
    return [(each["name"], each.get("version", ""), each["kind"]) for each in answer["dependencies"]]


def test_a_folder_without_manifests_has_no_dependencies(folder: ProjectFolder) -> None:
    assert dependencies(folder) == {"dependencies": []}


def test_nothing_is_run_and_that_is_said(folder: ProjectFolder) -> None:
    written(folder, {"setup.py": "open('ran', 'w')"})
    assert dependencies(folder) == {
        "dependencies": [], "warnings": ["setup.py: it would have to be run, which is never done"],
    }  # fmt: skip
    assert os.listdir(folder.path) == ["setup.py"]
    written(folder, {"pyproject.toml": "build-system.requires = ['setuptools']", "requirements-dev.txt": "pytest"})
    assert "warnings" in dependencies(folder)
    written(folder, {"requirements.txt": "a"})
    assert "warnings" not in dependencies(folder)


DEEP = 100_000
BROKEN: list[tuple[str, str | bytes, str]] = [
    ("package.json", "{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ("package.json", "[" * DEEP, "maximum recursion depth exceeded"),
    ("package.json", b"\x89PNG\r\n\x1a\n\0\xff", "it is binary"),
    ("package.json", " " * 10_000_000, "File too large: package.json has 10000000 bytes"),
    ("package.json", '{"dependencies": ["a"]}', "dependencies is not a table"),
    ("pyproject.toml", "a =", "Invalid value (at end of document)"),
    ("pyproject.toml", "a = " + "[" * DEEP, "maximum recursion depth exceeded"),
    ("pyproject.toml", "a." * DEEP + "a = 1", "a line has over 500 dots"),
    ("pyproject.toml", "project.dependencies = [5]", "'5' is not a requirement: "),
    ("pyproject.toml", "project.dependencies = ['" + "a; " + "(" * DEEP + "']", "is not a requirement: "),
    ("go.mod", "", "it has no module line"),
    ("requirements.txt", "a b", "'a b' is not a requirement: "),
    ("requirements.txt", "a" * 2001, "is not a requirement: it is too long"),
    ("requirements.txt", "-r https://me:pw@host/a.txt", "it includes https://host/a.txt, which is not in the folder"),
]


@pytest.mark.parametrize(("file", "content", "why"), BROKEN, ids=lambda value: str(value)[:30])
def test_a_file_that_cannot_be_understood_is_a_warning_that_names_it(
    folder: ProjectFolder, file: str, content: str | bytes, why: str
) -> None:
    written(folder, {file: content, "dev-requirements.txt": "good"})
    answer = dependencies(folder)
    assert rows(answer) == [("good", "", "dev")]
    [warning] = answer["warnings"]
    assert warning.startswith(f"{file}: ")
    assert why in warning
    assert len(warning) < 300


def test_what_is_no_regular_file_in_the_folder_is_a_warning(folder: ProjectFolder) -> None:
    place = Path(folder.path)
    (place / "package.json").mkdir()
    (place / "Cargo.toml").symlink_to("../secret.toml")
    os.mkfifo(place / "go.mod")
    (place / "pyproject.toml").symlink_to("pyproject.toml")
    written(folder, {"requirements.txt": "-r gone.txt\n-r requirements.txt\n-r sub/../requirements.txt\ngood"})
    answer = dependencies(folder)
    assert rows(answer) == [("good", "", "runtime")]
    assert [warning.partition(": ")[0] for warning in answer["warnings"]] == [
        "pyproject.toml", "package.json", "Cargo.toml", "go.mod", "gone.txt",
    ]  # fmt: skip


def test_a_chain_of_lists_ends(folder: ProjectFolder) -> None:
    written(folder, {f"requirements{at}.txt": f"-r a{at}.txt\na{at}" for at in range(100)})
    answer = dependencies(folder)
    assert len(answer["dependencies"]) == 50
    assert answer["warnings"] == ["only 50 files are read"]


def test_a_list_without_end_is_not_read(folder: ProjectFolder) -> None:
    written(folder, {"requirements.txt": "a\n" * (128 * 1024 + 1)})
    answer = dependencies(folder)
    assert (rows(answer), len(answer["warnings"])) == ([], 1)


def test_pyproject_tells_all_of_its_tables(folder: ProjectFolder) -> None:
    written(folder, {"pyproject.toml": PYPROJECT})
    answer = dependencies(folder)
    assert "warnings" not in answer
    assert rows(answer) == [
        ("a", ">=1.2,<3,!=2.0", "runtime"), ("b", "", "runtime"), ("c", "git+https://host/c.git@main", "runtime"),
        ("h", "^1.0", "runtime"), ("j", "<1", "runtime"), ("j", ">=1", "runtime"),
        ("k", "https://host/k.git", "runtime"), ("l", "../l", "runtime"), ("d", "~=1.0", "optional"), ("i", "^2", "optional"),
        ("e", "", "dev"), ("m", "*", "dev"), ("n", "1.*", "dev"), ("f", "==1", "dev"), ("g", "", "dev"),
        ("hatchling", "", "dev"),
    ]  # fmt: skip
    assert answer["dependencies"][0] == {
        "name": "a", "version": ">=1.2,<3,!=2.0", "kind": "runtime", "file": "pyproject.toml",
    }  # fmt: skip


def test_requirements_are_read_as_pip_reads_them(folder: ProjectFolder) -> None:
    written(
        folder,
        {
            "requirements.txt": REQUIREMENTS.replace("\n", "\r\n").encode("utf-16"),  # as PowerShell writes them
            "more/base.txt": "-r ../requirements.txt\nbase\n-r dev.txt",
            "more/dev.txt": "only-dev",
            "more/equals.txt": "equals",
            "test_requirements.txt": "-r more/base.txt\n-r shared.in\npytest",
            "shared.in": "shared",
        },
    )
    answer = dependencies(folder)
    assert "warnings" not in answer
    assert rows(answer) == [
        ("a", "==1.0", "runtime"), ("b", ">=2", "runtime"), ("c", "==1.0", "runtime"), ("d", "", "runtime"),
        ("e", "git+https://host/e.git@main#egg=e&subdirectory=x", "runtime"), ("f", "./libs/f", "runtime"),
        ("g.git", "git+ssh://host/g.git", "runtime"),
        ("h-1.0-py3-none-any.whl", "https://host/h-1.0-py3-none-any.whl#sha256=00", "runtime"),
        ("i.whl", "./i.whl", "runtime"), ("j", "https://host/j.zip", "runtime"), ("base", "", "runtime"),
        ("equals", "", "runtime"), ("pytest", "", "dev"), ("shared", "", "dev"), ("only-dev", "", "dev"),
    ]  # fmt: skip
    assert [each["file"] for each in answer["dependencies"][-4:]] == [
        "more/equals.txt", "test_requirements.txt", "shared.in", "more/dev.txt",
    ]  # fmt: skip


def test_package_json_tells_what_is_for_developers(folder: ProjectFolder) -> None:
    tables = {
        "devDependencies": {"a": "1"}, "dependencies": {"b": "^2", "c": "git+ssh://git:pw@host/c.git"},
        "peerDependencies": {"d": ">=3", "f": ">=4"},
        "peerDependenciesMeta": {"d": {"optional": False}, "f": {"optional": True}},
        "optionalDependencies": {"e": "workspace:*"}, "bundleDependencies": ["b"],
    }  # fmt: skip
    written(folder, {"package.json": "\ufeff" + json.dumps(tables)})
    answer = dependencies(folder)
    assert "warnings" not in answer
    assert rows(answer) == [
        ("b", "^2", "runtime"), ("c", "git+ssh://host/c.git", "runtime"), ("d", ">=3", "runtime"),
        ("f", ">=4", "optional"), ("e", "workspace:*", "optional"), ("a", "1", "dev"),
    ]  # fmt: skip


def test_cargo_tells_targets_and_what_the_workspace_shares(folder: ProjectFolder) -> None:
    written(folder, {"Cargo.toml": CARGO})
    answer = dependencies(folder)
    assert "warnings" not in answer
    assert rows(answer) == [
        ("a", "1", "runtime"), ("b", "2", "runtime"), ("c", "5", "runtime"), ("d", "d", "runtime"),
        ("e", "https://host/e", "runtime"), ("g", "3", "runtime"), ("i", "6", "runtime"), ("f", "0.1", "dev"),
        ("j", "7", "dev"), ("cc", "1", "dev"), ("h", "4", "dev"),
    ]  # fmt: skip


def test_go_tells_what_is_indirect_last(folder: ProjectFolder) -> None:
    written(folder, {"go.mod": GO, "requirements-dev.txt": "pytest"})
    answer = dependencies(folder)
    assert "warnings" not in answer
    assert rows(answer) == [
        ("github.com/a/a", "v1.0.0", "runtime"),
        ("github.com/b/b", "v0.0.0-20200101000000-abcdef123456", "runtime"),
        ("github.com/e/e", "v1.1.1", "runtime"),
        ("pytest", "", "dev"),
        ("github.com/c/c", "v2.0.0+incompatible", "runtime"),
        ("github.com/d/d/v2", "v2.1.0", "runtime"),
    ]
    assert [each.get("indirect") for each in answer["dependencies"]] == [None] * 4 + [True] * 2


def test_texts_of_a_manifest_are_one_short_line_that_can_be_encoded(folder: ProjectFolder) -> None:
    written(folder, {"package.json": r'{"dependencies": {"a\n\u2028## b\ud800": "' + "1" * 999 + '"}}'})
    [row] = dependencies(folder)["dependencies"]
    assert (row["name"], row["version"]) == ("a ## b?", "1" * 200)


def test_without_the_extra_requirements_are_a_warning_and_the_rest_is_listed(
    folder: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "packaging", None)
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    written(folder, {"pyproject.toml": PYPROJECT, "package.json": '{"dependencies": {"node": "1"}}'})
    answer = dependencies(folder)
    assert {name for name, _, _ in rows(answer)} == {"h", "i", "j", "k", "l", "m", "n", "node"}
    assert answer["warnings"] == [
        "pyproject.toml: listing Python requirements needs the package 'packaging': pip install 'agent-filetools[context]'"
    ]


words = st.sampled_from(
    ("name", "dependencies", "devDependencies", "project", "optional-dependencies", "dependency-groups", "tool", "poetry",
     "group", "dev", "workspace", "package", "target", "build-system", "requires", "version", "git", "include-group",
     "python", "a")
)  # fmt: skip
texts = st.one_of(
    words, st.text(max_size=8), st.sampled_from(("a>=1", "a @ file:///x", "../x", "-e .", "a;(", "a[", ""))
)
shapes = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(words, texts), inner, max_size=4)),
    max_leaves=12,
)
tables = st.dictionaries(words, shapes, max_size=5)


def as_toml(value: Any) -> str:
    """Write a shape as an inline value of TOML, which has no null."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_text(key)} = {as_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else as_text(value or "")


def as_text(value: str) -> str:
    return json.dumps(value.encode("utf-8", "replace").decode().translate({0x7F: "?"}), ensure_ascii=False)


def answered(**files: str | bytes) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place, opened_folder(place) as folder:
        written(folder, {name.replace("_", "."): content for name, content in files.items()})
        answer = dependencies(folder)
        assert discovered(folder, [""])["projects"]
    return answer


@settings(max_examples=20)
@given(shapes)
def test_no_json_breaks_the_answer(shape: Any) -> None:
    judge(answered(package_json=json.dumps(shape)))


@settings(max_examples=20)
@given(tables)
def test_no_toml_breaks_the_answer(table: dict[str, Any]) -> None:
    text = "\n".join(f"{as_text(key)} = {as_toml(value)}" for key, value in table.items())
    judge(answered(pyproject_toml=text, Cargo_toml=text))


@settings(max_examples=20)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(texts, max_size=8).map(lambda lines: "\n".join(lines).encode("utf-8", "replace")),
    )
)
def test_no_bytes_break_the_answer(content: bytes) -> None:
    judge(
        answered(
            package_json=content, pyproject_toml=content, Cargo_toml=content, go_mod=content, requirements_txt=content
        )
    )


def judge(answer: dict[str, Any]) -> None:
    json.dumps(answer).encode()
    assert answer.keys() <= {"dependencies", "warnings"}
    for row in answer["dependencies"]:
        assert {"name", "kind", "file"} <= row.keys() <= {"name", "version", "kind", "file", "indirect"}
        assert row["kind"] in ("runtime", "optional", "dev")
        assert all(value is True or (isinstance(value, str) and value and len(value) <= 200) for value in row.values())


def test_the_folders_that_are_projects_are_told_with_kind_and_name(
    folder: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", folder.path)
    written(
        folder,
        {
            "py/pyproject.toml": "project.name = 'Py'",
            "old/setup.py": "",
            "list/requirements.txt": "a",
            "node/package.json": '{"name": "@me/node"}',
            "node/.git": "gitdir: elsewhere",
            "rust/Cargo.toml": "package.name = 'rusty'",
            "go/go.mod": "module github.com/me/go",
            "both/pyproject.toml": "[",
            "both/Cargo.toml": "package.name = 'second'",
            "hostile/package.json": json.dumps({"name": "\n\n## Heading\ud800" + "x" * 9999}),
            "large/package.json": '{"name": "large' + "x" * 70_000 + '"}',
            "git/.git/HEAD": "",
            "none/README.md": "",
            "made/package.json/x": "",
        },
    )  # fmt: skip
    (Path(folder.path) / "linked").mkdir()
    (Path(folder.path) / "linked" / ".git").symlink_to("../git/.git")
    (Path(folder.path) / "way").symlink_to("py")
    folders = sorted(os.listdir(folder.path))
    assert discovered(folder, ["", *folders, "gone", "none/README.md", "../x", "\udcff"]) == {
        "projects": [
            {"path": "~/both", "kind": "python+rust", "name": "second"},
            {"path": "~/git", "kind": "git", "name": "git"},
            {"path": "~/go", "kind": "go", "name": "github.com/me/go"},
            {"path": "~/hostile", "kind": "node", "name": "## Heading?" + "x" * 189},
            {"path": "~/large", "kind": "node", "name": "large"},
            {"path": "~/list", "kind": "python", "name": "list"},
            {"path": "~/node", "kind": "node", "name": "@me/node"},
            {"path": "~/old", "kind": "python", "name": "old"},
            {"path": "~/py", "kind": "python", "name": "Py"},
            {"path": "~/rust", "kind": "rust", "name": "rusty"},
        ]
    }
