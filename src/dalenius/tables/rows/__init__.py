"""What is computed of one row: the language of expressions, and the columns it sees."""
