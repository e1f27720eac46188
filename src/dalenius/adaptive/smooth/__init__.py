"""Noise in proportion to a smooth bound on the sensitivity at the data at hand."""
