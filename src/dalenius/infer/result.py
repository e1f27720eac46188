"""What inference returns: estimates, their errors and intervals, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.loss import checked as checked_loss
from dalenius.calculus.saved import loss_record, read_loss
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.core.record import exact, headed, opened
from dalenius.errors import InvalidParameter
from dalenius.infer.limits import ALPHAS, Curve, Limits, NoLimits, Wald, numbers, read_limits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT, VERSION = "dalenius inference result", 1


class Result:
    """Estimates with intervals that hold the noise, in the manners of statsmodels.

    Functions of `dalenius.infer` return it. All of it is post-processing of what they released, and can be published.

    There are intervals in one of three ways: from a covariance (normal, or Student's with degrees of freedom), from
    `limits(alpha)`, the inversion of a test, or not at all, for a `reason`: then errors, limits and p-values are NaN
    and `summary` says why.

    Parameters
    ----------
    names
        One for each estimate.
    params
        The estimates.
    loss
        What the release cost.
    method
        How the estimates were made, in a few words.
    covariance
        Of the estimates (k x k): sampling and noise.
    df
        Degrees of freedom to go with it: one number, or one for each estimate; the normal law if left out.
    limits
        A function from alpha to lower and upper limits (k x 2), in place of a covariance. It is called once for each of
        `alphas`, when limits are first asked for, and what lies between is interpolated.
    bse
        Standard errors to go with `limits`.
    alphas
        The levels at which `limits` are computed and kept.
    reason
        Why no interval is given, in a sentence.
    nobs
        The number of rows, if it is public or was released.
    nobs_noisy
        Whether that number was released with noise.
    notes
        Sentences a reader of the estimates must know.

    Raises
    ------
    InvalidParameter
        If the parts do not fit together.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.infer import Result
    >>> fit = Result(["age"], [0.5], loss=dp.losses.gdp(1.0), method="least squares", covariance=[[0.04]])
    >>> fit.bse, fit.conf_int().round(3), fit.pvalues.round(4)
    (array([0.2]), array([[0.108, 0.892]]), array([0.0124]))
    """

    def __init__(
        self,
        names: Sequence[str],
        params: object,
        *,
        loss: Loss,
        method: str,
        covariance: object = None,
        df: object = None,
        limits: Callable[[float], object] | None = None,
        bse: object = None,
        alphas: Sequence[float] = ALPHAS,
        reason: str = "",
        nobs: float | None = None,
        nobs_noisy: bool = False,
        notes: Iterable[str] = (),
    ) -> None:
        params = numbers("params", params, (len(names),))
        k = len(params)
        if (covariance is not None) + (limits is not None) + bool(reason) != 1:
            raise InvalidParameter(
                "a result has a covariance, limits or a reason for having neither: one of them."
            )
        if covariance is not None:
            kept: Limits = Wald.of(covariance, df, k)
        elif limits is not None:
            kept = Curve.of(limits, bse, k, alphas)
        else:
            kept = NoLimits(k, reason)
        self._set(names, params, loss, method, kept, nobs, nobs_noisy, notes)

    def _set(
        self,
        names: Sequence[str],
        params: Reals,
        loss: Loss,
        method: str,
        limits: Limits,
        nobs: float | None,
        nobs_noisy: bool,
        notes: Iterable[str],
    ) -> None:
        self.names = tuple(str(name) for name in names)
        self.params = params
        self.loss = checked_loss(loss, "Result")
        self.method = str(method)
        self.nobs = None if nobs is None else float(nobs)
        self.nobs_noisy = bool(nobs_noisy)
        self.notes = tuple(str(note) for note in notes)
        self._limits = limits
        if params.shape != (len(self.names),) or limits.size != len(params):
            raise InvalidParameter(
                f"{len(self.names)} names were given for estimates of shape {params.shape} and limits for "
                f"{limits.size}; there must be one of each."
            )

    @property
    def bse(self) -> Reals:
        """Standard errors, sampling and noise; NaN where none is known."""
        return self._limits.bse

    @property
    def interval_available(self) -> bool:
        """Whether an honest interval can be given."""
        return not self._limits.reason

    @property
    def reason(self) -> str:
        """Why no interval is given; empty where there is one."""
        return self._limits.reason

    def conf_int(self, alpha: float = 0.05) -> Reals:
        """Confidence limits.

        Parameters
        ----------
        alpha
            The probability that an interval fails to hold what is estimated.

        Returns
        -------
        array of shape (k, 2)
            Lower and upper limits; NaN where no interval is given, infinite where the release says nothing.

        Raises
        ------
        InvalidParameter
            If alpha is not between 0 and 1, or below what the result has kept (`least_pvalue`).
        """
        return self._limits.at(self.params, checks.open_probability("alpha", alpha))

    @property
    def pvalues(self) -> Reals:
        """Against 0, two-sided: the alpha at which 0 comes to lie on a limit of `conf_int(alpha)`.

        Those of inverted tests are never below the least alpha that was kept: 1e-4, or more where it was simulated.
        """
        return self._limits.pvalues(self.params)

    @property
    def least_pvalue(self) -> float:
        """The least that a p-value of this result can be: where one is equal to it, it may be smaller."""
        return self._limits.least

    def cov_params(self) -> Reals:
        """The covariance of the estimates, sampling and noise: for sums and differences of them, and predictions.

        Returns
        -------
        array of shape (k, k)
            NaN where it is not known: off the diagonal where limits invert tests, everywhere without an interval.

        Examples
        --------
        >>> import numpy as np
        >>> import dalenius as dp
        >>> covariance = [[0.04, -0.01], [-0.01, 0.01]]
        >>> fit = dp.infer.Result(["a", "b"], [1, 2], loss=dp.losses.gdp(1.0), method="", covariance=covariance)
        >>> at = np.array([1.0, 2.0])
        >>> at @ fit.params, float(np.sqrt(at @ fit.cov_params() @ at).round(3))
        (np.float64(5.0), 0.2)
        """
        return self._limits.covariances

    def to_pandas(self, alpha: float = 0.05) -> Any:
        """The table of `summary` as a frame.

        Parameters
        ----------
        alpha
            The level of its limits.

        Returns
        -------
        pandas.DataFrame
            A row for each estimate, under its name: estimate, error, pvalue, low and high.

        Raises
        ------
        InvalidParameter
            If alpha is not a level that `conf_int` takes.
        """
        import pandas as pd

        low, high = self.conf_int(alpha).T
        columns = {
            "estimate": self.params,
            "error": self.bse,
            "pvalue": self.pvalues,
            "low": low,
            "high": high,
        }
        return pd.DataFrame(columns, index=list(self.names))

    def summary(self, alpha: float = 0.05) -> str:
        """A table to print.

        Parameters
        ----------
        alpha
            The level of the limits shown.

        Returns
        -------
        str
            Several lines.

        Raises
        ------
        InvalidParameter
            If alpha is not a level that `conf_int` takes.
        """
        from dalenius.infer.summary import plain

        return plain(self, alpha)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from dalenius.infer.summary import html

        return html(self, 0.05)

    def for_units(self, loss: Loss, rows: int) -> Result:
        """The same estimates where a unit is protected that has several rows, which may be alike.

        Parameters
        ----------
        loss
            What the release cost a unit.
        rows
            How many rows a unit has at most.

        Returns
        -------
        Result
            With the variances of estimates taken so many times, which is enough however alike the rows of a unit are;
            without an interval where that comes from a test.
        """
        notes = self.notes
        limits = self._limits if rows == 1 else self._limits.of_alike(rows)
        if rows > 1 and not limits.reason:
            notes = (*notes, f"Up to {rows} rows of a unit may be alike: variances are taken {rows} times.")
        result = Result.__new__(Result)
        result._set(self.names, self.params, loss, self.method, limits, self.nobs, self.nobs_noisy, notes)
        return result

    def to_json(self) -> str:
        """The result as text to keep: tags, exact numbers and a version (docs/record-format.md).

        Returns
        -------
        str
            JSON; `Result.from_json` gives the same estimates and limits back, to the last bit.

        Raises
        ------
        InvalidParameter
            If the loss rests on a function (`losses.rdp`), which cannot be written down.
        """
        rows = None if self.nobs is None else {"number": exact(self.nobs), "noisy": self.nobs_noisy}
        content = {
            "names": list(self.names),
            "estimates": [exact(value) for value in self.params],
            "limits": self._limits.record(),
            "loss": loss_record(self.loss),
            "method": self.method,
            "rows": rows,
            "notes": list(self.notes),
        }
        return headed(FORMAT, VERSION, content)

    @classmethod
    def from_json(cls, text: str) -> Result:
        """The result that `to_json` wrote.

        Parameters
        ----------
        text
            What `to_json` returned, of this version of the format or an earlier one.

        Returns
        -------
        Result
            With the same estimates, limits and loss.

        Raises
        ------
        InvalidParameter
            If the text is not a saved result, or of a newer version: then install a newer dalenius.

        Examples
        --------
        >>> import dalenius as dp
        >>> from dalenius.infer import Result
        >>> fit = Result(["age"], [0.5], loss=dp.losses.gdp(1.0), method="least squares", covariance=[[0.04]])
        >>> Result.from_json(fit.to_json()).conf_int().round(3)
        array([[0.108, 0.892]])
        """
        record = opened(text, FORMAT, VERSION)
        result = cls.__new__(cls)
        try:
            rows = record["rows"]
            result._set(
                list(record["names"]),
                np.array([float(value) for value in record["estimates"]]),
                read_loss(record["loss"]),
                record["method"],
                read_limits(record["limits"]),
                None if rows is None else float(rows["number"]),
                rows is not None and rows["noisy"],
                list(record["notes"]),
            )
        except InvalidParameter:
            raise
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise InvalidParameter(f"this {FORMAT} is not written as we write them.") from None
        return result

    def plot(self, path: str | None = None, alpha: float = 0.05) -> Figure:
        """Draw the estimates with their intervals (needs the `plot` extra).

        Parameters
        ----------
        path
            Where to save the picture; not saved for None.
        alpha
            The level of the intervals drawn.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from dalenius.infer.plot import plot

        return plot(self, path, alpha)
