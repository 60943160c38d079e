"""Records of the holders of locks."""
