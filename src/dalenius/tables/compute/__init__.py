"""The exact integers behind an answer, computed where the data is."""
