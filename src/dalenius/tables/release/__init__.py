"""What leaves: noise on exact integers, and the answer made of it."""
