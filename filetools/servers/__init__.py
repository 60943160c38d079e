"""Servers for network protocols. They only translate requests and responses."""
