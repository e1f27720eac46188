"""Workloads: many linear questions, kept in a form that is never written out."""
