r"""The experiments of ODCL: Figures 2 to 5 and Table 3, with the sentences about them.

The paper gives no data, so a sentence about a curve becomes a statement about the experiment that
the text describes.  Where the text leaves a choice open, ``reading`` names the choice.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from bounds.odcl.assumptions import statement
from bounds.odcl.symbols import n
from bounds.shown import MORE_OFTEN_THAN_NOT, all_name, all_of, all_words, none_of, some_of
from bounds.statement import Contrast, Statement

shrinkage, ridge, variance_1, variance_2, pool, curvature, length = sp.symbols(
    "shrinkage ridge variance_1 variance_2 pool curvature length"
)
#: "Roughly m" clusters: nearer to the m = 100 users than to the K = 4 clusters.
ROUGHLY_ALL = sp.Rational(100 + 4, 2)
_PENALTY = (
    "The penalty is that of Appendix D.1: uniform in (13) of the true clusters, else its end."
)


def _share(id_: str, title: str, source: str, observed: str, **fields: Any) -> Statement:
    """A statement that an event happens in most trials, or in few."""
    fields = {"kind": "expectation", "quantifiers": r"\forall n", "observed": observed, **fields}
    return statement(id_, title, source, **fields)


_ALL_OF_TEN: dict[str, Any] = {
    "relation": r"\ge",
    "terms": {all_name(): all_of()},
}
_NONE_OF_TEN: dict[str, Any] = {
    "relation": r"\le",
    "terms": {"none of ten runs": none_of()},
}
_LIKELY: dict[str, Any] = {"relation": r"\ge", "terms": {"likely": MORE_OFTEN_THAN_NOT}}
TEN_SHOW_IT = all_words()

# --- Figure 2 -----------------------------------------------------------------------------------

FIG_2_CC = statement(
    "odcl.fig2-cc",
    "Fig. 2: the samples at which ODCL-CC matches the oracles",
    "Fig. 2, Section 5",
    kind="threshold",
    quantifiers=r"K=10,d=20,m=100",
    observed=r"n_{1/2}",
    relation="=",
    terms={"printed": sp.Integer(400)},
    reading=_PENALTY,
)
FIG_2_INTERVAL = _share(
    "odcl.fig2-interval",
    "Fig. 2: with 400 samples no penalty is certified",
    "Fig. 2, Section 5, with (13) (not in the paper)",
    r"P(\text{(13) is empty})",
    quantifiers=r"n=400",
    reading=(
        "ODCL-CC matches the oracles at $n\\approx400$, though (13) of the true clusters is still "
        "empty there, and hence (4) with $\\alpha_{cc}$ fails. So Lemma 1 and Theorem 1 do not "
        "explain the figure. The penalty of Appendix D.1 is then the upper end of (13), which the "
        "experiment takes from the true clusters. (13) is not empty in most runs from about 780 "
        "samples on. " + TEN_SHOW_IT
    ),
    **_ALL_OF_TEN,
)
FIG_2_KM = _share(
    "odcl.fig2-km",
    "Fig. 2: ODCL-KM++ finds the clusters for any number of samples",
    "Fig. 2, Section 5",
    r"P(\text{exact recovery})",
    reading=(
        "'Matches' is read as recovery. The sizes of the figure and the number of starts are not "
        "printed. Ten starts are the usual default of software, and the smallest size is "
        "$n=50=2.5d$. With the one start of Algorithm 3 about .72 of the runs recover there, and "
        ".94 at $n=400$. At $n=25$, near $d=20$, no start of ten helps. "
    )
    + TEN_SHOW_IT,
    **_ALL_OF_TEN,
)
FIG_2_ORDER = statement(
    "odcl.fig2-order",
    "Fig. 2: the cluster oracle has the least error, then averaging, local fits, one mean",
    "Fig. 2",
    kind="comparison",
    quantifiers=r"K=10,d=20,m=100",
    observed=r"\text{normalised MSE}",
    contrasts=(
        Contrast(left="pooled", relation="<", right="averaging"),
        Contrast(left="averaging", relation="<", right="local"),
        Contrast(left="local", relation="<", right="naive"),
    ),
)

# --- Table 3 and Figure 5 -----------------------------------------------------------------------

_TEN_RUNS = (
    "The printed number is a mean of ten runs, in which a run that never matches counts 1000 "
    "rounds. A trial here is such a mean. A printed number is consistent with the experiment when "
    "one of twenty means is at least as large."
)
_ONE_IN_TWENTY: dict[str, Any] = {
    "relation": r"\ge",
    "terms": {"one in twenty": sp.Rational(1, 20)},
    "reading": _TEN_RUNS,
}
#: Printed communication rounds of IFCA.
PRINTED_ROUNDS = {"one": 440, "four": 655}
TABLE_3_HOMOGENEOUS = _share(
    "odcl.table3-homogeneous",
    "Table 3: 440 rounds of IFCA in the homogeneous setting",
    "Table 3",
    r"P(440\le\text{rounds}<1000)",
    **_ONE_IN_TWENTY,
)
TABLE_3_HETEROGENEOUS = _share(
    "odcl.table3-heterogeneous-as-printed",
    "Table 3: 655 rounds of IFCA in the heterogeneous setting",
    "Table 3, as printed",
    r"P(655\le\text{rounds}<1000)",
    **_ONE_IN_TWENTY,
)
_DESCENT = (
    "IFCA descends the mean squared residual. The number of local steps is not printed; Section "
    "5's ten are taken. A curve is a mean of ten runs, and a trial here is such a mean"
)
_LOSS = _DESCENT + ": the sentence says that most repetitions of the figure show it. "


def _fig_5_left(id_: str, title: str, source: str, contrast: Contrast) -> Statement:
    return statement(
        id_,
        title,
        source,
        kind="comparison",
        quantifiers=r"n=400",
        observed=r"\text{normalised MSE, mean of ten runs}",
        contrasts=(contrast,),
        reading=_LOSS + _PENALTY,
    )


FIG_5_LEFT_LARGE = _fig_5_left(
    "odcl.fig5-left",
    "Fig. 5, left: 20 rounds match ODCL-CC at steps 0.1 and 0.05",
    "Fig. 5, left; Appendix D.3",
    Contrast(left="IFCA20", relation="<", right="ODCL"),
)
FIG_5_LEFT_SMALL = _fig_5_left(
    "odcl.fig5-left-small-step",
    "Fig. 5, left: 70 rounds match ODCL-CC at step 0.01",
    "Fig. 5, left; Appendix D.3",
    Contrast(left="IFCA70", relation="<", right="ODCL"),
)
#: Printed communication rounds at which IFCA's curve meets ODCL-CC's, by step size.
PRINTED_MATCHES = {0.1: 20, 0.05: 20, 0.01: 70}


def _rounds(id_: str, title: str, setting: str) -> Statement:
    return _share(
        id_,
        title,
        "Fig. 5, left; Appendix D.3",
        r"P(\tfrac12\,\text{printed}\le\text{rounds}\le200)",
        quantifiers=r"n=400",
        reading=(
            "'Around' is read as at least half as many, in most runs. A trial is one run, and one "
            "that does not match within 200 rounds does not show it. Neither the loss nor the "
            f"number of local steps is printed. Section 5's ten steps are taken. {setting} "
        )
        + _PENALTY,
        **_LIKELY,
    )


FIG_5_LEFT_ROUNDS = _rounds(
    "odcl.fig5-left-rounds",
    "Fig. 5, left: IFCA needs around 20, 20 and 70 rounds",
    "IFCA descends half of the mean squared residual, as elsewhere. The medians are near 15, 28 "
    "and 130 rounds.",
)
FIG_5_LEFT_TENFOLD = _share(
    "odcl.fig5-left-tenfold",
    "Fig. 5, left: 120 rounds at step 0.01 improve on ODCL-CC by an order of magnitude",
    "Fig. 5, left; Appendix D.3",
    r"P(\text{error of ODCL-CC}\ge\sqrt{10}\,\text{error}_{120})",
    quantifiers=r"n=400",
    relation=r"\ge",
    terms={"one in twenty": sp.Rational(1, 20)},
    reading=(
        "'An order of magnitude' is read as a factor that is nearer to ten than to one, as ratios "
        "go. A printed improvement is consistent with the experiment when one of twenty means of "
        "ten runs shows it, as in Table 3. The usual factor is about three. "
    )
    + _DESCENT
    + ". "
    + _PENALTY,
)
FIG_5_LEFT_FLAT = _share(
    "odcl.fig5-left-flat",
    "Fig. 5, left: at steps 0.1 and 0.05 further rounds improve little",
    "Fig. 5, left; Appendix D.3",
    r"P(\text{error}_{20}\le\text{error}_{\text{ODCL}},\ "
    r"\text{error}_{120}\ge\tfrac12\text{error}_{20})",
    quantifiers=r"n=400",
    reading="'Not improving significantly' is read as: a hundred rounds more than the first twenty "
    "do not halve the error. The first twenty match ODCL-CC in the same sentence, so that a run "
    "that never moves does not show it. " + _LOSS + _PENALTY,
    **_LIKELY,
)
FIG_5_TRANSITION = _share(
    "odcl.fig5-transition",
    "Fig. 5, left: with 400 samples ODCL-CC is not yet order-optimal",
    "Appendix D.3, after Fig. 5",
    r"P(K'\ne4)",
    quantifiers=r"n=400",
    relation=r"\ge",
    terms={"one of ten runs": some_of()},
    reading="Where the four clusters are found the error is that of Oracle Averaging. The mean of "
    "ten runs is not when one of them misses the clusters. The sentence is consistent with the "
    "experiment when that has a probability of at least one in twenty, so one run misses them with "
    "at least $1-(19/20)^{1/10}=0.0051$. " + _PENALTY,
)
FIG_5_OPTIMAL = _share(
    "odcl.fig5-optimal",
    "Fig. 5, right: with 600 samples ODCL-CC is order-optimal",
    "Appendix D.3, after Fig. 5",
    r"P(K'=4)",
    quantifiers=r"n=600",
    reading="Where the four clusters are found the error is that of Oracle Averaging. "
    + TEN_SHOW_IT
    + _PENALTY,
    **_ALL_OF_TEN,
)
FIG_5_RIGHT = _share(
    "odcl.fig5-right-as-printed",
    "Fig. 5, right: with 600 samples IFCA never matches ODCL-CC",
    "Fig. 5, right; Appendix D.3, as printed",
    r"P(\text{IFCA matches})",
    reading=(
        "The paper averages ten runs. 'Unable to match' is consistent with the experiment when "
        "none of ten runs matches with a probability of at least one in twenty, so one run with at "
        "most $1-20^{-1/10}=0.259$. Fewer rounds than the paper's 1000 are run: a match within "
        "them is one within 1000. The figure's curves are means of ten runs. Such means match more "
        "often than single runs."
    ),
    **_NONE_OF_TEN,
)

# --- Figure 4 -----------------------------------------------------------------------------------

FIG_4_EXACT = statement(
    "odcl.fig4-exact",
    "Fig. 4: few samples leave every user alone with the penalty of D.1",
    "Fig. 4, right",
    kind="expectation",
    quantifiers=r"n\le200",
    observed=r"E K'",
    relation=r"\ge",
    terms={"roughly all users": ROUGHLY_ALL},
    reading="'Roughly $m$' is read as nearer to the 100 users than to the 4 clusters.",
)
FIG_4_BELOW = _share(
    "odcl.fig4-below-as-printed",
    "Fig. 4: below 600 samples clusterpath finds fewer than four clusters",
    "Fig. 4, right, as printed",
    r"P(K'<4)",
    reading=(
        "Appendix D.2 calls a coarsening likely, which is more often than not. Both readings of "
        "step 2 (a) are run; the verdict is that of the printed one."
    ),
    **_LIKELY,
)
FIG_4_ABOVE = _share(
    "odcl.fig4-above",
    "Fig. 4: from 600 samples on clusterpath finds the four clusters",
    "Fig. 4, right",
    r"P(K'=4)",
    reading=TEN_SHOW_IT,
    **_ALL_OF_TEN,
)

FIG_4_LEFT_BELOW = statement(
    "odcl.fig4-left-below-as-printed",
    "Fig. 4, left: below 600 samples clusterpath has the larger error",
    "Fig. 4, left; Appendix D.2, as printed",
    kind="comparison",
    quantifiers=r"n<600",
    observed=r"\text{normalised MSE}",
    contrasts=(Contrast(left="exact", relation="<", right="path"),),
    reading="'Exact' is ODCL-CC with the penalty of D.1. " + _PENALTY,
)
FIG_4_LEFT_ABOVE = _share(
    "odcl.fig4-left-above",
    "Fig. 4, left: from 600 samples on clusterpath matches the exact method",
    "Fig. 4, left; Appendix D.2",
    r"P(\text{both errors within a twentieth})",
    reading=TEN_SHOW_IT + _PENALTY,
    **_ALL_OF_TEN,
)

# --- Figure 3 -----------------------------------------------------------------------------------

FIG_3_THRESHOLD = statement(
    "odcl.fig3-threshold",
    "Fig. 3: the samples at which ODCL-CC finds the four clusters",
    "Fig. 3, right; Appendix D.1",
    kind="threshold",
    quantifiers=r"K=4,m=100",
    observed=r"n_{1/2}",
    relation="=",
    terms={"printed": sp.Integer(3000)},
    reading=(
        "The design is the nearest one that can be drawn: the absolute value of $\\Sigma_3$, and "
        "independent samples. 'Four clusters on average, with some variations' is read as half of "
        "the runs. " + _PENALTY
    ),
)
FIG_3_MATCH = _share(
    "odcl.fig3-match",
    "Fig. 3: from 4600 samples on ODCL-CC finds the four clusters",
    "Fig. 3; Appendix D.1",
    r"P(K'=4)",
    reading=FIG_3_THRESHOLD.reading + " " + all_words(20, "Appendix D.1 averages {} runs."),
    relation=r"\ge",
    terms={all_name(20): all_of(20)},
)
FIG_3_SINGLETONS = statement(
    "odcl.fig3-singletons",
    "Fig. 3: below 500 samples every user is a cluster of its own",
    "Fig. 3; Appendix D.1",
    kind="expectation",
    quantifiers=r"n<500",
    observed=r"E K'",
    relation=r"\ge",
    terms={"roughly all users": ROUGHLY_ALL},
    reading=FIG_4_EXACT.reading,
)
FIG_3_COVARIANCE = statement(
    "odcl.fig3-covariance-as-printed",
    "The covariances of Appendix D.1 are covariances",
    "Appendix D.1, as printed",
    quantifiers=r"\forall k\in\{1,\ldots,4\}",
    observed=r"|\Sigma_{12}|",
    terms={"Cauchy-Schwarz": sp.sqrt(variance_1 * variance_2)},
)
FIG_3_POOL = statement(
    "odcl.fig3-pool-as-printed",
    "Every user of a cluster gets its own samples of the 100,000",
    "Appendix D.1, as printed",
    quantifiers=r"n\le5000",
    observed=r"25n",
    terms={"pool": pool},
    reading="Each cluster has 25 users and 100,000 points; the figure goes to $n=5000$.",
)
DRAWN = 25 * n
FIG_3_OPTIMUM_AS_PRINTED = statement(
    "odcl.fig3-optimum-as-printed",
    "The models of D.1 minimise the regularised population loss",
    "Appendix D.1, as printed",
    quantifiers=r"\forall k,\ C=10^{-5}",
    observed=r"s_k:\ \arg\min_sF_k(s\theta_k^\star)",
    relation="=",
    terms={"the optimum itself": sp.Integer(1)},
    reading="The minimiser on the ray through $\\theta_k^\\star$ is $s_k\\theta_k^\\star$.",
)
FIG_3_OPTIMUM = statement(
    "odcl.fig3-optimum",
    "The penalty shrinks the optima of D.1",
    "Appendix D.1, corrected",
    quantifiers=r"\forall k,C>0",
    observed=r"1-s_k",
    terms={"shrinkage": ridge * length**2 / curvature},
    reading=(
        "The derivative of the logistic part vanishes at $s=1$, and its second derivative is "
        "smallest there, $E\\langle x,\\theta_k^\\star\\rangle^2\\sigma'(\\langle x,"
        "\\theta_k^\\star\\rangle)$, among the $s\\in[0,1]$."
    ),
)
