# The names of the front door, each once: type checkers read this file, and `__init__.py` opens a room when one of its
# names is first used.
from dalenius import adaptive as adaptive
from dalenius import audit as audit
from dalenius import errors as errors
from dalenius import infer as infer
from dalenius import learn as learn
from dalenius import losses as losses
from dalenius import mechanisms as mechanisms
from dalenius import queries as queries
from dalenius.calculus import theorems as theorems
from dalenius.calculus.calibrate import calibrate as calibrate
from dalenius.calculus.guarantees import GDP as GDP
from dalenius.calculus.guarantees import RDP as RDP
from dalenius.calculus.guarantees import ZCDP as ZCDP
from dalenius.calculus.guarantees import ApproxDP as ApproxDP
from dalenius.calculus.guarantees import Guarantee as Guarantee
from dalenius.calculus.guarantees import PureDP as PureDP
from dalenius.calculus.guarantees import TradeOff as TradeOff
from dalenius.calculus.loss import Loss as Loss
from dalenius.core.adjacency import ADD_REMOVE as ADD_REMOVE
from dalenius.core.adjacency import REPLACE_ONE as REPLACE_ONE
from dalenius.core.adjacency import Adjacency as Adjacency
from dalenius.session.accuracy import within as within
from dalenius.session.ledger import Ledger as Ledger
from dalenius.session.session import Session as Session
from dalenius.tables.aggregates import bounds as bounds
from dalenius.tables.aggregates import correlation as correlation
from dalenius.tables.aggregates import count as count
from dalenius.tables.aggregates import count_distinct as count_distinct
from dalenius.tables.aggregates import covariance as covariance
from dalenius.tables.aggregates import histogram as histogram
from dalenius.tables.aggregates import mean as mean
from dalenius.tables.aggregates import median as median
from dalenius.tables.aggregates import mode as mode
from dalenius.tables.aggregates import proportion as proportion
from dalenius.tables.aggregates import quantile as quantile
from dalenius.tables.aggregates import quantiles as quantiles
from dalenius.tables.aggregates import std as std
from dalenius.tables.aggregates import sum as sum
from dalenius.tables.aggregates import variance as variance
from dalenius.tables.facts.keys import discover as discover
from dalenius.tables.facts.schema import Schema as Schema
from dalenius.tables.facts.schema import impute as impute
from dalenius.tables.facts.unit import Unit as Unit

__version__: str
