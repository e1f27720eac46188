"""Regressions whose noise adapts to the data."""
