"""Tools for models: names, schemas, strict arguments, calls that never raise, retries, and the log of it all."""
