"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given.

Functions take the data, then the promise, then settings by name. The class behind a function is public where something
takes it: all of them for `Session.infer`, tests also for `power` and `sample_size`.
"""

import typing as _typing

from dalenius.core.exports import exported
from dalenius.core.habits import looked_for as _looked_for
from dalenius.infer.estimates.contingency import contingency as contingency
from dalenius.infer.estimates.correlation import correlation as correlation
from dalenius.infer.estimates.difference import difference_of_means as difference_of_means
from dalenius.infer.estimates.mean import mean as mean
from dalenius.infer.estimates.proportion import proportion as proportion
from dalenius.infer.estimates.quantiles import median as median
from dalenius.infer.estimates.quantiles import quantiles as quantiles
from dalenius.infer.estimates.settings.contingency import Contingency as Contingency
from dalenius.infer.estimates.settings.correlation import Correlation as Correlation
from dalenius.infer.estimates.settings.difference import DifferenceOfMeans as DifferenceOfMeans
from dalenius.infer.estimates.settings.mean import Mean as Mean
from dalenius.infer.estimates.settings.proportion import Proportion as Proportion
from dalenius.infer.estimates.settings.quantiles import Median as Median
from dalenius.infer.estimates.settings.quantiles import Quantiles as Quantiles
from dalenius.infer.estimates.settings.spread import Std as Std
from dalenius.infer.estimates.settings.spread import Variance as Variance
from dalenius.infer.estimates.spread import std as std
from dalenius.infer.estimates.spread import variance as variance
from dalenius.infer.from_answer import from_answer as from_answer
from dalenius.infer.glm.logistic import LogisticRegression as LogisticRegression
from dalenius.infer.glm.logistic import logistic_regression as logistic_regression
from dalenius.infer.glm.m_estimate import MEstimate as MEstimate
from dalenius.infer.glm.m_estimate import m_estimate as m_estimate
from dalenius.infer.glm.model_coefficients import coefficients as coefficients
from dalenius.infer.glm.multinomial import MultinomialRegression as MultinomialRegression
from dalenius.infer.glm.multinomial import multinomial_regression as multinomial_regression
from dalenius.infer.glm.poisson import PoissonRegression as PoissonRegression
from dalenius.infer.glm.poisson import poisson_regression as poisson_regression
from dalenius.infer.hypotheses.anova import AnovaTest as AnovaTest
from dalenius.infer.hypotheses.anova import anova as anova
from dalenius.infer.hypotheses.anova import anova_from_estimates as anova_from_estimates
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
from dalenius.infer.influence.functions import gross_error_sensitivity as gross_error_sensitivity
from dalenius.infer.influence.functions import influence_function as influence_function
from dalenius.infer.influence.functions import sensitivity_curve as sensitivity_curve
from dalenius.infer.influence.location import HuberLocation as HuberLocation
from dalenius.infer.influence.location import huber_location as huber_location
from dalenius.infer.local_model.estimates import local_linear_regression as local_linear_regression
from dalenius.infer.local_model.estimates import local_location as local_location
from dalenius.infer.local_model.estimates import local_logistic_regression as local_logistic_regression
from dalenius.infer.local_model.randomized_response import randomized_response as randomized_response
from dalenius.infer.regression.linear_regression import LinearRegression as LinearRegression
from dalenius.infer.regression.linear_regression import linear_regression as linear_regression
from dalenius.infer.result import Result as Result
from dalenius.infer.simulation import models as models
from dalenius.infer.simulation.bootstrap import bootstrap as bootstrap
from dalenius.infer.simulation.model import Model as Model
from dalenius.infer.simulation.model import SimulationModel as SimulationModel
from dalenius.infer.simulation.posterior import calibration_ranks as calibration_ranks
from dalenius.infer.simulation.posterior import posterior as posterior
from dalenius.infer.simulation.repro import repro_samples as repro_samples
from dalenius.infer.simulation.repro import repro_test as repro_test

__all__ = exported(globals())

if not _typing.TYPE_CHECKING:  # with it type checkers would take every name for one that is there
    __getattr__ = _looked_for(
        "dalenius.infer",
        __all__,
        {
            "write LinearRegression(guarantee=dp.GDP(0.5)), or linear_regression(X, y, dp.GDP(0.5))": (
                "OLS",
                "RLM",
                "WLS",
            ),
            "write LogisticRegression(guarantee=dp.GDP(0.5))": ("GLM", "Logit"),
            "write PoissonRegression(guarantee=dp.GDP(0.5), most=100), most being the largest count": (
                "Poisson",
            ),
            "write MultinomialRegression": ("MNLogit",),
            "write MeanTest, or TwoSampleMeanTest for two groups": ("TTest", "ttest_1samp", "ttest_ind"),
            "write IndependenceTest, or GoodnessOfFitTest": (
                "ChiSquareTest",
                "chi2_contingency",
                "chisquare",
            ),
            "write AnovaTest": ("f_oneway", "anova_lm"),
            "write KolmogorovSmirnovTest, or TwoSampleKolmogorovSmirnovTest": (
                "KSTest",
                "ks_2samp",
                "kstest",
            ),
            "write MannWhitneyTest, SignedRankTest or KruskalWallisTest": (
                "kruskal",
                "mannwhitneyu",
                "wilcoxon",
            ),
            "write BinomialTest": ("binom_test", "binomtest"),
            "write Correlation": ("pearsonr", "corr"),
        },
    )
