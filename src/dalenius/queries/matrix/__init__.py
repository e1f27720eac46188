"""The matrix mechanism: measure a strategy, which is not the workload, and answer by least squares."""
