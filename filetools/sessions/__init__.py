"""Log sessions: reads conversations, people's feedback and tool calls from the logs of coding agents."""
