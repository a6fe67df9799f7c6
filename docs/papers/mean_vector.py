"""Constants: the mean of n normal vectors lies within C sigma sqrt(d/n), for some C.

cfl-verify run --claims docs/papers/mean_vector.py 'mean.*'
"""

import numpy as np
import sympy as sp

from verify import api

n, d, sigma, C = sp.symbols("n d sigma C")
LETTERS = (("$n$", "vectors"), ("$d$", "dimension"), (r"$\sigma$", "standard deviation"))
FOLKLORE = api.Publication(label="Folklore", bibtex="@misc{mean, title = {Means}}",
                           notation=api.Notation(table=LETTERS))  # fmt: skip
NORM = api.Statement(
    id="mean.norm",
    title="The mean of n normal vectors is at most of order sigma sqrt(d/n)",
    publication=FOLKLORE,
    source="Lemma 1",
    kind="upper bound",
    quantifiers=r"\exists C\ \forall n,d,\sigma",
    observed=r"\|\bar X\|",
    terms=(api.Term(name="rate", expr=C * sigma * sp.sqrt(d / n)),),
    failure=sp.Rational(1, 10),
    constants=(api.Constant(symbol=C, low=0.0, high=100.0, generous="high", meaning="factor"),),
)
SIZES = {"n": api.Integer(1, 10**4), "d": api.Integer(1, 10**3), "sigma": api.Real(0.0, 1e3)}


def draw(p, rng, trials):
    """The norm of the mean of n vectors, (trials, 1)."""
    means = rng.normal(scale=p["sigma"], size=(trials, p["n"], p["d"])).mean(axis=1)
    return np.linalg.norm(means, axis=1, keepdims=True)


DRAW = api.Experiment(name="mean.norm", design=api.user_design("mean.norm"), columns=("norm",),
                      parameters=api.Parameters(SIZES), simulate=draw, block_size=64)  # fmt: skip
api.register(DRAW)


@api.claim("mean.norm", NORM)
def norm(statement, profile):
    """C is fitted on small n and d, and must do for n and d that are 4 to 64 times larger."""
    small = [(2, 1, 1.0), (4, 1, 1.0), (4, 2, 1.0), (2, 2, 10.0)]
    large = [(n, 2, 1.0) for n in (16, 32, 64, 128, 256)] + [(64, 64, 1.0), (64, 64, 100.0)]
    large += [(4, d, 1.0) for d in (8, 16, 32, 64, 128)]
    fitted, held_out = (
        tuple({"n": n, "d": d, "sigma": s} for n, d, s in cells) for cells in (small, large)
    )
    return api.Constants(
        statement=statement,
        sampling=api.Sampling(experiment=DRAW, max_trials=min(profile.max_trials, 512)),
        calibration=fitted, held_out=held_out,
        values=dict, regressors=lambda cell: {"n": cell["n"], "d": cell["d"]},
        statistic=lambda table, _cell: table["norm"], covariates=lambda _table, _cell: {},
        drift={"n": "up", "d": "up"}, tighten=("C",),
    )  # fmt: skip


PAPER = api.Paper(id="mean", title="Means", publications=(FOLKLORE,), claims=(norm,))
