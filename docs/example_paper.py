"""A paper of one's own in one file: Hoeffding's inequality for uniform variables.

cfl-verify run --claims docs/example_paper.py 'hoeffding.*'
"""

import sympy as sp

from verify import api

n, t = sp.symbols("n t")
HOEFFDING = api.Publication(
    label="Hoeffding, J. Amer. Statist. Assoc. 1963",
    bibtex="@article{hoeffding1963, author = {Hoeffding, Wassily}, year = {1963}}",
    notation=api.Notation(table=(("$n$", "variables"), ("$t$", "deviation of their mean"))),
)
# The mean of n uniform variables, drawn and averaged below, seldom exceeds its expectation by t.
TAIL = api.Statement(
    id="hoeffding.tail",
    title="Hoeffding's inequality for uniform variables",
    publication=HOEFFDING,
    source="Theorem 1, (2.3)",
    kind="probability",
    quantifiers=r"\forall n,t",
    observed=r"P(\bar U-\frac12\ge t)",
    terms=(api.Term(name="tail", expr=sp.exp(-2 * n * t**2)),),
    assumptions=(api.Assumption(name="a deviation", left=t, right=sp.Integer(0), strict=True),),
)
SIZES = {
    "n": api.Integer(1, 10**6, meaning="variables"),
    "t": api.Real(0.0, 1.0, meaning="deviation"),
}
MEAN = api.Experiment(
    name="hoeffding.mean",
    design=api.user_design("hoeffding.mean"),
    columns=("mean",),
    parameters=api.Parameters(SIZES),
    simulate=lambda p, rng, trials: rng.random((trials, p["n"])).mean(axis=1, keepdims=True),
)
api.register(MEAN)


@api.claim("hoeffding.tail", TAIL)
def tail(statement, profile):
    """How often does the mean exceed 1/2 + t?  The limit is the statement's own right-hand side."""
    return api.Probability(
        name=statement.id,
        sampling=api.Sampling(experiment=MEAN, max_trials=profile.max_trials),
        cells=tuple({"n": n, "t": t} for n in (1, 10, 100, 1000) for t in (0.01, 0.1)),
        bad=lambda table, cell: table["mean"] - 0.5 >= cell["t"],
        delta=lambda cell: float(statement.bound(cell)),
        event="the mean exceeding $1/2$ by $t$ or more",
        validate=statement.require,
    )


PAPER = api.Paper(id="hoeffding", title=TAIL.title, publications=(HOEFFDING,), claims=(tail,))
