"""Log sessions: what the logs of coding agents tell of conversations, of people's feedback and of tool calls."""
