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
from bounds.ifca.assumptions import STEP_CONSTANT, balanced, regime, statement
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
from bounds.statement import Assumption, Statement, Term

QUARTER = (
    Assumption(name="initialisation within Delta/4", left=alpha, right=sp.Rational(1, 4)),
    Assumption(name="closeness below 1/2", left=HALF, right=alpha, strict=True),
)
ASSUMPTION_2 = regime(SIGNAL_FREE)


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
    return statement(f"neurips-{id_}", title, source, publication=CONFERENCE, **values)


THEOREM_1_AS_PRINTED = _conference(
    journal_step.THEOREM_1_AS_PRINTED,
    "thm1-as-printed",
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
    "thm1",
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
    "cor1-as-printed",
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
    "cor1",
    "Corollary 1 (conference): the whole run from Delta/4, clusters within a factor two",
    "Corollary 1, corrected",
    quantifiers=r"\exists c_1,c_4,c_5,c_6>0\;\forall m,n',d,k,p_j,\Delta,\sigma\ " + _AFTER,
    terms=_ACCURACY,
    constants=_CONSTANTS,
    failure=T / m,
    definitions={T: ROUNDS},
    assumptions=(*QUARTER, balanced(2), *ASSUMPTION_2),
    uses=("ifca.neurips-thm1",),
)
