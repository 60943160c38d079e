"""Decisions about changes: whole texts, edits and folders; questions to people; results."""
