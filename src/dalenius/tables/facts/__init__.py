"""What is public about a table before anything is asked: types, schema, unit, keys, public tables."""
