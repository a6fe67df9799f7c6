"""What the claims of several papers share: the observed quantile at a stated probability."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Constant, Term
from tests.verify.procedures.test_stored_trials import stated
from tests.verify.toys import METHODS
from trials.run.store import Table
from verify.claims.common import CannotTry, explicit, refuse_untried, stated_quantile
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Observed, Sampling


@pytest.mark.parametrize("failure", [0.0, 0.004, 0.05, 0.25, 0.5, 0.999, 1.0, 3.0])
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_at_most_the_stated_share_exceeds_the_quantile_and_more_exceed_any_lower_value(
    size, failure
):
    values = np.random.default_rng(size).standard_normal(size)
    quantile = stated_quantile(values, failure)
    assert quantile in values
    assert np.mean(values > quantile) <= failure
    lower = values[values < quantile]
    if lower.size:
        assert np.mean(values > lower.max()) > failure


def test_a_trial_without_a_value_is_the_largest():
    values = np.array([np.nan, 1.0, 2.0, 3.0])
    assert stated_quantile(values, 0.0) == np.inf
    assert stated_quantile(values, 0.25) == 3.0


def test_the_slack_of_a_supported_theorem_is_at_least_one():
    """The theorem allows a quarter of the runs to miss: their largest error says nothing of it."""
    bound, errors = 0.1, np.array([0.02] * 60 + [4.0] * 4)
    assert np.mean(errors > bound) <= 0.25
    assert bound / stated_quantile(errors, 0.25) == pytest.approx(5.0)


def test_the_slack_is_a_quantile_of_each_trials_own_ratio():
    """The bound is twice a column: where that column is large, the observed one is as well."""
    claim = explicit(
        stated(
            "probability", terms=(Term(name="b", expr=2 * sp.Symbol("w")),), failure=sp.Float(0.25)
        ),
        {},
        Sampling(experiment=METHODS, max_trials=128),
        [{"tag": 1}],
        lambda _cell: {},
        lambda table: table["a"],
        "a miss",
        covariates=lambda table, _cell: {"w": table["b"]},
    )
    sizes = np.array([1.0, 10.0, 100.0, 1000.0])
    values = np.column_stack([[0.5, 4.0, 160.0, 7.0], sizes, sizes])
    # one of four trials may exceed the bound, and a failed one does
    for failed, ratio in (((), 0.5 / 2.0), ((3,), 160.0 / 200.0)):
        lost = np.isin(np.arange(4), failed)
        reasons = tuple((row, "raised: by hand") for row in failed)
        table = Table(columns=METHODS.columns, values=values, failed=lost, reasons=reasons)
        (slack,) = claim.present([Observed(params={"tag": 1}, table=table)]).slack
        assert slack.median == pytest.approx(1.0 / ratio)


RATES = sorted(name for name, claim in catalogue().items() if claim.statement.kind == "rate")


@pytest.mark.parametrize("name", RATES)
def test_a_rate_is_refused_with_a_symbol_of_which_no_exponent_is_tried(name):
    """Its exponents would be those of the statement with any power of the symbol."""
    claim = catalogue()[name]
    unheard = sp.Symbol("unheard", positive=True)
    terms = tuple(replace(t, expr=t.expr * unheard) for t in claim.statement.terms)
    changed = replace(claim, statement=replace(claim.statement, terms=terms))
    with pytest.raises(CannotTry, match="no exponent of unheard is tried"):
        changed.build(PROFILES[claim.smallest_profile])


def test_a_symbol_that_cancels_and_a_constant_need_no_exponent():
    x, y, c = sp.symbols("x y c", positive=True)
    constant = Constant(symbol=c, low=0.0, high=1.0, generous="high", meaning="a factor")
    claim = stated("deterministic", terms=(Term(name="t", expr=c * x * sp.sqrt(y) / sp.sqrt(y)),))
    known = replace(claim, constants=(constant,))
    refuse_untried(known, ("x",))
    with pytest.raises(CannotTry, match="no exponent of y is tried"):
        refuse_untried(known, ("x",), c * x * y)
    with pytest.raises(CannotTry, match="no exponent of x is tried"):
        refuse_untried(known, ())
