"""A paper whose trials are counted, not drawn: every number of a run is known in advance.

A block has sixteen trials.  The first ``k`` are bad and the last one fails.
"""

import numpy as np
import sympy as sp

from verify import api

BLOCK = 16
k = sp.Symbol("k")
NOBODY = api.Publication(label="Nobody 1900", bibtex="@misc{nobody, year = {1900}}")


def _trials(params, _rng, n_trials):
    bad = (np.arange(n_trials) < params["k"]).astype(float)
    bad[-1] = np.nan
    return bad[:, None]


COUNTED = api.Experiment(
    name="counted.trials",
    design=api.user_design("counted.trials"),
    columns=("bad",),
    parameters=api.Parameters({"k": api.Integer(1, BLOCK - 1, meaning="bad trials of a block")}),
    simulate=_trials,
    block_size=BLOCK,
)
api.register(COUNTED)


def _statement(name, bound, title):
    return api.Statement(
        id=f"counted.{name}",
        title=title,
        publication=NOBODY,
        source="Lemma 1",
        kind="probability",
        quantifiers=r"\forall k",
        observed="P(S)",
        terms=(api.Term(name="bound", expr=bound),),
    )


def _procedure(statement, ks):
    return api.Probability(
        name=statement.id,
        sampling=api.Sampling(experiment=COUNTED, max_trials=128, first=128),
        cells=tuple({"k": value} for value in ks),
        bad=lambda table, _cell: table["bad"] > 0,
        delta=lambda cell: float(statement.bound(cell)),
        event="a bad trial",
    )


@api.claim("counted.kept", _statement("kept", sp.Rational(2, 5) + k / 5, "A bound that is kept"))
def kept(statement, _profile):
    """Two and three of sixteen trials count as bad: one of each failed."""
    return _procedure(statement, (1, 2))


SMALL = api.Finding(
    id="counted-small",
    where="Lemma 1",
    printed="$k/80$",
    found="More than $k/16$ of the trials are bad.",
    corrected="$(k+1)/16$",
    severity="statement",
    headline="The bound is five times too small.",
)


@api.claim(
    "counted.broken",
    _statement("broken", k / 80, "A bound that is broken"),
    expected=api.Verdict.REFUTED,
    finding=SMALL,
)
def broken(statement, _profile):
    """Nine and two of sixteen."""
    return _procedure(statement, (8, 1))


@api.claim("counted.near", _statement("near", k / 16, "A bound that is nearly kept"))
def near(statement, _profile):
    """Nine of sixteen are too close to eight."""
    return _procedure(statement, (8,))


PAPER = api.Paper(
    id="counted", title="Counted trials", publications=(NOBODY,), claims=(kept, broken, near)
)
