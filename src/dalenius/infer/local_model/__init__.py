"""Inference without a curator: every person adds noise of their own before anything leaves them."""
