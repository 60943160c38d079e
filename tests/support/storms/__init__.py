"""Storms: agents, editors, shell programs, undo and several processes on one tree, and what each of them sees."""
