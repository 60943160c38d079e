"""The commands, in files by what they are about; each file registers its own."""
