"""What is measured: integers on a grid, bins, and the measures made of them."""
