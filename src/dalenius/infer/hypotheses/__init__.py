"""Tests of hypotheses whose p-values allow for the noise; one file a family, and planning beside them."""
