"""What models are told: results as text, and what to do after a failure."""
