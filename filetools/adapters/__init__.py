"""Adapters: the interfaces that frameworks for agents define, on our engine. One module a framework, imported by its name.

Each belongs to one agent: it takes the facade of that actor. None of them is imported unless a program asks for it, and one
whose framework is not installed says what to install.
"""
