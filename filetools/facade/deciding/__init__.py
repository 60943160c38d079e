"""Decisions about changes: whole texts, edits, patches, several files; questions to people; results."""
