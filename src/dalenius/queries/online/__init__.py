"""Queries that are answered from a hypothesis: one at a time (private multiplicative weights) or together (MWEM,
SmallDB)."""
