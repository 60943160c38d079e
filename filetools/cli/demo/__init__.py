"""The demo: agents, a person, a shell, a lost mirror and a killed process on one small project; counts what is lost."""
