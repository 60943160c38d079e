"""Searching the contents of files."""
