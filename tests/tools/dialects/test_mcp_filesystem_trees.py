"""Trees as text: what the usual writer of JSON makes of them, without keeping the loop."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from filetools.tools.dialects.mcp_filesystem.looking import Row, tree_lines

NAMES = ["a", "b.txt", 'quo"te', "back\\slash", "ünï", "日本", "new\nline", "\u2028", " "]


def grown(chance: random.Random, depth: int = 0) -> tuple[list[dict[str, Any]], list[Row]]:
    """Return a tree as nested records, and as rows."""
    tree: list[dict[str, Any]] = []
    rows: list[Row] = []
    for _ in range(chance.randint(0, 4)):
        name, is_folder = chance.choice(NAMES), depth < 5 and chance.random() < 0.5
        rows.append((depth, name, is_folder))
        if is_folder:
            children, below = grown(chance, depth + 1)
            tree.append({"name": name, "type": "directory", "children": children})
            rows += below
        else:
            tree.append({"name": name, "type": "file"})
    return tree, rows


@pytest.mark.parametrize("seed", range(50))
def test_a_tree_is_written_as_json_is(seed: int) -> None:
    tree, rows = grown(random.Random(seed))
    assert "\n".join(tree_lines(rows)) == json.dumps(tree, ensure_ascii=False, indent=2)
