"""Random schedules of agents, people and foreign programs on one tree, and the ledger that finds what was lost."""
