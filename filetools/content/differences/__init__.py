"""Differences of texts, merges of them, and edits that cross."""
