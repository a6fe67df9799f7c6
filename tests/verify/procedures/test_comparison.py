"""Comparisons from trials to verdict: contrasts and trends are the statement's."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Contrast, Statement, Trend
from tests.stated import NOBODY
from tests.verify.toys import METHODS, VALUE, stored, tried
from trials.checks import InvalidParameter
from trials.run.engine import replay
from verify.decisions.means import INDICATOR, Knowledge
from verify.decisions.sequences import resolvable
from verify.evidence import Verdict
from verify.procedures.base import Sampling
from verify.procedures.comparison import Comparison, Monotone


def stated(contrasts=(), trends=()):
    return Statement(
        id="toy.comparison",
        title="A toy",
        publication=NOBODY,
        source="Fig. 2",
        kind="comparison",
        quantifiers="",
        observed="MSE",
        contrasts=contrasts,
        trends=trends,
    )


def claim(*contrasts, gains=(0.8,), lost=0.0, **more):
    build = Comparison(
        statement=stated(contrasts),
        sampling=Sampling(experiment=METHODS, max_trials=4096, first=512),
        cells=tuple({"gain": g, "tag": i, "lost": lost} for i, g in enumerate(gains)),
        columns={"A": "a", "B": "b", "C": "c"},
        knowledge=lambda _cell: Knowledge(low=0.0, asymptotic=True),
        unit="squared error",
    )
    return replace(build, **more)


LESS = Contrast(left="A", relation="<", right="B")
MORE = Contrast(left="B", relation="<", right="A")
SAME = Contrast(left="B", relation="=", right="C", margin=0.1)


def verdict(tmp_path, build, seed=0):
    return tried(build, tmp_path, seed=seed)[0].verdict


def test_the_statements_contrasts_decide(tmp_path):
    assert verdict(tmp_path, claim(LESS, SAME)) is Verdict.SUPPORTED
    assert verdict(tmp_path, claim(MORE, SAME), 1) is Verdict.REFUTED
    assert verdict(tmp_path, claim(LESS, gains=(1.0,)), 2) is Verdict.INCONCLUSIVE
    not_worse = Contrast(left="A", relation="<=", right="B", margin=0.1)
    held, _ = tried(claim(not_worse, gains=(1.0,)), tmp_path, seed=3)
    assert held.verdict is Verdict.SUPPORTED
    assert held.resolution == resolvable(held.cells[0].n_trials, 0.05)  # limits are asymptotic
    assert verdict(tmp_path, claim(not_worse, gains=(0.9, 1.3)), 4) is Verdict.REFUTED


def test_evidence_names_contrasts_winners_and_a_trial(tmp_path):
    evidence, _ = tried(claim(LESS, SAME, gains=(0.8, 1.3)), tmp_path, seed=5)
    assert evidence.verdict is Verdict.REFUTED
    assert [c.params["contrast"] for c in evidence.cells] == ["A < B", "B = C up to 10%"] * 2
    assert evidence.cells[0].verdict == "SUPPORTED"
    assert evidence.cells[2].verdict == "REFUTED"
    (winners,) = [t for t in evidence.tables if t.title == "Who wins where"]
    assert winners.rows[0][-1] == "A"
    assert winners.rows[1][-1] != "A"
    assert evidence.witness.params["gain"] == 1.3
    row = replay(5, evidence.witness.trial, METHODS.check(evidence.witness.params))
    assert row.values[0] > row.values[1]
    assert any("asymptotic" in note for note in evidence.notes)


def test_a_method_that_fails_stands_at_the_bad_end(tmp_path):
    known = {"knowledge": lambda _cell: Knowledge(low=0.0, high=40.0)}
    evidence, _ = tried(claim(LESS, lost=0.2, **known), tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.n_failed > 0
    evidence, _ = tried(claim(LESS, lost=0.2), tmp_path, seed=1)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    signs = claim(LESS, lost=0.6, gains=(0.5,), scale="sign")
    assert verdict(tmp_path, signs, 2) is Verdict.REFUTED


def test_comparisons_check_override_and_describe():
    build = claim(LESS, SAME, gains=(0.8, 0.9))
    build.check()
    assert [c["gain"] for c in build.override({"gain": 0.5}).cells] == [0.5, 0.5]
    for part in ("same data", r"\mathrm{A} < \mathrm{B}", "2 cells", "4096", "test.methods"):
        assert part in build.describe()
    assert "compared by means of squared error:" in build.describe()
    signs = replace(build, scale="sign").describe()
    assert "the share of trials in which one method has the smaller squared error:" in signs
    assert build.describe().endswith("counts as the high end of the values.")
    assert signs.endswith("a trial without one of either method counts half.")
    assert "counts as the low end of the values" in replace(build, failed="low").describe()
    with pytest.raises(InvalidParameter, match="no contrasts"):
        claim().check()
    with pytest.raises(InvalidParameter, match="method 'Z' must be one of A, B, C"):
        claim(Contrast(left="Z", relation="<", right="B")).check()
    with pytest.raises(InvalidParameter, match="column 'z' of A"):
        claim(LESS, columns={"A": "z", "B": "b"}).check()


def along(direction="increases", scales=(0.2, 0.5, 1.0), laws=("coin", "uniform"), margin=0.05):
    scale = sp.Symbol("scale")
    return Monotone(
        statement=stated(trends=(Trend(symbol=scale, direction=direction, margin=margin),)),
        sampling=Sampling(experiment=VALUE, max_trials=2048),
        cells=tuple({"law": law, "scale": s} for s in scales for law in laws),
        along="scale",
        statistic=lambda table, _cell: table["value"],
        knowledge=lambda _cell: Knowledge(low=0.0, high=1.0),
        observable="the value",
    )


def test_the_statements_trend_decides(tmp_path):
    build = along()
    build.check()
    assert [[build.cells[i]["law"] for i in g] for g in build.sequences()] == [
        ["coin"] * 3,
        ["uniform"] * 3,
    ]
    evidence, rounds = tried(build, tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert len(rounds) == 1
    assert len(evidence.cells) == 6
    assert any("Jonckheere" in note for note in evidence.notes)
    assert verdict(tmp_path, along("decreases"), 1) is Verdict.REFUTED
    flat = along(scales=(0.5, 0.501, 0.502), margin=0.2)
    assert verdict(tmp_path, flat, 2) is Verdict.INCONCLUSIVE


def test_a_cell_that_needs_fewer_trials_gets_them_alone(tmp_path):
    build = replace(along(), enough=lambda cell: 128 if cell["scale"] == 0.2 else 10**6)
    assert "128 to 2048 trials a cell" in build.describe()
    evidence, _ = tried(build, tmp_path)
    drawn = {(c.params["law"], c.params["scale"]): c.n_trials for c in evidence.cells}
    assert drawn == {
        (law, scale): 128 if scale == 0.2 else 2048
        for law in ("coin", "uniform")
        for scale in (0.2, 0.5, 1.0)
    }
    whole, _ = tried(along(), tmp_path / "whole")
    for cell, other in zip(evidence.cells, whole.cells, strict=True):
        assert (cell.observed == other.observed) is (cell.params["scale"] != 0.2)


def test_a_trend_is_read_in_the_order_of_its_parameter_and_not_of_its_cells(tmp_path):
    build = along(scales=(1.0, 0.2, 0.5))
    build.check()
    assert [[build.cells[i]["scale"] for i in g] for g in build.sequences()] == [
        [0.2, 0.5, 1.0]
    ] * 2
    evidence, _ = tried(build, tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    ordered, _ = tried(along(), tmp_path / "ordered")
    assert evidence.cells == ordered.cells
    assert evidence.figures == ordered.figures


def test_a_sequence_is_named_by_what_tells_it_from_others(tmp_path):
    """The legend said "sequence 1", also of one sequence alone, of "the first six"."""
    cells = [{"law": law, "scale": s, "n": n, "lost": 0.0} for s in (0.2, 0.5, 1.0)
             for law, n in (("coin", 1), ("coin", 2), ("uniform", 2))]  # fmt: skip
    (figure,) = tried(replace(along(), cells=tuple(cells)), tmp_path / "three")[0].figures
    assert [s.label for s in figure.series] == ["coin, $n=1$", "coin, $n=2$", "uniform, $n=2$"]
    (figure,) = tried(along(laws=("coin",)), tmp_path / "one")[0].figures
    assert [s.label for s in figure.series] == ["means"]
    assert figure.caption == "Limits at half the claim's level."


def test_lost_trials_leave_a_sequence_open_unless_their_value_is_declared(tmp_path):
    build = along()
    lossy = replace(build, cells=tuple({**c, "lost": 0.1} for c in build.cells))
    assert verdict(tmp_path, lossy) is Verdict.INCONCLUSIVE
    assert verdict(tmp_path, replace(lossy, failed=0.0), 1) is Verdict.SUPPORTED


def test_the_values_of_an_indicator_are_checked(tmp_path):
    build = replace(along(laws=("coin",)), knowledge=lambda _cell: INDICATOR)
    with pytest.raises(InvalidParameter, match="must be 0 or 1"):
        tried(build, tmp_path)
    happened = replace(build, statistic=lambda table, _cell: (table["value"] > 0) * 1.0)
    shares = [cell.observed for cell in tried(happened, tmp_path, seed=1)[0].cells]
    assert all(0 < s < 1 for s in shares)


def test_what_is_known_of_each_cell_of_a_trend_is_used(tmp_path):
    """The first cell's range was taken for all: values up to 1 were bet on as if 0.2 were the most.

    A range that holds all of them is known of every one.
    """
    few = Sampling(experiment=VALUE, max_trials=128)
    build = replace(along(laws=("uniform",)), sampling=few)
    own = replace(build, knowledge=lambda cell: Knowledge(low=0.0, high=cell["scale"]))
    evidence, _ = tried(own, tmp_path / "own")
    shared, _ = tried(build, tmp_path / "shared")
    assert evidence == shared
    narrow = replace(build, knowledge=lambda cell: Knowledge(low=0.0, high=cell["scale"] / 2))
    with pytest.raises(InvalidParameter, match=r"must lie in the declared range \[0, 0.1\]"):
        tried(narrow, tmp_path / "narrow")


def test_a_trend_by_asymptotic_limits_says_so_and_to_which_probability(tmp_path):
    """It was SUPPORTED without an end, as means with known ranges are."""
    few = Sampling(experiment=VALUE, max_trials=512)
    ranged = replace(along(laws=("uniform",), margin=0.3), sampling=few)
    build = replace(ranged, knowledge=lambda _cell: Knowledge(asymptotic=True))
    evidence, _ = tried(build, tmp_path / "unknown")
    assert evidence.verdict is Verdict.SUPPORTED
    assert evidence.resolution == resolvable(512, 0.05)
    assert any("asymptotic" in note for note in evidence.notes)
    known, _ = tried(ranged, tmp_path / "known")
    assert known.resolution is None
    assert not any("asymptotic" in note for note in known.notes)


def test_values_outside_their_declared_range_are_refused(by_hand):
    """Bets on a share that may be 3 have no level: the claim was decided all the same."""
    known = {"knowledge": lambda _cell: Knowledge(low=0.0, high=1.0)}
    with pytest.raises(InvalidParameter, match=r"value 3 must lie in the declared range \[0, 1\]"):
        by_hand(claim(LESS, **known), (0.5, 3.0, 1.0))
    assert by_hand(claim(LESS, **known), (0.5, 1.0, 1.0))[1].verdict is Verdict.SUPPORTED


def test_trends_check_override_and_describe():
    build = along()
    assert "Jonckheere" in build.describe()
    assert "confidence sequences" in build.describe()
    coins = replace(build, knowledge=lambda _cell: INDICATOR)
    assert "exact (Clopper-Pearson)" in coins.describe()
    assert len(build.override({"law": "coin"}).cells) == 3
    with pytest.raises(InvalidParameter, match="must vary"):
        build.override({"scale": 1.0})
    with pytest.raises(InvalidParameter, match="three or more distinct"):
        along(scales=(0.2, 0.5)).check()
    with pytest.raises(InvalidParameter, match="three or more distinct"):
        along(scales=(0.2, 0.5, 0.9, 0.5)).check()
    with pytest.raises(InvalidParameter, match="a cell has no scale"):
        replace(build, cells=({"law": "coin"},)).check()
    with pytest.raises(InvalidParameter, match="has 0 trends"):
        replace(build, statement=stated()).check()
    two = stated(trends=[*build.statement.trends, *along("decreases").statement.trends])
    with pytest.raises(InvalidParameter, match="has 2 trends; one is tried at a time"):
        replace(build, statement=two).check()


@pytest.fixture
def by_hand(tmp_path):
    """The decision on one cell of 256 trials whose values are given."""

    def by_hand(build, values):
        build = replace(build, sampling=Sampling(experiment=METHODS, max_trials=256, first=256))
        values = np.broadcast_to(np.asarray(values, dtype=float), (256, 3))
        failed = np.flatnonzero(~np.isfinite(values).all(axis=1))
        with stored(tmp_path, METHODS, [(build.cells[0], values, failed)]) as store:
            (observed,) = build.sampling.observed(store, build.cells)
            return observed, build.decide(store, 0.05)

    return by_hand


@pytest.mark.parametrize("scale", ["mean", "sign"])
def test_methods_that_both_fail_in_every_trial_are_not_told_apart(scale, by_hand):
    """Neither has a value, so that nothing is smaller and nothing equal."""
    both = np.array([math.nan, math.inf, 1.0])
    for contrasts in ((LESS,), (MORE,), (Contrast(left="A", relation="=", right="B", margin=0.1),)):
        build = claim(*contrasts, scale=scale)
        observed, evidence = by_hand(build, both)
        assert evidence.verdict is Verdict.INCONCLUSIVE
        (cell,) = evidence.cells
        assert cell.note == "both methods failed in 256 trials"
        assert cell.bound == 1.0 + contrasts[0].margin
        assert cell.observed is None
        assert build.unresolved([observed], 0.05) == [0]


def test_trials_in_which_both_methods_failed_are_no_part_of_half(by_hand):
    """A is far above B wherever they have values, in two trials of five."""
    values = np.tile([1.0, 0.1, 1.0], (256, 1))
    values[np.arange(256) % 5 < 3, :2] = math.nan
    equal = Contrast(left="A", relation="=", right="B", margin=0.1)
    least = Contrast(left="A", relation="<=", right="B", margin=0.1)
    for contrast in (least, equal, LESS):
        _, evidence = by_hand(claim(contrast, scale="sign"), values)
        assert evidence.verdict is Verdict.REFUTED
        (cell,) = evidence.cells
        n_lost = int((np.arange(256) % 5 < 3).sum())
        assert cell.observed == (0.5 * n_lost + 256 - n_lost) / 256
    values[:, :2] = values[:, 1::-1]  # and far below it
    for contrast, verdict in (
        (least, Verdict.SUPPORTED), (equal, Verdict.REFUTED), (LESS, Verdict.SUPPORTED),
    ):  # fmt: skip
        assert by_hand(claim(contrast, scale="sign"), values)[1].verdict is verdict


@pytest.mark.parametrize(("first", "index"), [(0.5, 7), (2.0, 3)])
def test_the_trial_that_contradicts_an_equality_has_the_largest_difference(first, index, by_hand):
    """A is far below B in trial 7, and a little above it in trial 3."""
    values = np.tile([first, 1.0, 1.0], (256, 1))
    values[7, 0], values[3, 0] = (0.0, 1.1) if first < 1 else (0.9, 3.0)
    equal = Contrast(left="A", relation="=", right="B", margin=0.1)
    _, evidence = by_hand(claim(equal, scale="sign"), values)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness.trial.endswith(f":{index}")


def test_one_trial_without_a_value_of_either_method_leaves_a_difference_of_means_open(by_hand):
    """Infinity minus infinity is no number.  A sign is one, and the other trials decide it."""
    values = np.tile([0.5, 1.0, 1.0], (256, 1))
    values[7, :2] = math.nan
    _, means = by_hand(claim(LESS), values)
    assert means.verdict is Verdict.INCONCLUSIVE
    assert means.cells[0].note == "both methods failed in 1 trial"
    for contrast, expected in ((LESS, Verdict.SUPPORTED), (MORE, Verdict.REFUTED)):
        _, signs = by_hand(claim(contrast, scale="sign"), values)
        assert signs.verdict is expected
        if expected is Verdict.REFUTED:  # shown by a trial that has a difference
            assert not signs.witness.trial.endswith(":7")
    # With a known upper end the two values are equal in that trial
    known = {"knowledge": lambda _cell: Knowledge(low=0.0, high=2.0)}
    _, bounded = by_hand(claim(LESS, **known), values)
    assert bounded.verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("values", "failed", "best"),
    [
        ((0.5, 0.25, 0.25), "high", "B, C"),
        ((1.0, 0.5, 1.0), "low", "A, C"),
        ((0.5, 0.25, 0.75), "high", "B"),
        ((0.5, 0.25, 0.75), "low", "C"),
        ((math.nan, math.inf, 7.0), "high", "C"),
        ((2.0, 2.0, 2.0), "high", "A, B, C"),
    ],
)
def test_methods_with_one_mean_win_together(values, failed, best, by_hand):
    _, evidence = by_hand(claim(LESS, failed=failed), values)
    (winners,) = [t for t in evidence.tables if t.title == "Who wins where"]
    assert [row[-1] for row in winners.rows] == [best]
