"""People: who they are, how they sign in, and what their role lets them do."""
