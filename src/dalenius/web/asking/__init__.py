"""Questions, prices, answers and history of the console."""
