"""File contents: kind, encoding, facts and parts of them; differences, merges, edits and patches."""
