r"""ODCL in practice: more rounds than one, the start of IFCA, and the number of clusters.

Remark 13, Appendix C and Appendix D.3 say in words what the paper gives no bound for.
"""

from __future__ import annotations

from bounds.odcl.assumptions import statement
from bounds.odcl.experiments import ALL_OF_TEN, TEN_SHOW_IT
from bounds.statement import Contrast, Statement, Term

_ERROR = r"\text{normalised MSE}"
_HOMOGENEOUS = (
    "The paper takes one cluster for simplicity, where ODCL is one-shot averaging. A contrast says "
    "which error is smaller in most trials. "
)
_REMARK_13 = "Remark 13"

K_SHOT_AS_PRINTED = statement(
    "kshot-as-printed",
    "Any algorithm that stops after K rounds has a larger error than one-shot averaging",
    f"{_REMARK_13}, as printed",
    kind="comparison",
    quantifiers=r"\forall\text{ algorithms of }K\ge2\text{ rounds}",
    observed=_ERROR,
    contrasts=(Contrast(left="ODCL", relation="<", right="warm"),),
    reading=(
        _HOMOGENEOUS + "The algorithm that is tried averages the local fits in its first round and "
        "goes on with local steps from there."
    ),
)
K_SHOT = statement(
    "kshot",
    "Local steps from zero that stop after K rounds have a larger error than one-shot averaging",
    f"{_REMARK_13}, corrected",
    kind="comparison",
    quantifiers=r"K\in\{2,10,50\}",
    observed=_ERROR,
    contrasts=(Contrast(left="ODCL", relation="<", right="zero"),),
    reading=(
        _HOMOGENEOUS + "The naive implementation that the remark describes: the rounds of Table 3, "
        "interrupted."
    ),
)

INIT_SENSITIVITY = statement(
    "init-sensitivity",
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
        terms=(Term(name="all of ten runs", expr=ALL_OF_TEN),),
        reading=reading + TEN_SHOW_IT,
    )


SILHOUETTE = _number(
    "selection-silhouette",
    "The number of clusters of largest silhouette score is the true one",
    r"P(\hat K_{\text{silhouette}}=K)",
    "The experiments are those of Section 5 and Appendix D.2 with at least 100 samples a user. "
    "With 50 samples the score takes two clusters for the four of Appendix D.2. ",
)
ELBOW = _number(
    "selection-elbow",
    "The elbow method with a threshold fixed in advance finds the true number of clusters",
    r"P(\hat K_{\text{elbow}}=K)",
    "The paper leaves the threshold open. It is $4md/n$ here, the expected cost of the true "
    "clusters, which needs the variances of the noise and of the features. ",
)
