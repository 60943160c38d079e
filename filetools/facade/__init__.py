"""The facade: what agents, editors and servers call. `way.py` is the one way by which anything changes."""
