"""The tools themselves, by group."""
