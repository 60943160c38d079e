"""Differences of texts, three-way merges, and operational transformation of edits."""
