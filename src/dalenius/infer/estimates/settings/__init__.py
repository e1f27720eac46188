"""Estimates as objects, with their settings and their cost: what a session pays for."""
