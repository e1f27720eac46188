"""From noisy measures to estimates and intervals: all of it post-processing."""
