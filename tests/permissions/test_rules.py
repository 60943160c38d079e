from __future__ import annotations

import pytest

from filetools.errors import InvalidArgumentError
from filetools.permissions.policy import Level, Rule, rules_level
from tests.support.step_count import steps_of


@pytest.mark.parametrize(
    ("tool", "path", "level"),
    [
        ("", "**", "block"),
        (" ", "**", "block"),
        ("write_file", "", "block"),
        ("write_file", "x" * 257, "auto"),
        ("write_file", "a|b", "auto"),
        ("write_file", "**", "sometimes"),
    ],
)
def test_an_invalid_rule_is_refused(tool: str, path: str, level: Level) -> None:
    with pytest.raises(InvalidArgumentError):
        Rule(tool=tool, path=path, level=level)


@pytest.mark.parametrize(
    ("rule", "tool", "path", "applies"),
    [
        (("write_file", "docs/**", "block"), "write_file", "docs/a.md", True),
        (("write_file", "docs/**", "block"), "write_file", "docs", True),
        (("write_file", "docs/**", "block"), "write_file", "DOCS/A.md", True),
        (("write_file", "docs/**", "block"), "write_file", "doc\u200ds/a.md", True),
        (("write_file", "docs/**", "block"), "write_file", "docsy/a.md", False),
        (("write_file", "docs/**", "block"), "read_file", "docs/a.md", False),
        (("write_file", "docs/**", "auto"), "write_file", "docs/a.md", True),
        (("write_file", "docs/**", "auto"), "write_file", "DOCS/a.md", False),
        (("write_file", "docs/**", "auto"), "write_file", "docs", False),
        (("write_file", "**", "block"), "create_file", "a", True),
        (("create_file", "**", "block"), "write_file", "a", False),
        (("*", "secret", "block"), "exists", "deep/secret/key", True),
        (("*", "**", "prompt"), "list_files", "", True),
        (("*", "docs/**", "prompt"), "list_files", "", False),
        (("delete_*", "a/b/**", "block"), "delete_directory", "a", True),
        (("delete_*", "a/b/**", "block"), "delete_directory", "", True),
        (("delete_*", "a/b/**", "block"), "delete_directory", "ab", False),
        (("*", "a/b/*.env", "block"), "move_file", "A", True),
        (("*", "a/b/**", "block"), "create_directory", "a", False),
        (("*", "*.env", "block"), "write_file", "x/prod.env", True),
    ],
)
def test_a_rule_applies_to_its_tools_and_paths_only(
    rule: tuple[str, str, Level], tool: str, path: str, applies: bool
) -> None:
    assert Rule(tool=rule[0], path=rule[1], level=rule[2]).applies(tool, path) is applies


def test_a_block_wins_over_later_rules() -> None:
    rules = (Rule(tool="*", path="keep", level="block"), Rule(tool="write_file", path="**", level="auto"))
    assert rules_level(rules, "write_file", "keep") == "block"


def test_the_last_rule_that_applies_counts_where_nothing_blocks() -> None:
    rules = (Rule(tool="*", path="**", level="auto"), Rule(tool="*", path="docs/**", level="prompt"))
    assert rules_level(rules, "write_file", "docs/a") == "prompt"
    assert rules_level(tuple(reversed(rules)), "write_file", "docs/a") == "auto"


def test_rules_say_nothing_of_other_calls() -> None:
    assert rules_level((Rule(tool="write_file", path="**", level="block"),), "read_file", "a") is None


def test_the_glob_of_a_rule_is_compiled_once_however_many_there_are() -> None:
    rules = [Rule(tool="*", path=f"folder{number}/*.txt", level="block") for number in range(1100)]
    assert steps_of(lambda: rules_level(rules, "write_file", "a.txt")) < 50 * len(rules)
