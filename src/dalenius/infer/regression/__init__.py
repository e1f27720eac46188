"""Robust linear regression with intervals."""
