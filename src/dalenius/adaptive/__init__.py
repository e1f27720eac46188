"""Release that looks at the data, and what a release cost one person."""

__all__: list[str] = []
