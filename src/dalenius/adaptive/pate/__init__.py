"""PATE: teachers on parts of the data, their noisy votes, and a test of whether they agree well enough to be cheap."""
