"""Questions, built and checked without any data."""
