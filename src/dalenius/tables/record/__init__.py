"""Questions and answers about tables as they are written down; see docs/record-format.md."""
