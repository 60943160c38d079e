"""Which instruction files apply to a path, in which order, and what is left out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from filetools.content.version import version_of
from filetools.errors import FileToolsError, SymlinkEscapeError
from filetools.project.folder import opened_folder
from filetools.project.instructions import (
    LARGEST_BYTES,
    instruction_root,
    instructions,
)
from tests.support.unprivileged import as_nobody


def make(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def link(root: Path, name: str, target: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(target)


def ask(root: Path, path: str = "", *, withheld: str = "", **options: Any) -> dict[str, Any]:
    with opened_folder(os.path.realpath(root), is_withheld=withheld.__eq__ if withheld else None) as folder:
        return instructions(folder, path, **options)


def listed(root: Path, path: str = "", **options: Any) -> list[tuple[str, str]]:
    return [(each["path"], each["kind"]) for each in ask(root, path, **options)["files"]]


def names(root: Path, path: str = "", **options: Any) -> list[str]:
    return [name for name, _ in listed(root, path, **options)]


def entry(path: str, kind: str, content: str) -> dict[str, Any]:
    return {
        "path": path, "kind": kind, "content": content, "truncated": False, "version": version_of(content.encode()),
    }  # fmt: skip


@pytest.mark.parametrize("path", ["../out", "sub/../../out", ".filetools/x", "a\0b"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(FileToolsError):
        ask(tmp_path, path)


def test_a_path_through_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    make(tmp_path, {"out/AGENTS.md": "secret", "root/a.txt": ""})
    link(tmp_path, "root/link", "../out")
    with pytest.raises(SymlinkEscapeError):
        ask(tmp_path / "root", "link")


def test_links_and_imports_that_leave_the_root_are_left_out(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "secret.md": "secret",
            "folder/SKILL.md": "---\nname: secret\n---\n",
            "root/CLAUDE.md": f"@../secret.md @{tmp_path}/secret.md @~/secret.md @link.md @../../../../etc/passwd",
            "root/sub/a.txt": "",
        },
    )
    link(tmp_path, "root/AGENTS.md", "../secret.md")
    link(tmp_path, "root/link.md", f"{tmp_path}/secret.md")
    link(tmp_path, "root/CLAUDE.local.md", "CLAUDE.local.md")
    link(tmp_path, "root/.claude", "..")
    link(tmp_path, "root/.agents/skills", "../../folder/..")
    answer = ask(tmp_path / "root", "sub")
    assert [each["path"] for each in answer.pop("files")] == ["CLAUDE.md"]
    assert answer == {}


def test_a_folder_without_any_has_none(tmp_path: Path) -> None:
    assert ask(tmp_path) == {"files": []}


def test_files_come_from_the_root_down_and_in_each_folder_in_one_order(tmp_path: Path) -> None:
    own = {"CLAUDE.local.md": "local", "AGENTS.md": "agents", ".claude/CLAUDE.md": "claude", "CLAUDE.md": "claude"}
    make(tmp_path, {f"{folder}{name}": f"{folder}{name}" for folder in ("", "a/", "a/b/", "c/") for name in own})
    make(tmp_path, {"a/b/x.py": "", "a/.claude/rules/style.md": "rule", "a/.claude/rules/note.txt": ""})
    order = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"]
    expected = [
        entry(f"{folder}{name}", own[name], f"{folder}{name}") for folder in ("", "a/", "a/b/") for name in order
    ]
    expected.insert(8, {"path": "a/.claude/rules/style.md", "kind": "rules"})
    assert ask(tmp_path, "a/b") == {"files": expected}


@pytest.mark.parametrize("path", ["a/b", "a/b/", "./a//b", "a/b/x.py", "a/b/x.py/y", "a/b/new/folder/file.py"])
def test_a_file_or_what_is_not_there_counts_as_the_folder_that_holds_it(tmp_path: Path, path: str) -> None:
    make(tmp_path, {"AGENTS.md": "1", "a/AGENTS.md": "2", "a/b/AGENTS.md": "3", "a/b/x.py": "", "a/c/AGENTS.md": "4"})
    assert names(tmp_path, path) == ["AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md"]


def test_links_to_files_of_the_answer_and_equal_bytes_count_once(tmp_path: Path) -> None:
    make(
        tmp_path,
        {"AGENTS.md": "root", "a/CLAUDE.md": "a", "b/AGENTS.md": "b", "b/CLAUDE.md": "b", "b/c/AGENTS.md": "root"},
    )
    link(tmp_path, "CLAUDE.md", "AGENTS.md")
    link(tmp_path, "a/AGENTS.md", "CLAUDE.md")
    link(tmp_path, "a/.claude/CLAUDE.md", "../../AGENTS.md")
    assert listed(tmp_path, "a") == [("AGENTS.md", "agents"), ("a/CLAUDE.md", "claude")]
    # Of equal bytes those count that apply to less, as they are cut last.
    assert listed(tmp_path, "b/c") == [("b/AGENTS.md", "agents"), ("b/c/AGENTS.md", "agents")]


def test_a_link_to_another_file_is_named_after_it(tmp_path: Path) -> None:
    make(tmp_path, {"docs/for agents.md": "text", "shared/CLAUDE.md": "more", "shared/rules/one.md": ""})
    link(tmp_path, "AGENTS.md", "docs/for agents.md")
    link(tmp_path, ".claude", "shared")
    assert listed(tmp_path) == [
        ("docs/for agents.md", "agents"), ("shared/CLAUDE.md", "claude"), ("shared/rules/one.md", "rules"),
    ]  # fmt: skip


def test_imports_follow_their_importer_and_count_once(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "AGENTS.md": "@docs/c.md stays text in an AGENTS.md",
            "CLAUDE.md": "See @AGENTS.md, @docs/a.md. and (nothing @docs/gone.md)\n- @docs/b\\ c.md#part\n@docs @docs/a.md",
            "CLAUDE.local.md": f"@./docs/../own.md\n@{os.path.realpath(tmp_path)}/docs/d.md",
            "docs/a.md": "@b\\ c.md",
            "docs/b c.md": "b",
            "docs/c.md": "c",
            "docs/d.md": "d",
            "own.md": "own",
        },
    )
    assert listed(tmp_path) == [
        ("AGENTS.md", "agents"),
        ("CLAUDE.md", "claude"),
        ("docs/a.md", "claude"),
        ("docs/b c.md", "claude"),
        ("CLAUDE.local.md", "local"),
        ("own.md", "local"),
        ("docs/d.md", "local"),
    ]


def test_imports_of_a_linked_file_are_relative_to_where_it_really_lies(tmp_path: Path) -> None:
    make(tmp_path, {"docs/agents.md": "@more.md", "docs/more.md": "right", "more.md": "wrong"})
    link(tmp_path, "CLAUDE.md", "docs/agents.md")
    assert names(tmp_path) == ["docs/agents.md", "docs/more.md"]


@pytest.mark.parametrize(
    "text",
    [
        "`@x.md`",
        "a `span over\n@x.md a line`",
        "~~~\n```\n@x.md\n~~~",
        "> ```\n> @x.md\n> ```",
        "<!-- a\n\n@x.md\n-->",
        "me@x.md",
        "@X.md",
    ],
)
def test_in_code_and_comments_and_other_words_an_import_is_text(tmp_path: Path, text: str) -> None:
    make(tmp_path, {"CLAUDE.md": text, "x.md": "imported", "~/x.md": "not at home"})
    assert names(tmp_path) == ["CLAUDE.md"]


@pytest.mark.parametrize(
    "text",
    [
        "``` @y.md ```\n@x.md",
        "```\ncode\n```\n@x.md",
        "<!-- a --> @x.md <!-- b -->",
        "use `<!--` and\n@x.md",
        "@x.md!",
        "\t@x.md\r\n",
    ],
)
def test_beside_code_and_comments_an_import_counts(tmp_path: Path, text: str) -> None:
    make(tmp_path, {"CLAUDE.md": text, "x.md": "imported", "y.md": "text"})
    assert names(tmp_path) == ["CLAUDE.md", "x.md"]


def test_imports_go_five_hops_deep_and_loops_end(tmp_path: Path) -> None:
    make(tmp_path, {f"{number}.md": f"@{number + 1}.md @CLAUDE.md @{number}.md @1.md" for number in range(1, 8)})
    make(tmp_path, {"CLAUDE.md": "@1.md @CLAUDE.md"})
    assert names(tmp_path) == ["CLAUDE.md", "1.md", "2.md", "3.md", "4.md", "5.md"]


def test_when_room_is_short_the_broadest_are_cut_first(tmp_path: Path) -> None:
    make(
        tmp_path,
        {"AGENTS.md": "r" * 1000, "a/AGENTS.md": "a" * 1000, "a/b/AGENTS.md": "b" * 1000, "CLAUDE.md": "c" * 300},
    )
    make(tmp_path, {"a/b/CLAUDE.md": "@more.md " + "i" * 291, "a/b/more.md": "m" * 300})

    def cut(most: int) -> tuple[list[tuple[str, int, bool]], list[str]]:
        answer = ask(tmp_path, "a/b", max_chars=most)
        told = [(each["path"], len(each["content"]), each["truncated"]) for each in answer["files"]]
        return told, answer.get("omitted", [])

    everything = [
        ("AGENTS.md", 1000, False), ("CLAUDE.md", 300, False), ("a/AGENTS.md", 1000, False),
        ("a/b/AGENTS.md", 1000, False), ("a/b/CLAUDE.md", 300, False), ("a/b/more.md", 300, False),
    ]  # fmt: skip
    assert cut(3900) == (everything, [])
    assert cut(3899) == ([("AGENTS.md", 999, True), *everything[1:]], [])
    assert cut(1799) == (everything[3:], ["AGENTS.md", "CLAUDE.md", "a/AGENTS.md"])
    # What imports comes before what is imported.
    rest = ["AGENTS.md", "CLAUDE.md", "a/AGENTS.md", "a/b/AGENTS.md"]
    assert cut(500) == ([everything[4], ("a/b/more.md", 200, True)], rest)
    assert cut(10) == ([("a/b/CLAUDE.md", 10, True)], [*rest, "a/b/more.md"])


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\xef\xbb\xbf# Rules\r\n", "# Rules\r\n"),
        (b"Gr\xfc\xdfe", "Grüße"),
        ("\ufeffcafé".encode("utf-16-le"), "café"),
    ],
)
def test_any_text_is_read_and_its_version_is_that_of_its_bytes(tmp_path: Path, raw: bytes, text: str) -> None:
    make(tmp_path, {"AGENTS.md": raw})
    [told] = ask(tmp_path)["files"]
    assert (told["content"], told["truncated"], told["version"]) == (text, False, version_of(raw))


def test_what_is_no_text_file_of_that_very_name_is_left_out(tmp_path: Path) -> None:
    make(
        tmp_path,
        {"AGENTS.md/x": "", "CLAUDE.md": b"\x7fELF\0\0", "a/agents.md": "", "a/Claude.md": "", "a/AGENTS.MD": ""},
    )
    make(tmp_path, {".claude": "a file", "a/.claude/rules/folder.md/x": "", "a/.agents/skills/file": ""})
    os.mkfifo(tmp_path / "CLAUDE.local.md")
    os.mkfifo(tmp_path / "a" / "AGENTS.md")
    assert ask(tmp_path, "a") == {"files": []}


def test_of_a_huge_file_a_bounded_part_is_read_and_it_has_no_version(tmp_path: Path) -> None:
    make(tmp_path, {"CLAUDE.md": "é@\n" * (10 * LARGEST_BYTES // 4), "a/CLAUDE.md": b"x" * LARGEST_BYTES})
    huge, large = ask(tmp_path, "a", max_chars=2 * LARGEST_BYTES)["files"]
    assert (huge["truncated"], "version" in huge, len(huge["content"])) == (True, False, LARGEST_BYTES * 3 // 4)
    assert (large["truncated"], large["version"]) == (False, version_of(b"x" * LARGEST_BYTES))
    assert "\ufffd" not in huge["content"][:-1]


def test_what_a_rule_keeps_back_is_nowhere_in_the_answer(tmp_path: Path) -> None:
    make(
        tmp_path,
        {"AGENTS.md": "1", "CLAUDE.md": "@AGENTS.md", ".claude/rules/x.md": "", ".claude/skills/a/SKILL.md": ""},
    )
    for withheld in ("AGENTS.md", ".claude/rules/x.md", ".claude/skills/a/SKILL.md"):
        assert withheld not in repr(ask(tmp_path, withheld=withheld, max_chars=1))


def test_what_the_system_keeps_back_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, {"AGENTS.md": "1", "CLAUDE.md": "2", ".claude/rules/a.md": "", ".claude/skills/a/SKILL.md": "3"})
    for name in ("AGENTS.md", ".claude/rules", ".claude/skills/a/SKILL.md"):
        (tmp_path / name).chmod(0)

    def look() -> None:
        answer = ask(tmp_path)
        assert [each["path"] for each in answer["files"]] == ["CLAUDE.md"]
        assert answer["skills"] == [{"name": "a", "description": "", "path": ".claude/skills/a/SKILL.md"}]

    if os.geteuid() == 0:
        as_nobody(tmp_path, look)
    else:
        look()


SKILLS = {
    "plain": ("name: plain one # comment\ndescription: When to use it", ("plain one", "When to use it")),
    "double": ('name: "a: \\"b\\""\ndescription: "with # in it"  # comment', ('a: "b"', "with # in it")),
    "folded": ("description: >-\n  one\n  two\n\n  three\nname: folded", ("folded", "one two three")),
    "block": ("name: block\ndescription: |\n  one\n    two\nother: x", ("block", "one two")),
    "below": ("metadata:\n  name: wrong\n  description: wrong", ("below", "")),
    "long": (f"description: {'x' * 2000}", ("long", "x" * 500)),
    "empty": ("name:\ndescription:", ("", "")),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_skills_are_named_by_their_front_matter(tmp_path: Path, newline: str) -> None:
    for name, (front, _) in SKILLS.items():
        body = f"---\n{front}\n---\nname: body\ndescription: body\n".replace("\n", newline)
        make(tmp_path, {f".claude/skills/{name}/SKILL.md": body})
    make(tmp_path, {".claude/skills/nothing/notes.md": "", ".claude/skills/file.md": ""})
    told = {each.pop("path"): tuple(each.values()) for each in ask(tmp_path)["skills"]}
    expected = {f".claude/skills/{name}/SKILL.md": facts for name, (_, facts) in SKILLS.items()}
    expected[".claude/skills/empty/SKILL.md"] = ("empty", "")
    assert told == expected


def test_skills_come_from_all_folders_on_the_way_and_links_count_once(tmp_path: Path) -> None:
    make(
        tmp_path, {".agents/skills/one/SKILL.md": "no front matter", "a/.claude/skills/two/SKILL.md": b"\0", "b/x": ""}
    )
    make(tmp_path, {"b/.claude/skills/three/SKILL.md": ""})
    link(tmp_path, ".claude/skills", "../.agents/skills")
    assert ask(tmp_path, "a")["skills"] == [
        {"name": "one", "description": "", "path": ".agents/skills/one/SKILL.md"},
        {"name": "two", "description": "", "path": "a/.claude/skills/two/SKILL.md"},
    ]


def test_the_root_is_that_of_the_nearest_repository_and_never_above_the_limit(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    work = tmp_path / "code"
    make(work, {"one/.git/HEAD": "", "one/a/b/x": "", "two/.git": "gitdir: elsewhere", "two/a/x": "", "three/a/x": ""})
    root = str(work)
    assert instruction_root(f"{root}/one/a/b", root) == f"{root}/one"
    assert instruction_root(f"{root}/one", root) == f"{root}/one"
    assert instruction_root(f"{root}/two/a", root) == f"{root}/two"
    assert instruction_root(f"{root}/three/a", root) == root
    assert instruction_root(root, root) == root
    assert instruction_root(root, "/") == str(tmp_path)


def test_without_a_limit_the_root_is_the_outermost_folder_with_instructions_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.path.realpath(tmp_path)) / "me"
    make(home, {"code/CLAUDE.md": "", "code/one/.git/HEAD": "", "code/one/a/x": "", "else/a/x": ""})
    make(
        home.parent,
        {"AGENTS.md": "of somebody else", "other/AGENTS.md": "", "other/a/.git/HEAD": "", "other/a/b/x": ""},
    )
    monkeypatch.setenv("HOME", str(home))
    assert instruction_root(f"{home}/code/one/a", None) == f"{home}/code"
    assert instruction_root(f"{home}/else/a", None) == f"{home}/else/a"
    assert instruction_root(f"{home.parent}/other/a/b", None) == f"{home.parent}/other/a"
