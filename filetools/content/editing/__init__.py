"""Edits: finds old texts and replaces them in texts and bytes."""
