"""From noisy numbers to estimates and intervals: all of it post-processing, and nothing of tables or sessions."""
