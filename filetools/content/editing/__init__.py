"""Edits: where an old text stands, and the bytes after it was replaced."""
