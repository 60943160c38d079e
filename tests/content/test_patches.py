from __future__ import annotations

from collections.abc import Callable

import pytest

from filetools.content.formats import TextFormat
from filetools.content.patching.file_patch import FileHunk, FilePatch, PatchLine, quoted_name, read_name
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.errors import EditAmbiguousError, EditNotFoundError, InvalidArgumentError, PathExistsError
from tests.support.step_count import steps_of

UTF8 = TextFormat(encoding="utf-8", bom=b"")
CODEX = """*** Begin Patch
*** Add File: a b.txt
+one
+
*** Update File: b.py
*** Move to: c.py
@@ class A:
@@   def f(self):
-    pass
+    return 1

 tail
*** End of File
*** Delete File: d
*** End Patch
"""
GIT = """From 0123 Mon Sep 17 00:00:00 2001
Subject: [PATCH] all kinds

 3 files changed
---
diff --git a/new.sh b/new.sh
new file mode 100755
index 0000000..1111111
--- /dev/null
+++ b/new.sh
@@ -0,0 +1 @@
+echo
\\ No newline at end of file
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1,2 +0,0 @@
-one
--- two
diff --git "a/caf\\303\\251.txt" b/tea.txt
similarity index 90%
rename from "caf\\303\\251.txt"
rename to tea.txt
--- "a/caf\\303\\251.txt"
+++ b/tea.txt
@@ -2,2 +2,2 @@ some heading
 x
-y
+z
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/empty b/empty
new file mode 100644
"""


def made(content: str, patch: str) -> str:
    (found,) = parse_patch(patch)
    return apply_file_patch(content.encode(), UTF8, found, path="f").content.decode()


def codex(body: str) -> str:
    return f"*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"


def unified(body: str) -> str:
    return f"--- a/f\n+++ b/f\n{body}"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "neither"),
        ("*** Begin Patch\n*** End Patch", 2, "no file"),
        ("*** Begin Patch\n*** Add File: a\n+x", 3, "missing"),
        ("*** Begin Patch\nhello\n*** End Patch", 2, "expected"),
        ("*** Begin Patch\n*** Update File: a\nx\n*** End Patch", 3, "begins with"),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nmore", 4, "text after"),
        ("@@ -1 +1 @@\n-a\n+b\n", 1, "without the name"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\nx\n", 5, "begins with a blank"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 1, "does not name a file"),
        ("diff --git a/x b/x\nGIT binary patch\n", 2, "binary"),
        ("diff --git a/x b/y\ncopy from x\ncopy to y\n", 2, "copies"),
        ("diff --git a/x b/x\nnew file mode 120000\n", 2, "regular"),
        ("diff --git a/x b/x\nindex 1..2\n", 1, "nothing"),
    ],
)
def test_a_malformed_patch_is_refused_at_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_patch(text)
    assert caught.value.details == {"line": line}
    assert reason in caught.value.message


def test_codex_form_is_read() -> None:
    def line(kind: str, text: str) -> PatchLine:
        return PatchLine(kind=kind, text=text, end="\n")  # type: ignore[arg-type]

    assert parse_patch(CODEX) == (
        FilePatch(
            kind="add",
            path="a b.txt",
            hunks=(FileHunk(lines=(line("add", "one"), line("add", "")), old_start=None),),
            is_unified=False,
        ),
        FilePatch(
            kind="update",
            path="b.py",
            move_to="c.py",
            hunks=(
                FileHunk(
                    lines=(
                        line("remove", "    pass"),
                        line("add", "    return 1"),
                        line("context", ""),
                        line("context", "tail"),
                    ),
                    old_start=None,
                    anchors=("class A:", "  def f(self):"),
                    is_at_end=True,
                ),
            ),
            is_unified=False,
        ),
        FilePatch(kind="delete", path="d", is_unified=False),
    )
    assert parse_patch(CODEX.replace("\n", "\r\n")) == parse_patch("\n" + CODEX)


def test_git_form_is_read_with_all_its_headers() -> None:
    found = parse_patch(GIT)
    assert [(patch.kind, patch.path, patch.move_to, patch.mode, len(patch.hunks)) for patch in found] == [
        ("add", "new.sh", None, 0o755, 1),
        ("delete", "old.txt", None, None, 1),
        ("update", "café.txt", "tea.txt", None, 1),
        ("update", "run", None, 0o755, 0),
        ("add", "empty", None, 0o644, 0),
    ]
    assert found[0].hunks[0].lines == (PatchLine(kind="add", text="echo", end=""),)
    assert [line.text for line in found[1].hunks[0].lines] == ["one", "-- two"]


