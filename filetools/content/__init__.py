"""What the bytes of a file are and become: kind, encoding, facts, parts; differences, merges, edits, patches."""
