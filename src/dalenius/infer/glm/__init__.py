"""Generalized linear models with intervals."""