@pytest.mark.parametrize("name", ["plain", "with blank", 'q"\\', "a\tb\nc", "café", "\x01\x7f"])
def test_quoted_names_are_read_back(name: str) -> None:
    assert read_name(quoted_name(name) + "\t2026-11-20") == (name, "\t2026-11-20")


@pytest.mark.parametrize(
    ("content", "patch"),
    [
        ("a\nb\n", codex("-x\n+y\n")),
        ("a\n b\n", codex("-a\n-b\n+y\n")),
        ("a\nb\n", codex("@@ z\n-a\n+y\n")),
        ("b\na\n", codex("@@\n-a\n+1\n@@\n-b\n+2\n")),
        ("a\nb", unified("@@ -1,2 +1,2 @@\n-a\n+x\n b\n")),
        ("a\nb\n", unified("@@ -1 +1 @@\n-a\r\n+b\r\n")),
    ],
)
def test_old_lines_that_are_not_there_are_refused(content: str, patch: str) -> None:
    with pytest.raises(EditNotFoundError) as caught:
        made(content, patch)
    assert caught.value.path == "f"


def test_closest_lines_of_a_hunk_say_why_it_does_not_fit() -> None:
    with pytest.raises(EditNotFoundError) as caught:
        made("x\n\tone\n\ttwo\n", codex("@@\n x\n@@\n-    one\n-    two\n+y\n"))
    closest = caught.value.details["closest"]
    assert (caught.value.details["number"], closest["start_line"], closest["why"]) == (2, 2, ["indentation"])


@pytest.mark.parametrize(
    "patch",
    [
        unified("@@ -1,9 +1,7 @@\n a\n-b\n+B\n c\n"),
        unified("@@ -2,2 +2,1 @@ heading\n-b\n+B\n"),
        codex("@@ -1,3 +1,3 @@\n a\n-b\n+B\n"),
    ],
)
def test_a_hunk_that_counts_or_is_headed_wrongly_is_read_by_its_lines(patch: str) -> None:
    assert made("a\nb\nc\n", patch) == "a\nB\nc\n"
    (found,) = parse_patch(patch)
    assert all(hunk.repair for hunk in found.hunks)


def test_wrong_counts_do_not_swallow_the_next_file() -> None:
    patch = unified("@@ -1,9 +1,9 @@\n-a\n+b\n") + "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-c\n+d\n-- \n2.39.5\n"
    first, second = parse_patch(patch)
    assert [len(first.hunks[0].lines), len(second.hunks[0].lines)] == [2, 2]
    assert second.hunks[0].repair == ""


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("apply_patch <<'EOF'\n", "EOF\n"),
        ("```diff\n", "```\n"),
    ],
)
def test_a_patch_in_a_heredoc_or_a_fence_is_a_patch(before: str, behind: str) -> None:
    assert made("a\nb\n", f"{before}{codex('-b' + chr(10) + '+B' + chr(10))}{behind}") == "a\nB\n"


@pytest.mark.parametrize(
    ("content", "patch", "lines"),
    [
        ("a\nb\na\n", codex("-a\n+x\n"), [1, 3]),
        ("c\na\nc\na\n", codex("@@ c\n-a\n+x\n"), [1, 3]),
        ("q\na\nb\na\n", unified("@@ -1 +1 @@\n-a\n+x\n"), [2, 4]),
    ],
)
def test_old_lines_in_several_places_are_refused(content: str, patch: str, lines: list[int]) -> None:
    with pytest.raises(EditAmbiguousError) as caught:
        made(content, patch)
    assert caught.value.details["lines"] == lines


def test_a_stated_line_counts_no_more_once_a_hunk_has_moved() -> None:
    # The first hunk stands three lines lower than it says, so the second may not be taken where it says.
    patch = unified("@@ -1 +1 @@\n-first\n+1\n@@ -5 +5 @@\n-x\n+y\n")
    assert made("first\nb\nc\nd\nx\ne\nf\nx\n", patch) == "1\nb\nc\nd\ny\ne\nf\nx\n"
    with pytest.raises(EditAmbiguousError):
        made("n\nfirst\nb\nc\nx\ne\nf\nx\n", patch)


def test_a_hunk_without_old_lines_says_nothing_of_its_place() -> None:
    with pytest.raises(InvalidArgumentError):
        made("a\nb\n", unified("@@ -1,0 +2 @@\n+x\n"))
    assert made("a\r\nb", codex("+x\n")) == "a\r\nb\r\nx"
    assert made("a\nb\n", codex("@@ a\n+x\n")) == "a\nx\nb\n"


def test_a_file_that_exists_is_not_added_again() -> None:
    (patch,) = parse_patch("*** Begin Patch\n*** Add File: f\n+x\n*** End Patch\n")
    with pytest.raises(PathExistsError):
        apply_file_patch(b"a", UTF8, patch, path="f")
    bom = TextFormat(encoding="utf-8", bom=b"\xef\xbb\xbf")
    assert apply_file_patch(b"", bom, patch, path="f").content == b"\xef\xbb\xbfx\n"


