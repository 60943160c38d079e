"""The facade: what agents, editors and servers call. Changes go through `changes/steps/pipeline.py`."""
