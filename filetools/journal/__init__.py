"""The journal: write-ahead log, feed, history, provenance and the mirrors' backlog in one ordered record."""
