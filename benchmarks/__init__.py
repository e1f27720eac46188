"""Side-by-side runs against peers: `make bench`, or `python -m benchmarks --quick`, `--only noise`."""
