"""What a change shall be: whole texts, edits, patches, several files; questions to people; results."""
