"""What goes on behind the calls: changes by other programs, syncs, and what dead processes left."""
