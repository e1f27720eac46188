"""What several mechanisms share; private, and free to change."""
