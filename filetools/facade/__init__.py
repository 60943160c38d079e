"""The facade: what agents, editors and servers call. `pipeline.py` is the one way by which anything changes."""
