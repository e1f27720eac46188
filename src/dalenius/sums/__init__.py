"""What exact sums over rows are made of: loss curves, and grids on which products and sums do not round."""
