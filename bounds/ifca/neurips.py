r"""IFCA, conference version (NeurIPS 2020, Section 5.1).

It differs from the journal version in two points.  Its initialisation is
:math:`\|\theta_j-\theta_j^*\|\le\Delta/4`, so its exponents do not contain the closeness.  Its
number of steps is :math:`T=\log(\Delta/4\varepsilon)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp

from bounds.ifca import one_step as journal_step
from bounds.ifca import whole_run as journal_run
from bounds.ifca.assumptions import STEP_CONSTANT, balanced, more_samples, regime, statement
from bounds.ifca.one_step import MEAN_STEP, NO_STRANGERS, three_terms
from bounds.ifca.symbols import (
    CONFERENCE,
    FLOOR,
    HALF,
    SIGNAL_FREE,
    Delta,
    T,
    alpha,
    c_4,
    c_5,
    c_6,
    m,
    varepsilon,
)
from bounds.ifca.whole_run import HALVINGS
from bounds.statement import Assumption, Statement, Term

QUARTER = (
    Assumption(name="initialisation within Delta/4", left=alpha, right=sp.Rational(1, 4)),
    Assumption(name="closeness below 1/2", left=HALF, right=alpha, strict=True),
)
#: The start within Delta/4 is the closeness 1/4.  Its square stands in the condition on n', so that
#: C_n is the constant of the journal version.
ASSUMPTION_2 = tuple(
    replace(a, right=16 * a.right, note="the 16 makes $C_n$ the constant of the journal version")
    if a.name == "samples per client"
    else a
    for a in regime(SIGNAL_FREE)
)


def _conference(base: Statement, id_: str, title: str, source: str, **fields: Any) -> Statement:
    """A journal statement under the conference version's initialisation."""
    values: dict[str, Any] = {
        "kind": base.kind,
        "quantifiers": base.quantifiers.replace(r",\alpha\ ", r"\ ").replace(r",\alpha_0\ ", r"\ "),
        "observed": base.observed,
        "terms": base.terms,
        "failure": base.failure,
        "constants": base.constants,
        "reading": base.reading,
    }
    values |= fields
    return statement(id_, title, source, publication=CONFERENCE, **values)


THEOREM_1_AS_PRINTED = _conference(
    journal_step.THEOREM_1_AS_PRINTED,
    "ifca.neurips-thm1-as-printed",
    "Theorem 1 (conference): one step from Delta/4, clusters of any sizes",
    "Theorem 1",
    terms=three_terms(HALF, SIGNAL_FREE),
    assumptions=(*QUARTER, *ASSUMPTION_2),
    uses=(
        "ifca.eq5-as-printed",
        "ifca.eq8",
        "ifca.eq12",
    ),
)

THEOREM_1 = _conference(
    journal_step.THEOREM_1,
    "ifca.neurips-thm1",
    "Theorem 1 (conference): one step from Delta/4, clusters within a factor two",
    "Theorem 1, corrected",
    terms=three_terms(HALF, SIGNAL_FREE),
    assumptions=(*QUARTER, balanced(2), *ASSUMPTION_2),
    reading=f"{MEAN_STEP} {NO_STRANGERS}",
    uses=(
        "ifca.eq2",
        "ifca.eq3",
        "ifca.eq4",
        "ifca.lemma2-noise",
        "ifca.eq8",
        "ifca.eq12",
    ),
)

ROUNDS = sp.log(Delta / (4 * varepsilon))
_AFTER = r"\text{after}\ T=\log\frac{\Delta}{4\varepsilon}\ \text{steps}"

#: The conference version names its constants c5, c6 and takes c4 over from Theorem 1.
_ACCURACY = (
    Term(name="floor", expr=c_5 * FLOOR),
    Term(name="misidentification", expr=c_6 * sp.exp(-c_4 * SIGNAL_FREE)),
)
_CONSTANTS = (
    STEP_CONSTANT,
    *(
        replace(constant, symbol=symbol)
        for constant, symbol in zip(
            journal_run.COROLLARY_CONSTANTS[1:], (c_5, c_6, c_4), strict=True
        )
    ),
)

COROLLARY_1_AS_PRINTED = _conference(
    journal_run.COROLLARY_1_AS_PRINTED,
    "ifca.neurips-cor1-as-printed",
    "Corollary 1 (conference): the whole run from Delta/4, clusters of any sizes",
    "Corollary 1",
    quantifiers=r"\exists c_1,c_4,c_5,c_6>0\;\forall m,n',d,k,p_j,\Delta,\sigma\ " + _AFTER,
    terms=_ACCURACY,
    constants=_CONSTANTS,
    failure=T / m,
    definitions={T: ROUNDS},
    assumptions=(*QUARTER, *ASSUMPTION_2),
    uses=(
        "ifca.neurips-thm1-as-printed",
        "ifca.cor1-rounds-as-printed",
    ),
)

COROLLARY_1 = _conference(
    journal_run.COROLLARY_1,
    "ifca.neurips-cor1",
    "Corollary 1 (conference): the whole run from Delta/4, clusters within a factor two",
    "Corollary 1, corrected",
    quantifiers=r"\exists c_1,c_4,c_5,c_6>0\;\forall m,n',d,k,p_j,\Delta,\sigma\ "
    r"\text{after}\ T=1+\log_2\frac{\Delta}{4\varepsilon}\ \text{steps}",
    terms=_ACCURACY,
    constants=_CONSTANTS,
    failure=T / m,
    definitions={T: 1 + HALVINGS},
    assumptions=(*QUARTER, balanced(2), *ASSUMPTION_2),
    reading=(
        "$1+\\log_2(\\Delta/4\\varepsilon)$ halvings bring $\\Delta/4$ down to $\\varepsilon/2$. "
        "The noise of all steps is at most twice that of one. The printed number of steps is too "
        "small at $C_N=64$. It is enough with a larger hidden constant in $pmn'\\gtrsim d$ "
        "(ifca.neurips-cor1-more-samples)."
    ),
    uses=("ifca.neurips-thm1",),
)

MORE_SAMPLES = more_samples(
    10_000,
    "the paper's condition with a larger hidden constant: the printed number of steps leaves no "
    "room for a larger fluctuation of a step",
)

COROLLARY_1_MORE_SAMPLES = _conference(
    journal_run.COROLLARY_1,
    "ifca.neurips-cor1-more-samples",
    "Corollary 1 (conference): the printed number of steps, many samples per cluster",
    "Corollary 1, with balanced clusters",
    quantifiers=COROLLARY_1_AS_PRINTED.quantifiers,
    terms=_ACCURACY,
    constants=_CONSTANTS,
    failure=T / m,
    definitions={T: ROUNDS},
    assumptions=(*QUARTER, balanced(2), *ASSUMPTION_2, MORE_SAMPLES),
    reading=(
        "The hidden constant of $pmn'\\gtrsim d$ may be as large as the theorem needs. The printed "
        "$T$ suffices when every step has a factor below $1/e$. With $c_1=1/3$ and "
        "$p_{\\max}\\le2p$ the factor is $1/3$ plus at most $4/(3\\sqrt C)$, where $pmn'\\ge Cd$ "
        "and $d\\ge2\\log m$. With $C=10^4$ this is $0.347$. The noise of one step, with $c_5=30$, "
        "takes the rest."
    ),
    uses=("ifca.neurips-thm1",),
)
