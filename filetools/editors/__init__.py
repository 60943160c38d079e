"""What editors have open: documents shared by all of them, and the states that an editor keeps."""
