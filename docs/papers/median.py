"""A procedure of one's own: the sign test, for a statement about a median.
cfl-verify run --claims docs/papers/median.py 'median.*'
"""

from dataclasses import dataclass

import sympy as sp
from scipy.stats import binomtest

from verify import api

FOLKLORE = api.Publication(label="Folklore", bibtex="@misc{median, title = {Medians}}")
MEDIAN = api.Statement(
    id="median.exponential", title="The median of a mean of exponentials is at most their mean",
    publication=FOLKLORE, source="Remark 1", kind="median", quantifiers=r"\forall n",
    observed=r"\mathrm{med}\,\bar X", terms=(api.Term(name="mean", expr=sp.S.One),))  # fmt: skip
GAMMA = api.Experiment(
    name="median.gamma", design=api.user_design("median.gamma"), columns=("mean",),
    parameters=api.Parameters({"n": api.Integer(1, 10**6, meaning="summands")}),
    simulate=lambda p, rng, trials: rng.gamma(p["n"], 1 / p["n"], size=(trials, 1)))  # fmt: skip
api.register(GAMMA)


@dataclass(frozen=True, kw_only=True)
class SignTest(api.CellByCell):
    """The median is at most the stated one in every cell, by exact binomial limits."""

    statement: api.Statement
    sampling: api.Sampling
    cells: tuple[dict, ...]
    name: str = MEDIAN.id

    def describe(self):
        return f"A sign test in {len(self.cells)} cells, {self.sampling.max_trials} trials each."

    def fingerprint(self):
        return [self.statement.bound(cell) for cell in self.cells]

    def decide(self, store, level):
        rows, share = [], level / len(self.cells)
        for o in self.sampling.observed(store, self.cells):
            above = o.table.failed | (o.table["mean"] > self.statement.bound(o.params))
            low, high = binomtest(int(above.sum()), above.size).proportion_ci(1 - share)
            word = "REFUTED" if low > 0.5 else "SUPPORTED" if high < 0.5 else "INCONCLUSIVE"
            rows.append(api.CellResult(params=o.params, n_trials=above.size, verdict=word,
                                       observed=float(above.mean()), bound=0.5))  # fmt: skip
        words = [row.verdict for row in rows]
        worst = next(w for w in ("REFUTED", "INCONCLUSIVE", "SUPPORTED") if w in words)
        return api.Evidence(verdict=api.Verdict(worst), summary="see the cells", level=level,
                            cells=rows, n_trials=sum(row.n_trials for row in rows))  # fmt: skip


@api.claim("median.exponential", MEDIAN)
def median(statement, profile):
    """The skew is largest for n = 1, where the median is log 2, and falls like 1/n."""
    sampling = api.Sampling(experiment=GAMMA, max_trials=profile.max_trials)
    return SignTest(statement=statement, sampling=sampling, cells=({"n": 1}, {"n": 4}, {"n": 16}))


PAPER = api.Paper(id="median", title="Medians", publications=(FOLKLORE,), claims=(median,))
