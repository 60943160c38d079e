"""Files that other programs have moved just before a transaction changes them."""

from __future__ import annotations

from pathlib import Path

import filetools


async def test_a_file_that_replaced_a_moved_one_with_equal_bytes_is_created_before_it_is_deleted(
    tmp_path: Path,
) -> None:
    """As `sed -i.bak` leaves it when nothing matches."""
    root = tmp_path / "root"
    root.mkdir()
    async with filetools.open(root, settings={"durability": "relaxed", "watch": False}) as files:
        await files.write_file("note.md", "text\n")
        start = await files.position()
        (root / "note.md").rename(root / "note.md.bak")
        (root / "note.md").write_text("text\n")
        async with files.transaction() as changes:
            await changes.delete_file("note.md")
            await changes.delete_file("note.md.bak")
        told = [f"{record.operation} {record.path}" for record in (await files.changes(start)).records]
    assert told == ["move note.md.bak", "create note.md", "delete note.md", "delete note.md.bak"]
