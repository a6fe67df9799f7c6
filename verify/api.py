"""What a paper of one's own needs, in one import line.

    from verify.api import Assumption, Paper, Probability, Sampling, Statement, Term, claim

``docs/public-api.md`` lists the names with what they promise.  Every other name of the four
packages may change without a notice.
"""

from bounds.render import Notation
from bounds.statement import (
    Assumption,
    Constant,
    Contrast,
    OutsideTheorem,
    Printed,
    Publication,
    Statement,
    Term,
    Trend,
)
from trials.checks import InvalidParameter
from trials.parameters import Integer, Options, Parameters, Real
from trials.run.experiment import Experiment, register, user_design
from trials.run.store import Table
from verify.claim import Claim, Finding, claim
from verify.claims.common import CannotTry
from verify.claims.searching import search
from verify.decisions.domain import Box, Interval, IntRange, LogInterval
from verify.decisions.means import Knowledge
from verify.evidence import CellResult, Evidence, EvidenceTable, Figure, Panel, Series, Verdict
from verify.papers import Paper
from verify.procedures.base import Observed, Presentation, Profile, Sampling, Trials
from verify.procedures.comparison import Comparison, Monotone
from verify.procedures.constants import Constants
from verify.procedures.interface import CellByCell, Procedure, Sampled
from verify.procedures.mean_bound import MeanBound
from verify.procedures.placebos import Control, Occurs, Placebo, Trivial
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate, StatedRate
from verify.procedures.reproduction import Reading, Reproduction
from verify.procedures.search import Search
from verify.procedures.sup_lower_bound import SupLB
from verify.procedures.threshold import Threshold
from verify.procedures.vacuity import Vacuity

__all__ = [
    "Assumption",
    "Box",
    "CannotTry",
    "CellByCell",
    "CellResult",
    "Claim",
    "Comparison",
    "Constant",
    "Constants",
    "Contraction",
    "Contrast",
    "Control",
    "Evidence",
    "EvidenceTable",
    "Experiment",
    "Figure",
    "Finding",
    "IntRange",
    "Integer",
    "Interval",
    "InvalidParameter",
    "Knowledge",
    "LogInterval",
    "MeanBound",
    "Monotone",
    "Notation",
    "Observed",
    "Occurs",
    "Options",
    "OutsideTheorem",
    "Panel",
    "Paper",
    "Parameters",
    "Placebo",
    "Presentation",
    "Printed",
    "Probability",
    "Procedure",
    "Profile",
    "Publication",
    "Rate",
    "Reading",
    "Real",
    "Reproduction",
    "Sampled",
    "Sampling",
    "Search",
    "Series",
    "StatedRate",
    "Statement",
    "SupLB",
    "Table",
    "Term",
    "Threshold",
    "Trend",
    "Trials",
    "Trivial",
    "Vacuity",
    "Verdict",
    "claim",
    "register",
    "search",
    "user_design",
]