def test_a_deletion_checks_the_lines_it_deletes() -> None:
    patch = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert made("a\nb\n", patch) == ""
    with pytest.raises(EditNotFoundError):
        made("a\nb\nc\n", patch)
    assert made("whatever\n", "*** Begin Patch\n*** Delete File: f\n*** End Patch\n") == ""


@pytest.mark.parametrize(
    ("content", "patch", "expected"),
    [
        ("a\r\nb\r\n", codex("-a\n+x\n+y\n b\n"), "x\r\ny\r\nb\r\n"),
        ("a\nb", codex(" a\n-b\n+c\n+d\n"), "a\nc\nd"),
        ("a\r\nb\nc\r\n", codex("-a\n+x\n-b\n+y\n-c\n+z\n"), "x\r\ny\nz\r\n"),
        ("n\nn\na\nb\n", unified("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "n\nn\na\nc\n"),
        ("class A:\n  x\nclass B:\n  x\n", codex("@@ class B:\n-  x\n+  y\n"), "class A:\n  x\nclass B:\n  y\n"),
    ],
)
def test_hunks_change_their_lines_only(content: str, patch: str, expected: str) -> None:
    assert made(content, patch) == expected


def anchored(number: int) -> str:
    return f"@@ def f{number}\n         x\n-        pass\n+        y\n"


def unanchored(number: int) -> str:
    return f"@@\n     def f{number}\n         x\n-        pass\n+        y\n"


@pytest.mark.parametrize("hunk", [anchored, unanchored])
def test_each_hunk_costs_the_same_however_many_there_are(hunk: Callable[[int], str]) -> None:
    def steps(size: int) -> int:
        text = "".join(f"    def f{number}\n        x\n        pass\n" for number in range(size))
        body = "".join(map(hunk, range(size)))
        [patch] = parse_patch(f"*** Begin Patch\n*** Update File: a\n{body}*** End Patch\n")
        assert apply_file_patch(text.encode(), UTF8, patch, path="a").content == text.replace("pass", "y").encode()
        return steps_of(lambda: apply_file_patch(text.encode(), UTF8, patch, path="a"))

    assert steps(500) <= 10.5 * steps(50)


HEADS = {
    "--- /dev/null\n+++ w/new\n": "w/new",
    "diff --git i/new w/new\nnew file mode 100644\n--- /dev/null\n+++ w/new\n": "new",
    "diff --git w/new w/new\nnew file mode 100644\n--- /dev/null\n+++ w/new\n": "w/new",
    "--- old/new\t1970-01-01 01:00:00.000000000 +0100\n+++ new/new\t2026-01-01 00:00:00 +0000\n": "new",
}


@pytest.mark.parametrize(("head", "path"), HEADS.items())
def test_the_first_component_of_two_names_that_differ_in_it_is_no_folder(head: str, path: str) -> None:
    [patch] = parse_patch(f"{head}@@ -0,0 +1 @@\n+x\n")
    assert (patch.kind, patch.path) == ("add", path)


@pytest.mark.parametrize(
    "patch",
    [
        "--- a/f\n+++ b/f\n@@\n-two\n+2\n",
        "--- a/f\n+++ b/f\n@@ ... @@\n-two\n+2\n",
        "--- a/f\n+++ b/f\n@@ -,+ @@\n-two\n+2\n",
        "--- a/f\n+++ b/f\n@@ one @@\n-two\n+2\n",
        "--- a/f\n+++ b/f\n-two\n+2\n",
        "diff --git a/f b/f\n@@\n-two\n+2\n",
        "*** Update File: f\n@@\n-two\n+2\n",
        "*** Begin Patch\n--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+2\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: f\n--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n+2\n*** End Patch\n",
        "\ufeff--- f.orig\n+++ f\n@@ -2 +2 @@\n-two\n+2\n",
        "--- f\n+++ f.new\n@@ -2 +2 @@\n-two\n+2\n",
        "--- a/f\n+++ b/f~\n@@ -2 +2 @@\n-two\n+2\n",
    ],
)
def test_a_mixture_of_the_forms_with_one_meaning_is_a_patch(patch: str) -> None:
    assert [each.path for each in parse_patch(patch)] == ["f"]
    assert made("one\ntwo\nthree\n", patch) == "one\n2\nthree\n"


def test_a_hunk_without_numbers_must_fit_once() -> None:
    with pytest.raises(EditAmbiguousError):
        made("two\ntwo\n", "--- a/f\n+++ b/f\n@@\n-two\n+2\n")
