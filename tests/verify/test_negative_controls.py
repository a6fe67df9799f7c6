"""Planted falsehoods on the real kernels are refuted, and their true siblings are not.

Every control is a claim of the catalogue with one thing changed, run through the very procedure
that the catalogue uses, on small budgets.  A procedure whose power is at most 10^(-6/n) refutes in
all of n seeds with probability at most 1e-6: 6 seeds show a power above 0.1, 20 one above 0.5, 60
one above 0.79 (the larger numbers run as `slow`).  Where the power is not near one, 19 of 24 seeds
show one above 0.3 in the same way.  False refutations of the siblings are compared with the level
by an exact binomial test at 1e-6.
"""

from dataclasses import replace

import pytest
import sympy as sp
from scipy.stats import binomtest

from bounds.ifca import symbols
from bounds.ifca.one_step import THEOREM_1
from bounds.ifca.symbols import FLOOR
from bounds.statement import Term
from tests.verify.toys import verdicts
from trials.experiments.gaussian import LEAST_SQUARES
from verify.claims.ifca.identity import pairwise_probability
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Sampling
from verify.procedures.probability import Probability

LEVEL = 0.05
QUICK = PROFILES["quick"]


def procedure(claim):
    return catalogue()[claim].build(QUICK)


def with_term(statement, name, expr):
    """The statement with one summand replaced."""
    terms = tuple(Term(name=name, expr=expr) if t.name == name else t for t in statement.terms)
    assert [t.name for t in terms] == [t.name for t in statement.terms]
    return replace(statement, terms=terms)


def one_step_constants(statement):
    """Theorem 1's three-part procedure where the floor rules: its cells at the optimum."""
    full = procedure("ifca.thm1")
    return replace(
        full,
        statement=statement,
        sampling=replace(full.sampling, max_trials=512, first=256),
        held_out=full.held_out,
        elsewhere=(),
    )


def floor_constant(statement):
    """The same with the floor alone on the right, so that one constant is fitted (faster)."""
    alone = replace(
        statement,
        terms=tuple(t for t in statement.terms if t.name == "floor"),
        constants=tuple(c for c in statement.constants if c.name in ("c_1", "c_2")),
    )
    return replace(one_step_constants(alone), tighten=("c_2",))


def step_sizes(factor):
    """Whether one step size works for two clusters, one twice as large, at the factor 1/2 or 1/4.

    |1 - 2c| and |1 - 4c| must be at most f.  For f = 1/2 this allows c from 1/4 to 3/8.  For f =
    1/4 no c is allowed, because it would have to be at least 3/8 and at most 5/16.
    """
    full = procedure("ifca.thm1-as-printed")
    cells = [{**c, "factor": factor} for c in full.cells if c.get("ratio") == 2.0]
    assert len(cells) == 1
    return replace(full, cells=tuple(cells), sampling=replace(full.sampling, max_trials=512))


def contraction(stated):
    """The factor per step of two cells, 1/3 by design, against a stated one."""
    full = procedure("ifca.thm1-contraction")
    sampling = replace(full.sampling, max_trials=256)
    return replace(full, cells=full.cells[:2], sampling=sampling, stated=stated)


def preference(share):
    """A client's wrong preference on drawn data, against a share of its exact probability."""
    full = procedure("ifca.lemma1-law")
    cells = [c for c in full.cells if pairwise_probability(c) > 0.1 and c["d"] == 2][:3]
    return replace(
        full,
        cells=tuple(cells),
        sampling=replace(full.sampling, max_trials=2048, first=256),
        exact=None,
        delta=lambda params: share * pairwise_probability(params),
    )


def least_squares(share):
    """The 90 percent quantile of least squares on drawn data is passed one time in ten."""
    return Probability(
        name="control.least-squares",
        sampling=Sampling(experiment=LEAST_SQUARES, max_trials=1024, first=256),
        cells=({"N": 12, "d": 3, "sigma": 1.0},),
        bad=lambda table, _params: table["law"] > 0.9,
        delta=lambda _params: 0.1 * share,
        event="the squared error passing its 90 percent quantile",
    )


FLOOR_WITHOUT_D = with_term(
    THEOREM_1,
    "floor",
    symbols.c_2 * symbols.sigma / symbols.p * sp.sqrt(1 / (symbols.m * symbols.n)),
)
FLOOR_IN_M = with_term(THEOREM_1, "floor", symbols.c_2 * FLOOR * symbols.m ** sp.Rational(-1, 4))

#: name -> (a build, whether it is planted, seeds in CI, seeds of the slow run)
CONTROLS = {
    "contraction 1/4, every step size": (lambda: step_sizes(0.25), True, 6, 60),
    "contraction 1/2, every step size": (lambda: step_sizes(0.5), False, 6, 60),
    "contraction 1/4, factor per step": (lambda: contraction(0.25), True, 6, 60),
    "contraction 1/2, factor per step": (lambda: contraction(0.5), False, 6, 60),
    "floor without sqrt(d)": (lambda: floor_constant(FLOOR_WITHOUT_D), True, 2, 20),
    "floor in m to the power -3/4": (lambda: floor_constant(FLOOR_IN_M), True, 2, 20),
    "floor as stated": (lambda: floor_constant(THEOREM_1), False, 2, 20),
    "(1) without sqrt(d)": (lambda: one_step_constants(FLOOR_WITHOUT_D), True, 0, 24),
    "(1) in m to the power -3/4": (lambda: one_step_constants(FLOOR_IN_M), True, 0, 24),
    "(1) as stated": (lambda: one_step_constants(THEOREM_1), False, 0, 24),
    "delta over 4, wrong preference": (lambda: preference(0.25), True, 6, 60),
    "delta exact, wrong preference": (lambda: preference(1.0), False, 12, 300),
    "delta over 4, least squares": (lambda: least_squares(0.25), True, 6, 60),
    "delta exact, least squares": (lambda: least_squares(1.0), False, 12, 300),
}
#: Seeds of the slow run that may stay open, where three parts share the level.
MISSED = {"(1) without sqrt(d)": 5, "(1) in m to the power -3/4": 5}
CASES = [
    pytest.param(name, n_seeds, id=f"{name} ({n_seeds} seeds)", marks=marks)
    for name, (_, _, quick, slow) in CONTROLS.items()
    for n_seeds, marks in ((quick, ()), (slow, pytest.mark.slow))
    if n_seeds
]


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "n_seeds"), CASES)
def test_planted_falsehoods_are_refuted_and_true_siblings_are_not(name, n_seeds, tmp_path):
    build, planted, *_ = CONTROLS[name]
    found = verdicts(build, tmp_path, range(n_seeds), LEVEL)
    refuted = found.count("REFUTED")
    print(f"{name}: {refuted} of {n_seeds} refuted")
    if planted:
        assert refuted >= n_seeds - MISSED.get(name, 0), found
    else:
        assert binomtest(refuted, n_seeds, LEVEL, alternative="greater").pvalue > 1e-6, found


def test_the_planted_statements_differ_in_the_one_exponent():
    assert FLOOR_WITHOUT_D.exponent("floor", symbols.d) == 0
    assert FLOOR_WITHOUT_D.exponent("floor", symbols.m) == sp.Rational(-1, 2)
    assert FLOOR_IN_M.exponent("floor", symbols.m) == sp.Rational(-3, 4)
    assert FLOOR_IN_M.exponent("floor", symbols.d) == sp.Rational(1, 2)
    for planted in (FLOOR_WITHOUT_D, FLOOR_IN_M):
        assert planted.exponent("contraction", symbols.err) == 1
