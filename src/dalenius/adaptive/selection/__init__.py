"""Private selection: the best of a number of trials, and what it costs."""
