"""Questions asked from afar: what is told of a session, what is asked of it, and what it answers, in records."""
