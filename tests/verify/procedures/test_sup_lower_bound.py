"""Suprema: refuted or measured, and support cannot even be written down."""

from dataclasses import replace

import pytest
import sympy as sp

from bounds.statement import Constant, Statement, Term
from tests.stated import NOBODY
from tests.verify.toys import VALUE, tried
from trials.checks import InvalidParameter
from trials.run.engine import replay
from verify.decisions.suprema import SupDecision, decide_supremum
from verify.evidence import Verdict
from verify.procedures.base import Sampling
from verify.procedures.sup_lower_bound import SupLB

scale, c = sp.symbols("scale c")


def claim(factor, delta=0.1, *, relation=r"\le", scales=(1.0,), high=None, **cell):
    constants = ()
    expr = scale if factor is None else factor * scale
    if high is not None:
        expr = c * scale
        constants = (Constant(symbol=c, low=0.1, high=high, generous="high", meaning="factor"),)
    return SupLB(
        statement=Statement(
            id="toy.supremum",
            title="A toy",
            publication=NOBODY,
            source="(32)",
            kind="supremum",
            quantifiers="",
            observed=r"\sup_\theta f",
            relation=relation,
            terms=(Term(name="limit", expr=expr),),
            failure=None if delta is None else sp.Float(delta),
            constants=constants,
        ),
        sampling=Sampling(experiment=VALUE, max_trials=2048, first=128),
        cells=tuple({"scale": s, "tag": i, **cell} for i, s in enumerate(scales)),
        best=lambda table, _cell: table["value"],
        optimiser="one uniform value",
    )


def verdict(tmp_path, build, seed=0):
    return tried(build, tmp_path, seed=seed)[0].verdict


def test_a_limit_that_is_exceeded_too_often_is_refuted_and_no_other_is_supported(tmp_path):
    half, most, never = (sp.Rational(x, 10) for x in (5, 9, 20))
    assert verdict(tmp_path, claim(half)) is Verdict.REFUTED
    assert verdict(tmp_path, claim(most), 1) is Verdict.INCONCLUSIVE
    assert verdict(tmp_path, claim(never), 2) is Verdict.INCONCLUSIVE
    assert verdict(tmp_path, claim(never, delta=1.0), 3) is Verdict.VACUOUS
    assert verdict(tmp_path, claim(most, delta=None), 4) is Verdict.REFUTED


def test_constants_stand_at_the_generous_end(tmp_path):
    assert verdict(tmp_path, claim(None, high=2.0)) is Verdict.INCONCLUSIVE
    assert verdict(tmp_path, claim(None, high=0.5), 1) is Verdict.REFUTED
    chosen = replace(claim(None, high=2.0), values=lambda cell: {**cell, "c": 0.5})
    assert verdict(tmp_path, chosen, 2) is Verdict.REFUTED


def test_the_witness_replays_and_the_measure_is_a_lower_limit(tmp_path):
    evidence, _ = tried(claim(sp.Rational(1, 2), scales=(1.0, 2.0)), tmp_path, seed=7)
    row = replay(7, evidence.witness.trial, VALUE.check(evidence.witness.params))
    assert row.values[0] == evidence.witness.observed > evidence.witness.bound
    (table,) = evidence.tables
    for row in table.rows:
        assert 1.5 < row[-1] <= 1.8  # the 90 per cent quantile over the limit is 1.8
    assert "lower bounds of a supremum" in evidence.notes[0]


def test_failed_trials_found_nothing(tmp_path):
    evidence, _ = tried(claim(sp.Rational(1, 2), delta=0.4, lost=0.9), tmp_path)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert evidence.n_failed > 1000


def test_support_cannot_be_recorded():
    with pytest.raises(InvalidParameter, match="supports nothing"):
        SupDecision(verdict=Verdict.SUPPORTED, summary="", cells=())
    with pytest.raises(InvalidParameter, match="one entry a cell"):
        decide_supremum([], [], [], 0.05)
    with pytest.raises(InvalidParameter, match="limits must be > 0"):
        decide_supremum([[1.0]], [0.0], [0.1], 0.05)


def test_checks_overrides_and_description():
    build = claim(sp.Integer(1))
    build.check()
    assert build.override({"scale": 3.0}).limit({"scale": 3.0}) == 3.0
    assert "never supports" in build.describe()
    with pytest.raises(InvalidParameter, match="must be an upper bound"):
        claim(sp.Integer(1), relation="=").check()
    with pytest.raises(InvalidParameter, match="the limit 0 must be > 0"):
        claim(sp.Integer(0)).check()
