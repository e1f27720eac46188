"""Real servers for tests: started when a test first asks, stopped when the run ends."""
