"""Servers for network protocols. They translate requests and responses, and make no decisions of their own."""
