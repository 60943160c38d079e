"""Parts of long texts and of files of any size: pages, windows, ranges."""
