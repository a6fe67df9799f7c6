r"""ODCL in practice: more rounds than one, the start of IFCA, number of clusters, many users.

Remarks 13 and 23, Appendix C and Appendix D.3 say in words what the paper gives no bound for.
"""

from __future__ import annotations

from bounds.odcl.assumptions import statement
from bounds.odcl.experiments import TEN_SHOW_IT
from bounds.shown import all_name, all_of
from bounds.statement import Contrast, Statement

_ERROR = r"\text{normalised MSE}"
_HOMOGENEOUS = (
    "The paper takes one cluster for simplicity, where ODCL is one-shot averaging. A contrast says "
    "which error is smaller in most trials. "
)
_REMARK_13 = "Remark 13"


def _k_shot(id_: str, title: str, source: str, contrast: Contrast, says: str) -> Statement:
    return statement(
        id_,
        title,
        f"{_REMARK_13}{source}",
        kind="comparison",
        quantifiers=r"K\text{ rounds}",
        observed=_ERROR,
        contrasts=(contrast,),
        reading=_HOMOGENEOUS + says,
    )


K_SHOT = _k_shot(
    "odcl.kshot",
    "Local steps from zero that stop after a few rounds have a larger error than one-shot means",
    "",
    Contrast(left="ODCL", relation="<", right="zero"),
    "The naive implementation that the remark describes, interrupted after 2 and 10 rounds, with "
    "the three steps of Fig. 5, and after 50 rounds with the step .01 of Table 3.",
)
K_SHOT_FIFTY = _k_shot(
    "odcl.kshot-fifty",
    "Fifty rounds of larger local steps from zero have a smaller error than one-shot averaging",
    ", its limit (not in the paper)",
    Contrast(left="zero", relation="<", right="ODCL"),
    "With the steps .05 and .1 fifty rounds are no longer few: the sentence is about training that "
    "stops before it has converged.",
)
K_SHOT_WARM = _k_shot(
    "odcl.kshot-warm",
    "Rounds of local steps after one-shot averaging lower its error",
    ", extension (not in the paper)",
    Contrast(left="warm", relation="<", right="ODCL"),
    "The remark says that the method cannot be extended to K rounds directly. The algorithm that "
    "is tried averages the local fits in its first round and goes on with local steps from there.",
)

INIT_SENSITIVITY = statement(
    "odcl.init-sensitivity",
    "IFCA from a random start has a larger error than from a start near the optima",
    "Appendix D.3; Section 5",
    kind="comparison",
    quantifiers=r"n\in\{400,600\}",
    observed=r"\text{normalised MSE, mean of ten runs}",
    contrasts=(Contrast(left="near", relation="<", right="random"),),
    reading=(
        "Near is the printed start, at $D/5$ to $D/3$ from the optima. Random is a standard normal "
        "vector for each model. A trial is a mean of ten runs, as in the paper."
    ),
)


def _number(id_: str, title: str, observed: str, reading: str) -> Statement:
    return statement(
        id_,
        title,
        "Appendix C",
        kind="expectation",
        quantifiers=r"n\ge100",
        observed=observed,
        relation=r"\ge",
        terms={all_name(): all_of()},
        reading=reading + TEN_SHOW_IT,
    )


SILHOUETTE = _number(
    "odcl.selection-silhouette",
    "The number of clusters of largest silhouette score is the true one",
    r"P(\hat K_{\text{silhouette}}=K)",
    "The experiments are those of Section 5 and Appendix D.2 with at least 100 samples a user. "
    "With 50 samples the score takes two clusters for the four of Appendix D.2. ",
)
ELBOW = _number(
    "odcl.selection-elbow",
    "The elbow method with a threshold fixed in advance finds the true number of clusters",
    r"P(\hat K_{\text{elbow}}=K)",
    "The paper leaves the threshold open. It is $4md/n$ here, the expected cost of the true "
    "clusters, which needs the variances of the noise and of the features. ",
)

#: "Performs well" is read as "as well as the best of the others up to a tenth".
_AS_WELL = 0.1
_USERS = (
    "The paper says that the weights have been observed to perform well. This is read as an error "
    "of at most a tenth above those of two others that know no more: equal weights, which only a "
    "subsample of many users allows, and K-means++ with ten starts. All get the number "
    "of clusters and choose by the sum of squared distances. Users outside the K largest clusters "
    "join the nearest mean. "
)
_AGAINST_OTHERS = (
    Contrast(left="neighbours", relation="<=", right="uniform", margin=_AS_WELL),
    Contrast(left="neighbours", relation="<=", right="kmeans", margin=_AS_WELL),
    Contrast(left="neighbours", relation="<", right="asked"),
)
_SENT = (
    "Asking the subsample alone saves sending, and its means have fewer fits. So the last contrast "
    "says what sending all fits buys. K-means++ itself would pass in the place of the "
    "weights: that they perform well is shown, and not that they are needed."
)
_SQUARED_ERROR = r"\text{users' mean squared error}"
_REMARK_23 = "Remark 23"

NEIGHBOURS = statement(
    "odcl.neighbours",
    "With weights between nearest neighbours ODCL's error is at most a tenth above the best other",
    _REMARK_23,
    kind="comparison",
    quantifiers=r"m=500,n\in\{25,100,800\},|C_{(K)}|\in\{20,100\}",
    observed=_SQUARED_ERROR,
    contrasts=_AGAINST_OTHERS,
    reading=_USERS + _SENT,
)
NEIGHBOURS_MANY = statement(
    "odcl.neighbours-many-users",
    "Weights between nearest neighbours with 100,000 users",
    _REMARK_23,
    kind="comparison",
    quantifiers=r"m=10^5,n\in\{200,800\},|C_{(K)}|\in\{100,20000\}",
    observed=_SQUARED_ERROR,
    contrasts=_AGAINST_OTHERS,
    reading=_USERS + _SENT,
)
NEIGHBOURS_OVERLAP = statement(
    "odcl.neighbours-overlap",
    "Where local fits are useless and clusters are equal, K-means++ has the smaller error",
    _REMARK_23,
    kind="comparison",
    quantifiers=r"m=500,n=12,d=5,|C_k|=m/K",
    observed=_SQUARED_ERROR,
    contrasts=(Contrast(left="kmeans", relation="<", right="neighbours"),),
    reading=(
        "The other side of the remark. Errors of the fits are spherical, so that with equal "
        "clusters the nearest optimum is the likeliest one, and K-means assigns by nearest means. "
        "With 12 samples a fit's own error is nearly the squared separation. A pilot with 25 and "
        "50 samples showed no difference of a tenth."
    ),
)
