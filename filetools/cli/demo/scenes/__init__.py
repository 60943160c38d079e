"""The scenes of the demo, one a file."""
