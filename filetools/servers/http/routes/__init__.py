"""The routes of the server, one router a theme."""
