"""`make reproduce`: the tables and pictures that the learning floor answers for. See RESULTS.md."""
