"""What a session returns of a fit: the scale of its features, and the model."""

from __future__ import annotations

from sklearn.pipeline import Pipeline

from dalenius.learn.models.in_notebooks import InNotebooks


class FittedPipeline(InNotebooks, Pipeline):  # type: ignore[misc]
    """A pipeline of released steps; a notebook shows the promise and the cost of its model above the diagram."""

    def _facts(self) -> list[tuple[str, str]]:
        facts: list[tuple[str, str]] = self.steps[-1][1]._facts()
        return facts
