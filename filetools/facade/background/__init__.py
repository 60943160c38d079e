"""Background work: changes by other programs, file syncs, and recovery from crashed processes."""
