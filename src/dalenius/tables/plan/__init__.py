"""How much noise is added to what, and what that costs."""
