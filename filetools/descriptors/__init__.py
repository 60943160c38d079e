"""Descriptors: long texts under short names, which a model reads in pages. Frames, names and defaults follow llmproc."""
