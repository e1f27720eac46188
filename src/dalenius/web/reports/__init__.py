"""What a release cost one person, on a page that computes it in that person's own browser."""
