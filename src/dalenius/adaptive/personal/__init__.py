"""What a release cost one person."""
