"""The text shown to models: results, and what to do after a failure."""
