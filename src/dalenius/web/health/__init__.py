"""Whether the console is well, for those who watch it."""
