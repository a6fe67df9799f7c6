"""The sentences of IFCA about its algorithms in practice, and about their random starts.

A sentence without a number becomes a comparison of methods on the same data, or an event in most
runs.  ``reading`` names the choice that the sentence leaves open.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from bounds.ifca.assumptions import statement
from bounds.ifca.symbols import d, k, m
from bounds.shown import MORE_OFTEN_THAN_NOT, all_name, all_of, all_words
from bounds.statement import Contrast, Statement, Term, Trend

R, SHARED, EARLY, ROUNDS = sp.symbols("R shared early rounds")
_SHOWN = all_words(printed="The sentence names no number of runs, and {} are taken.").strip()


def comparison(
    id_: str, title: str, source: str, observed: str, *contrasts: Contrast, **fields: Any
) -> Statement:
    """A comparison of methods on the same data."""
    fields = {"quantifiers": r"\forall k,m,n,d", **fields}
    return statement(
        id_, title, source, kind="comparison", observed=observed, contrasts=contrasts, **fields
    )


def share(
    id_: str,
    title: str,
    source: str,
    event: str,
    bound: sp.Expr | None = None,
    *,
    reading: str = "",
    **fields: Any,
) -> Statement:
    """An event in all of ten runs, or in a share of them (see `bounds.shown`)."""
    if bound is None and "terms" not in fields:
        fields["terms"] = (Term(name=all_name(), expr=all_of()),)
        reading = f"{reading} {_SHOWN}".strip()
    fields = {
        "reading": reading,
        "kind": "expectation",
        "quantifiers": r"\forall k,m,n,d",
        "observed": rf"P({event})",
        "relation": r"\ge",
        "terms": (Term(name="share of trials", expr=bound),),
        **fields,
    }
    return statement(id_, title, source, **fields)


ERROR = r"\text{mean error}"

ONE_SHOT = comparison(
    "ifca.alg1-one-shot",
    "One-shot clustering keeps its errors, and IFCA corrects them",
    "Section IV-A, after Algorithm 1",
    ERROR,
    Contrast(left="truth", relation="<", right="OneShot"),
    Contrast(left="IFCA", relation="<", right="OneShot"),
    Contrast(left="IFCA", relation="<=", right="truth", margin=0.05),
    reading=(
        "A clustering with some clients of each cluster in another one is planted. Algorithm 1 "
        "and IFCA start from the same models, the means of the local fits in its clusters. "
        "The run called truth knows the clusters."
    ),
)
ONE_SHOT_IDENTITIES = comparison(
    "ifca.alg1-one-shot-identities",
    "IFCA ends with fewer clients in a wrong cluster than the clustering that it started from",
    "Section IV-A, after Algorithm 1",
    r"\text{share of clients in a wrong cluster}",
    Contrast(left="IFCA", relation="<", right="OneShot"),
    reading=ONE_SHOT.reading,
)
RESAMPLING = comparison(
    "ifca.resampling-not-needed",
    "IFCA that uses all samples in every iteration needs no fresh ones",
    "Sections V and VI, introductions",
    ERROR,
    Contrast(left="reused", relation="<=", right="truth", margin=0.05),
    Contrast(left="reused", relation="<", right="resampled"),
    reading=(
        "Both runs have the same $2Tn'$ samples a client. The theorems' run takes $n'$ to "
        "identify and $n'$ to descend in each iteration. The run called truth knows the clusters "
        "and takes all samples in every iteration."
    ),
)
SUBSETS = share(
    "ifca.alg2-participation-runs",
    "Runs with a random half of the clients converge",
    "Algorithm 2, $M_t$",
    r"\text{error}\le1.25\,\text{that of all clients}",
    reading=(
        "The runs with subsets take twice as many iterations, because their mean step is half as "
        "long. Subsets that change leave a larger error at a constant step."
    ),
)
STABLE = share(
    "ifca.comm-saving",
    "One model instead of k once identities are stable: the same error",
    "Section IV-C",
    r"\text{error}\le1.01\,\text{that of all models}",
    reading=(
        "'Several' iterations without a change are five, with steps of a fifth of the way or more. "
        "The share is that of all runs. Of the runs in which a label changes later all the same, "
        "about one in two ends with an error more than 1.01 times as large."
    ),
)
STABLE_SMALL_STEPS = share(
    "ifca.comm-saving-as-printed",
    "One model instead of k once identities are stable, with steps of any size",
    "Section IV-C, as printed",
    r"\text{error}\le1.01\,\text{that of all models}",
    reading=(
        "'Several' iterations without a change are five, as in ifca.comm-saving. The text names "
        "neither their number nor a step size, and Section VI has steps of a hundredth. With steps "
        "of a fiftieth of the way five are too few. With steps a quarter as long twenty are too "
        "few as well: two in five of 64 runs were as good. So no fixed number serves every step."
    ),
)
STABLE_FLOATS = statement(
    "ifca.comm-saving-floats",
    "The floats that the centre sends once identities are stable",
    "Section IV-C",
    kind="deterministic",
    quantifiers=r"\forall k,m,d,T",
    observed=r"\text{floats down in}\ T\ \text{iterations}",
    relation="=",
    terms=(
        Term(name="all models", expr=m * k * d * EARLY),
        Term(name="one model", expr=m * d * (ROUNDS - EARLY)),
    ),
    reading="The first of the $T$ iterations send all models, until identities are stable.",
)
COMMUNICATION = comparison(
    "ifca.comm-saving-equal-floats",
    "With as many floats sent, one model instead of k ends nearer to the optima",
    "Section IV-C",
    ERROR,
    Contrast(left="OneModel", relation="<", right="AllModels"),
    reading=(
        "'Several' iterations without a change are five. Both runs have the same start and data, "
        "and the floats of both directions count. The errors are compared when half of the floats "
        "of a run with all models are sent."
    ),
)
SHARING = comparison(
    "ifca.weight-sharing",
    "Sharing the coordinates on which all clusters agree lowers the error",
    "Section IV-C",
    ERROR,
    Contrast(left="shared", relation="<", right="separate"),
    reading=(
        "The clusters differ in some coordinates only, as in the ambiguous structure of the text."
    ),
)
SHARING_FLOATS = statement(
    "ifca.weight-sharing-floats",
    "The floats that the centre sends with shared coordinates",
    "Section IV-C",
    kind="deterministic",
    quantifiers=r"\forall k,m,d",
    observed=r"\text{floats down in an iteration}",
    relation="=",
    terms=(
        Term(name="separate coordinates", expr=m * k * (d - SHARED)),
        Term(name="shared coordinates", expr=m * SHARED),
    ),
)
SHARING_STEP = statement(
    "ifca.weight-sharing-step",
    "One step size moves shared coordinates k times as far",
    "Section IV-C, with option I of Algorithm 2",
    kind="deterministic",
    quantifiers=r"\forall k,m,n,d,\gamma",
    observed=r"\text{step of the shared coordinates over the mean step of the separate ones}",
    relation="=",
    terms=(Term(name="factor", expr=k),),
    reading=(
        "Vanilla gradient averaging adds the gradients of all clients, and a model those of its "
        "own. So a step size that suits the clusters may be unstable on shared coordinates: the "
        "largest stable one is smaller by the factor $k$. Model averaging has no such factor."
    ),
)

# --- random starts ------------------------------------------------------------------------------

K_ROBUST = comparison(
    "ifca.k-robust",
    "Too many models do no harm where a model's share of the samples is large",
    "Section VI-C, corrected",
    r"\text{mean error of the clients' models}",
    Contrast(left="extra", relation="<=", right="exact"),
    reading=(
        "Extra models get clients: they split a cluster. What is robust is the error of the "
        "models that clients choose, and random starts with more models miss fewer clusters."
    ),
)
_TEN_STARTS = (
    "The paper's curves are of image data, with two and four clusters. On synthetic data ten "
    "starts run, and the first of those that find the clusters counts."
)
ROUNDS_OF_IDENTITIES = share(
    "ifca.fig4-synthetic",
    "Identities are found within thirty rounds",
    "Fig. 4, Section VI-B",
    r"\text{right after 30 rounds}",
    reading=_TEN_STARTS,
)
EIGHT_CLUSTERS = share(
    "ifca.fig4-synthetic-eight",
    "Eight clusters are mostly not found from ten random starts",
    "Fig. 4, Section VI-B, with $k=8$",
    r"\text{right after 30 rounds}",
    MORE_OFTEN_THAN_NOT,
    relation=r"\le",
    reading=f"{_TEN_STARTS} The paper has no such curve.",
)
RESTARTS_TWO = share(
    "ifca.restarts-two",
    "Ten random starts suffice for two clusters",
    "Section VI, introduction",
    r"\text{some of ten starts ends within}\ 0.6\sigma",
    reading="'A few restarts' are ten, as in Section VI-A. The starts have the optima's norm.",
)


def trend(
    id_: str, title: str, symbol: sp.Symbol, direction: Any, margin: float, **fields: Any
) -> Statement:
    """How a share of runs depends on one parameter."""
    words = "grows" if direction == "increases" else "falls"
    fields = {
        "quantifiers": r"\forall k,m,n,d",
        "observed": r"P(\text{a start finds the clusters})",
        "assertion": rf"\text{{it {words}}}",
        **fields,
    }
    trends = (Trend(symbol=symbol, direction=direction, margin=margin),)
    return statement(id_, title, kind="comparison", trends=trends, **fields)


RESTARTS_IN_K = trend(
    "ifca.restarts-in-k",
    "A random start finds more clusters less often",
    k,
    "decreases",
    0.1,
    source="Section VI, introduction",
)
# --- the separation of the random optima --------------------------------------------------------

SEPARATION = statement(
    "ifca.separation-prop-r",
    "The separation of the rescaled random optima is R",
    "Section VI-A",
    kind="rate",
    quantifiers=r"k=2,\ \forall R,d",
    observed=r"E\,\Delta",
    relation=r"\propto",
    terms=(Term(name="scale", expr=R),),
    reading=(
        "Rescaled vectors give a separation that is proportional to $R$ at any $d$. The cosine of "
        "two is about one half, so the factor is about one."
    ),
)
SEPARATION_CODE = SEPARATION.variant(
    "ifca.separation-code",
    "The separation of the optima in the authors' code grows with the dimension",
    "Section VI-A, the authors' published code",
    terms=(Term(name="scale", expr=R * sp.sqrt(d / 2)),),
    reading=(
        "The published code multiplies the 0/1 vectors by $R$ and does not rescale them. At "
        "$d=1000$ the separation is then $22.4R$."
    ),
)
