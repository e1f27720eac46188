"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given."""

from dalenius.core.exports import exported
from dalenius.infer.hypotheses.anova import AnovaTest as AnovaTest
from dalenius.infer.hypotheses.anova import anova as anova
from dalenius.infer.hypotheses.binomial import BinomialTest as BinomialTest
from dalenius.infer.hypotheses.binomial import binomial_test as binomial_test
from dalenius.infer.hypotheses.chi_square import GoodnessOfFitTest as GoodnessOfFitTest
from dalenius.infer.hypotheses.chi_square import IndependenceTest as IndependenceTest
from dalenius.infer.hypotheses.chi_square import goodness_of_fit_from_counts as goodness_of_fit_from_counts
from dalenius.infer.hypotheses.chi_square import goodness_of_fit_test as goodness_of_fit_test
from dalenius.infer.hypotheses.chi_square import independence_from_counts as independence_from_counts
from dalenius.infer.hypotheses.chi_square import independence_test as independence_test
from dalenius.infer.hypotheses.kolmogorov_smirnov import KolmogorovSmirnovTest as KolmogorovSmirnovTest
from dalenius.infer.hypotheses.kolmogorov_smirnov import (
    TwoSampleKolmogorovSmirnovTest as TwoSampleKolmogorovSmirnovTest,
)
from dalenius.infer.hypotheses.kolmogorov_smirnov import kolmogorov_smirnov_test as kolmogorov_smirnov_test
from dalenius.infer.hypotheses.kolmogorov_smirnov import (
    two_sample_kolmogorov_smirnov_test as two_sample_kolmogorov_smirnov_test,
)
from dalenius.infer.hypotheses.means import MeanTest as MeanTest
from dalenius.infer.hypotheses.means import TwoSampleMeanTest as TwoSampleMeanTest
from dalenius.infer.hypotheses.means import mean_test as mean_test
from dalenius.infer.hypotheses.means import paired_mean_test as paired_mean_test
from dalenius.infer.hypotheses.means import two_sample_mean_test as two_sample_mean_test
from dalenius.infer.hypotheses.planning import PowerCurve as PowerCurve
from dalenius.infer.hypotheses.planning import budget_for_power as budget_for_power
from dalenius.infer.hypotheses.planning import power as power
from dalenius.infer.hypotheses.planning import power_curve as power_curve
from dalenius.infer.hypotheses.planning import sample_size as sample_size
from dalenius.infer.hypotheses.ranks import KruskalWallisTest as KruskalWallisTest
from dalenius.infer.hypotheses.ranks import MannWhitneyTest as MannWhitneyTest
from dalenius.infer.hypotheses.ranks import SignedRankTest as SignedRankTest
from dalenius.infer.hypotheses.ranks import kruskal_wallis_test as kruskal_wallis_test
from dalenius.infer.hypotheses.ranks import mann_whitney_test as mann_whitney_test
from dalenius.infer.hypotheses.ranks import signed_rank_test as signed_rank_test
from dalenius.infer.hypotheses.result import TestResult as TestResult
from dalenius.infer.result import Result as Result

__all__ = exported(globals())
