"""Private models with scikit-learn's manners: `dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5)).fit(X, y)`."""

import typing as _typing

from dalenius.adaptive.selection.trial_counts import FixedTries as FixedTries
from dalenius.adaptive.selection.trial_counts import GeometricTries as GeometricTries
from dalenius.adaptive.selection.trial_counts import NegativeBinomialTries as NegativeBinomialTries
from dalenius.adaptive.selection.trial_counts import PoissonTries as PoissonTries
from dalenius.core.exports import exported
from dalenius.core.habits import looked_for as _looked_for
from dalenius.learn.data.refits import Refits as Refits
from dalenius.learn.methods.descent import Descent as Descent
from dalenius.learn.models.adaptive_posterior_sample_regression import (
    AdaptivePosteriorSampleRegression as AdaptivePosteriorSampleRegression,
)
from dalenius.learn.models.bill import loss as loss
from dalenius.learn.models.bill import price as price
from dalenius.learn.models.calibrated_posterior_sample_regression import (
    CalibratedPosteriorSampleRegression as CalibratedPosteriorSampleRegression,
)
from dalenius.learn.models.classifiers import LinearSVC as LinearSVC
from dalenius.learn.models.classifiers import LogisticRegression as LogisticRegression
from dalenius.learn.models.data_quality import RowCheck as RowCheck
from dalenius.learn.models.exponential_regression import ExponentialLeastSquares as ExponentialLeastSquares
from dalenius.learn.models.exponential_regression import (
    ExponentialQuantileRegression as ExponentialQuantileRegression,
)
from dalenius.learn.models.exponential_regression import GradientLeastSquares as GradientLeastSquares
from dalenius.learn.models.exponential_regression import (
    GradientQuantileRegression as GradientQuantileRegression,
)
from dalenius.learn.models.linear_regression import LinearRegression as LinearRegression
from dalenius.learn.models.local_logistic_regression import (
    LocalLogisticRegression as LocalLogisticRegression,
)
from dalenius.learn.models.mean import ExponentialMean as ExponentialMean
from dalenius.learn.models.mean import GradientMean as GradientMean
from dalenius.learn.models.pate_classifier import PATEClassifier as PATEClassifier
from dalenius.learn.models.posterior_sample_regression import (
    PosteriorSampleRegression as PosteriorSampleRegression,
)
from dalenius.learn.models.private_bounds import PrivateBounds as PrivateBounds
from dalenius.learn.models.private_scaler import PrivateScaler as PrivateScaler
from dalenius.learn.models.public_bounds import PublicBounds as PublicBounds
from dalenius.learn.models.public_columns import PublicColumns as PublicColumns
from dalenius.learn.models.quantile import ExponentialQuantile as ExponentialQuantile
from dalenius.learn.models.quantile import GradientQuantile as GradientQuantile
from dalenius.learn.models.regressors import HuberRegression as HuberRegression
from dalenius.learn.models.regressors import PoissonRegression as PoissonRegression
from dalenius.learn.models.search import PrivateSearch as PrivateSearch
from dalenius.learn.models.several_classes import MultinomialRegression as MultinomialRegression
from dalenius.learn.models.several_classes import OneVsRest as OneVsRest
from dalenius.learn.models.subsample_aggregate import SubsampleAggregate as SubsampleAggregate
from dalenius.learn.saved import from_json as from_json
from dalenius.learn.saved import load as load
from dalenius.learn.saved import save as save
from dalenius.learn.saved import to_json as to_json

__all__ = exported(globals())

if not _typing.TYPE_CHECKING:  # with it type checkers would take every name for one that is there
    _LINEAR = "models here are linear; one of any kind can teach a student on public data: PATEClassifier"
    __getattr__ = _looked_for(
        "dalenius.learn",
        __all__,
        {
            "write LinearRegression, or HuberRegression": ("ElasticNet", "Lasso", "Ridge", "SGDRegressor"),
            "write LogisticRegression": ("LogisticRegressionCV", "RidgeClassifier", "SGDClassifier"),
            "write LinearSVC": ("SVC", "SVM"),
            _LINEAR: (
                "DecisionTreeClassifier",
                "GradientBoostingClassifier",
                "HistGradientBoostingClassifier",
                "KNeighborsClassifier",
                "MLPClassifier",
                "RandomForestClassifier",
                "XGBClassifier",
            ),
            "write PrivateScaler, or PrivateBounds; with public bounds nothing has to be found": (
                "MinMaxScaler",
                "RobustScaler",
                "StandardScaler",
            ),
            "categories are public lists: PublicColumns, or features={'town': ['Lund', 'Umea']} of session.fit": (
                "LabelEncoder",
                "OneHotEncoder",
                "OrdinalEncoder",
            ),
            "write PrivateSearch, which costs what it says": ("GridSearchCV", "RandomizedSearchCV"),
            "a fit for each part is a cost for each: with dp.learn.Refits() as refits": (
                "cross_val_score",
                "KFold",
            ),
        },
    )
