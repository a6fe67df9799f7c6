"""A paper of one's own in one file: Hoeffding's inequality for uniform variables.

cfl-verify run --claims docs/example_paper.py 'hoeffding.*'
"""

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
# The mean of n uniform variables, drawn and averaged below, seldom exceeds its expectation by t.
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
SIZES = {"n": Integer(1, 10**6, meaning="variables"), "t": Real(0.0, 1.0, meaning="deviation")}
MEAN = Experiment(
    name="hoeffding.mean",
    design=user_design("hoeffding.mean"),
    columns=("mean",),
    parameters=Parameters(SIZES),
    simulate=lambda p, rng, trials: rng.random((trials, p["n"])).mean(axis=1, keepdims=True),
)
register(MEAN)


@claim("hoeffding.tail", TAIL)
def tail(statement, profile):
    """How often does the mean exceed 1/2 + t?  The limit is the statement's own right-hand side."""
    return Probability(
        name=statement.id,
        sampling=Sampling(experiment=MEAN, max_trials=profile.max_trials),
        cells=tuple({"n": n, "t": t} for n in (1, 10, 100, 1000) for t in (0.01, 0.1)),
        bad=lambda table, cell: table["mean"] - 0.5 >= cell["t"],
        delta=lambda cell: float(statement.bound(cell)),
        event="the mean exceeding $1/2$ by $t$ or more",
        validate=statement.require,
    )


PAPER = Paper(id="hoeffding", title=TAIL.title, publications=(HOEFFDING,), claims=(tail,))
