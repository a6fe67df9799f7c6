r"""IFCA on the linear model, conference version (NeurIPS 2020, Section 5.1).

Symbols as in `bounds.ifca.linear`. It differs from the journal in its initialisation,
:math:`\|\theta_j-\theta_j^*\|\le\Delta/4`, so its exponents carry no closeness, and in the number
of steps, :math:`T=\log(\Delta/4\varepsilon)`.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from bounds.ifca import linear as ifca
from bounds.ifca.linear import HALF, SIGNAL_FREE, T, alpha, balanced, m, one_step, regime
from bounds.statement import Assumption, Statement, Term

PAPER = "Ghosh, Chung, Yin & Ramchandran, NeurIPS 2020"

QUARTER = (
    Assumption(name="initialisation within Delta/4", left=alpha, right=sp.Rational(1, 4)),
    Assumption(name="closeness below 1/2", left=HALF, right=alpha, strict=True),
)
ASSUMPTION_2 = regime(SIGNAL_FREE)


def _conference(base: Statement, id_: str, title: str, source: str, **fields: object) -> Statement:
    """A journal statement under the conference version's initialisation."""
    values: dict[str, object] = {
        "kind": base.kind,
        "quantifiers": base.quantifiers.replace(r",\alpha\ ", r"\ ").replace(r",\alpha_0\ ", r"\ "),
        "observed": base.observed,
        "terms": base.terms,
        "failure": base.failure,
        "constants": base.constants,
        "reading": base.reading,
    }
    values |= fields
    return Statement(id=f"ifca.neurips-{id_}", title=title, paper=PAPER, source=source, **values)  # type: ignore[arg-type]


THEOREM_1_AS_PRINTED = _conference(
    ifca.THEOREM_1_AS_PRINTED,
    "thm1-as-printed",
    "Theorem 1 (conference): one step from Delta/4, clusters of any sizes",
    "Theorem 1",
    terms=one_step(HALF, SIGNAL_FREE),
    assumptions=(*QUARTER, *ASSUMPTION_2),
)

THEOREM_1 = _conference(
    ifca.THEOREM_1,
    "thm1",
    "Theorem 1 (conference): one step from Delta/4, clusters within a factor two",
    "Theorem 1, corrected",
    terms=one_step(HALF, SIGNAL_FREE),
    assumptions=(*QUARTER, balanced(2), *ASSUMPTION_2),
    reading=f"{ifca.MEAN_STEP} {ifca.NO_STRANGERS}",
)

ROUNDS = sp.log(ifca.Delta / (4 * ifca.varepsilon))
_AFTER = r"\text{after}\ T=\log\frac{\Delta}{4\varepsilon}\ \text{steps}"

#: The conference version names its constants c5, c6 and takes c4 over from Theorem 1.
_ACCURACY = (
    Term(name="floor", expr=ifca.c_5 * ifca.FLOOR),
    Term(name="misidentification", expr=ifca.c_6 * sp.exp(-ifca.c_4 * SIGNAL_FREE)),
)
_CONSTANTS = (
    ifca.STEP_CONSTANT,
    *(
        replace(constant, symbol=symbol)
        for constant, symbol in zip(
            ifca.COROLLARY_CONSTANTS[1:], (ifca.c_5, ifca.c_6, ifca.c_4), strict=True
        )
    ),
)

COROLLARY_1_AS_PRINTED = _conference(
    ifca.COROLLARY_1_AS_PRINTED,
    "cor1-as-printed",
    "Corollary 1 (conference): the whole run from Delta/4, clusters of any sizes",
    "Corollary 1",
    quantifiers=r"\exists c_1,c_4,c_5,c_6>0\;\forall m,n',d,k,p_j,\Delta,\sigma\ " + _AFTER,
    terms=_ACCURACY,
    constants=_CONSTANTS,
    failure=T / m,
    assumptions=(*QUARTER, *ASSUMPTION_2),
)

COROLLARY_1 = _conference(
    ifca.COROLLARY_1,
    "cor1",
    "Corollary 1 (conference): the whole run from Delta/4, clusters within a factor two",
    "Corollary 1, corrected",
    quantifiers=r"\exists c_1,c_4,c_5,c_6>0\;\forall m,n',d,k,p_j,\Delta,\sigma\ " + _AFTER,
    terms=_ACCURACY,
    constants=_CONSTANTS,
    failure=T / m,
    assumptions=(*QUARTER, balanced(2), *ASSUMPTION_2),
)

STATEMENTS: tuple[Statement, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Statement)
)
