"""Who may do what: presets, rules, protected paths, and the questions that people answer."""
