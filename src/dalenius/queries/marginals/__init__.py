"""Noisy marginals of wide tables, and the distribution of largest entropy that fits them."""
