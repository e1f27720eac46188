"""Inference by simulation: from any released statistic, its mechanism and a model of the data, at no further cost."""
