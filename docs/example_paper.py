"""A paper of one's own in one file: Hoeffding's inequality for uniform variables.

python -m verify run --claims docs/example_paper.py 'hoeffding.*'
"""

import numpy as np
import sympy as sp

from bounds.render import Notation
from bounds.statement import Assumption, Publication, Statement, Term
from trials.parameters import Integer, Parameters, Real
from trials.run.experiment import Experiment, register, user_design
from verify.claim import claim
from verify.papers import Paper
from verify.procedures.base import Sampling
from verify.procedures.probability import Probability

n, t = sp.symbols("n t")

HOEFFDING = Publication(
    label="Hoeffding, J. Amer. Statist. Assoc. 1963",
    bibtex="@article{hoeffding1963, author = {Hoeffding, Wassily}, year = {1963}}",
    notation=Notation(table=(("$n$", "variables"), ("$t$", "deviation of their mean"))),
)

# Problem and guarantee: the mean of n uniform variables seldom exceeds its expectation by t.
TAIL = Statement(
    id="hoeffding.tail",
    title="Hoeffding's inequality for uniform variables",
    publication=HOEFFDING,
    source="Theorem 1, (2.3)",
    kind="probability",
    quantifiers=r"\forall n,t",
    observed=r"P(\bar U-\frac12\ge t)",
    terms=(Term(name="tail", expr=sp.exp(-2 * n * t**2)),),
    assumptions=(Assumption(name="a deviation", left=t, right=sp.Integer(0), strict=True),),
)

# Algorithm: n variables are drawn and averaged.
MEAN = register(
    Experiment(
        name="hoeffding.mean",
        design=user_design("hoeffding.mean"),
        columns=("mean",),
        parameters=Parameters(
            {
                "n": Integer(1, 10**6, default=10, meaning="variables"),
                "t": Real(0.0, 1.0, default=0.1, meaning="deviation of their mean"),
            }
        ),
        simulate=lambda p, rng, trials: rng.random((trials, p["n"])).mean(axis=1, keepdims=True),
    )
)


# Computation: how often the mean exceeds 1/2 + t, against the statement's own right-hand side.
@claim(TAIL)
def tail(statement, profile):
    """Deviations of one tenth and less of n = 1 to 1000 variables."""
    cells = [{"n": n, "t": t} for n in (1, 10, 100, 1000) for t in (0.01, 0.1)]
    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=MEAN, max_trials=profile.max_trials),
        cells=tuple(cells),
        bad=lambda table, cell: np.asarray(table["mean"] - 0.5 >= cell["t"]),
        delta=lambda cell: float(statement.bound(cell)),
        event="the mean exceeding $1/2$ by $t$ or more",
        validate=statement.require,
    )


PAPER = Paper(
    id="hoeffding",
    title="Probability Inequalities for Sums of Bounded Random Variables",
    publications=(HOEFFDING,),
    claims=(tail,),
    data="$n$ independent variables, uniform on $[0,1]$.",
)
