"""Estimates of one, two or a few numbers: means, spreads, shares, quantiles, correlations, tables of counts."""
