"""Propose-test-release: a release that adapts to the data after a private test that it may.

How to add an instance. Fill in the parts that its shape needs, and hand them over:

- *propose one mechanism*: a `Stable` (it knows how far data are from costing too much) and
  `ProposeTestRelease.by_distance(mechanism, epsilon=..., wrong_pass=...)`; or a `DataDependent` with a `PrivateTest`
  and `ProposeTestRelease(mechanism=..., test=...)`. Such a test is `BoundTest(bound, limit)`, the bound being a
  `NoisyUpperBound` (by a number whose sensitivity is known), a `SmoothUpperBound` or a `PrivateBound` of its own;
- *calibrate the mechanism from a uniform bound*: a `PrivateBound` and a `Family`, and
  `CalibratedRelease(bound=..., family=...)`;
- *select among many*: `BestRelease(candidates=[...], score=..., tries=...)`, the candidates being any of the above.

Each is a `Mechanism`: `.release(data)` gives an answer or `Refusal()`, `.loss` follows from the losses of the parts.
"""

from dalenius.adaptive.ptr.best_release import BestRelease
from dalenius.adaptive.ptr.binned_quantile import LocalBinnedQuantile
from dalenius.adaptive.ptr.bound_test import BoundTest
from dalenius.adaptive.ptr.calibrated_release import CalibratedRelease
from dalenius.adaptive.ptr.distance_test import DistanceTest
from dalenius.adaptive.ptr.gaussian_distance_test import GaussianDistanceTest
from dalenius.adaptive.ptr.guarantee import after_statement, after_test, after_test_renyi
from dalenius.adaptive.ptr.interquartile_range import LocalInterquartileRange
from dalenius.adaptive.ptr.median import LocalMedian
from dalenius.adaptive.ptr.mode import StableMode
from dalenius.adaptive.ptr.noisy_bound import NoisyLowerBound, NoisyUpperBound
from dalenius.adaptive.ptr.noisy_max import NoisyMax
from dalenius.adaptive.ptr.parts import DataDependent, Family, PrivateBound, PrivateTest, Stable
from dalenius.adaptive.ptr.propose_test_release import ProposeTestRelease
from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.adaptive.ptr.regression_scale import LocalRegressionScale
from dalenius.adaptive.ptr.smooth_bound import SmoothUpperBound
from dalenius.adaptive.ptr.stable_scale import StableScale
from dalenius.adaptive.ptr.stable_value import StableValue

__all__ = [
    "BestRelease",
    "BoundTest",
    "CalibratedRelease",
    "DataDependent",
    "DistanceTest",
    "Family",
    "GaussianDistanceTest",
    "LocalBinnedQuantile",
    "LocalInterquartileRange",
    "LocalMedian",
    "LocalRegressionScale",
    "NoisyLowerBound",
    "NoisyMax",
    "NoisyUpperBound",
    "PrivateBound",
    "PrivateTest",
    "ProposeTestRelease",
    "Refusal",
    "SmoothUpperBound",
    "Stable",
    "StableMode",
    "StableScale",
    "StableValue",
    "after_statement",
    "after_test",
    "after_test_renyi",
]
