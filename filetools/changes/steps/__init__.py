"""The changes that the pipeline applies, one module for each kind."""
