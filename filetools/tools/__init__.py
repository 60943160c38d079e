"""Tools for models: names, schemas, strict arguments, calls that never raise, retries, and a log of the calls."""
