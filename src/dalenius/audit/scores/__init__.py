"""Scores: functions of an output that are large when it looks like a release of the first input."""
