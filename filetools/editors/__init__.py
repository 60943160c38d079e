"""Documents that editors have open, and the state that one editor keeps."""
