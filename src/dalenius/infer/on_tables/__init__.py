"""Sums of scores over a table of any engine: in the engine where rows are far away, else in blocks of bounded size."""
