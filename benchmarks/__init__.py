"""Side-by-side runs against other accountants: `make bench`, or `python -m benchmarks --quick`."""
