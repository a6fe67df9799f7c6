"""A Rate: the squared error of the average of m clients falls like 1/(mn) and grows like d.

cfl-verify run --claims docs/papers/averaging.py 'averaging.*'
"""

import sympy as sp

from verify import api

m, n, d, sigma = sp.symbols("m n d sigma")
LETTERS = (("$m$", "clients"), ("$n$", "samples a client"), ("$d$", "dimension"),
           (r"$\sigma$", "standard deviation of a sample"))  # fmt: skip
FOLKLORE = api.Publication(label="Folklore", bibtex="@misc{averaging, title = {Averages}}",
                           notation=api.Notation(table=LETTERS))  # fmt: skip
RATE = api.Statement(
    id="averaging.rate",
    title="The average of all clients has squared error of order sigma^2 d/(mn)",
    publication=FOLKLORE,
    source="Proposition 1",
    kind="rate",
    quantifiers=r"\forall m,n,d,\sigma",
    observed=r"E\|\bar\theta-\theta^*\|^2",
    terms=(api.Term(name="error", expr=sigma**2 * d / (m * n)),),
)
SIZES = {"m": api.Integer(1, 10**6), "n": api.Integer(1, 10**6), "d": api.Integer(1, 10**3),
         "sigma": api.Real(0.0, 1e3)}  # fmt: skip


def simulate(p, rng, trials):
    """The average of m means of n samples is normal with variance sigma^2/(mn), (trials, 1)."""
    scale = p["sigma"] / (p["m"] * p["n"]) ** 0.5
    return (rng.normal(scale=scale, size=(trials, p["d"])) ** 2).sum(axis=1, keepdims=True)


AVERAGE = api.Experiment(name="averaging.error", design=api.user_design("averaging.error"),
                         columns=("error",), parameters=api.Parameters(SIZES),
                         simulate=simulate)  # fmt: skip
api.register(AVERAGE)


@api.claim("averaging.rate", RATE)
def rate(statement, profile):
    """The exponents are the statement's.  Each parameter has three levels or more."""
    base = {"m": 64, "n": 64, "d": 16, "sigma": 1.0}
    levels = {"m": (4, 16, 256, 1024), "n": (4, 16, 256), "d": (4, 64), "sigma": (0.1, 10.0)}
    cells = (base, *({**base, name: v} for name, values in levels.items() for v in values))
    powers = {s.name: statement.power("error", s) for s in (m, n, d, sigma)}
    stated = {
        name: api.StatedRate(exponent=power, side="equals", symbol=f"${sp.latex(sp.Symbol(name))}$")
        for name, power in powers.items()
    }
    return api.Rate(
        name=statement.id, sampling=api.Sampling(experiment=AVERAGE, max_trials=profile.max_trials),
        cells=cells, statistic=lambda table: table["error"], regressors=dict, stated=stated,
        observable="the squared error of the average",
        bound=lambda cell: float(statement.bound(cell)),
    )  # fmt: skip


PAPER = api.Paper(id="averaging", title="Averages", publications=(FOLKLORE,), claims=(rate,))
