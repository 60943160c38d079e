"""Patches of several files: all errors are reported at once, and repairs are reported, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from filetools.errors import EditNotFoundError, FileToolsError, PathNotFoundError
from filetools.facade.facade import FileToolsFacade

BEFORE = {"a.txt": b"one\n", "b.txt": "two\n“three”\n".encode(), "a.md": b"there\n"}
WRONG = """*** Begin Patch
*** Update File: a.txt
@@
-one!
+1
*** Update File: missing.txt
@@
-x
+y
*** Update File: b.txt
@@
-two
+2
@@
-three!
+3
*** Add File: a.md
+new
*** End Patch
"""


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_patch_reports_the_errors_of_each_of_its_files(
    files: FileToolsFacade, root: Path, dry_run: bool
) -> None:
    before = {path.name: path.read_bytes() for path in root.glob("*.*") if path.is_file()}
    with pytest.raises(EditNotFoundError) as caught:
        await files.apply_patch(WRONG, dry_run=dry_run)
    told = str(caught.value)
    assert [told.count(part) for part in ("in a.txt", "missing.txt", "hunk 2 were not found in b.txt", "a.md")] == [
        1
    ] * 4
    others = caught.value.details["others"]
    assert [each.get("path") for each in others] == ["missing.txt", "b.txt", "a.md"]
    assert {path.name: path.read_bytes() for path in root.glob("*.*") if path.is_file()} == before


async def test_the_error_has_the_type_of_the_first_refusal(files: FileToolsFacade) -> None:
    patch = "*** Begin Patch\n*** Delete File: no.txt\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch\n"
    with pytest.raises(FileToolsError) as caught:
        await files.apply_patch(patch)
    assert isinstance(caught.value, PathNotFoundError)
    assert "no.txt" in str(caught.value)
    assert "in a.txt" in str(caught.value)


@pytest.mark.parametrize(
    ("before", "behind", "name"),
    [("cat <<'EOF'\n", "EOF\n", "a heredoc"), ("```diff\n", "```\n", "a code fence"), ("", "", None)],
)
async def test_text_around_a_patch_is_reported(
    files: FileToolsFacade, root: Path, before: str, behind: str, name: str | None
) -> None:
    patch = "*** Begin Patch\n*** Update File: b.txt\n@@\n-“three”  \n+“four”\n*** End Patch\n"
    done = await files.apply_patch(f"{before}{patch}{behind}")
    assert (root / "b.txt").read_text() == "two\n“four”\n"
    told = [each["message"] for each in done.warnings if each["code"] == "REPAIRED"]
    assert told[:-1] == ([f"The patch was extracted from {name}"] if name else [])
    assert "hunk 1 of b.txt were found except for blanks at line ends" in told[-1]


@pytest.mark.parametrize(("before", "behind"), [("cat <<EOF\n", "EOF\n"), ("~~~diff\n", "~~~\n")])
async def test_a_unified_diff_with_wrong_counts_is_extracted_from_the_text_around_it(
    files: FileToolsFacade, root: Path, before: str, behind: str
) -> None:
    done = await files.apply_patch(f"{before}--- a/a.txt\n+++ b/a.txt\n@@ -1,7 +1,9 @@\n-one\n+1\n{behind}")
    assert (root / "a.txt").read_text() == "1\n"
    assert len(done.warnings) == 2
