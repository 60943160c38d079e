"""Locks of paths: first come, first served among tasks, exclusive among processes, freed by the death of the holder."""
