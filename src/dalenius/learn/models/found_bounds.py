"""What the transformers that find a scale in the data share: a price, a loss, and bounds that were released."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.ranges import Range
from dalenius.learn.data.rows import matrix
from dalenius.learn.models.in_notebooks import InNotebooks
from dalenius.learn.models.public_bounds import PublicBounds


class FoundBounds(OneToOneFeatureMixin, TransformerMixin, InNotebooks, BaseEstimator):  # type: ignore[misc]
    """Columns clamped to the bounds that a fit released and mapped to [-1, 1] / sqrt(d), as by `PublicBounds`."""

    loss_: Loss

    def price(self) -> Loss:
        """What a fit will cost, whatever the data and however many columns they have."""
        raise NotImplementedError

    @property
    def ends_(self) -> list[Range]:
        """A pair (lower, upper) for every column: released, so that they are public from then on."""
        raise NotImplementedError

    def transform(self, X: Any) -> Reals:
        """The rows on their common scale, of norm 1 at most; NaN stays NaN."""
        check_is_fitted(self, "loss_")
        _check_feature_names(self, X, reset=False)
        x = matrix(X, self.n_features_in_, type(self).__name__)
        return PublicBounds(self.ends_).transform(x)
