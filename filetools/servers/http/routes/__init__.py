"""The routes of the server, one router per subject."""
