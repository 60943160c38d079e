"""What reads return: texts, facts, versions, and changes as they come."""
