from __future__ import annotations

import pytest

from filetools.changes.writing import left_out

OLD = "".join(f"def f{number}():\n    return {number}\n\n" for number in range(40))


@pytest.mark.parametrize(
    "line",
    [
        "# ... rest of the code unchanged ...",
        "<!-- the rest of the file stays the same -->",
        "[... unchanged ...]",
        "(previous content omitted)",
    ],
)
def test_a_line_that_stands_for_the_rest_is_found(line: str) -> None:
    assert left_out(lambda: OLD, f"def f0():\n    return 'x'\n\n{line}\n") == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD, "def f0():\n    return 'x'\n"),
        (OLD, "# the rest is silence\n"),
        (OLD, OLD + "# ... rest of the code unchanged ...\n"),
        ("a\n# rest unchanged\nb\nc\nd\n", "# rest unchanged\n"),
        (None, "# ... rest of the code unchanged ...\n"),
    ],
)
def test_a_whole_text_says_nothing_of_the_kind(old: str | None, new: str) -> None:
    assert left_out(lambda: old, new) is None
