"""The figures of ODCL's claims against their definitions, on small tables."""

import math

import numpy as np
import pytest

from bounds.odcl.recovery import THRESHOLD_KM
from bounds.odcl.symbols import ALPHA_CC, ALPHA_KM
from trials.clustering.selection import convex_partition
from trials.experiments.odcl.linear import LINEAR, ROUNDS
from trials.experiments.odcl.one_shot import ONE_SHOT
from trials.run.store import Table
from verify.claims.odcl import pages
from verify.claims.odcl.data_sets import Clustered
from verify.claims.odcl.recovery import SETTINGS
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Observed


def observed(experiment, cell, **columns):
    """Three trials with the values given, and a failed one."""
    values = np.zeros((4, len(experiment.columns)))
    for name, column in columns.items():
        values[:3, experiment.columns.index(name)] = column
    values[3] = np.nan
    table = Table(
        columns=experiment.columns,
        values=values,
        failed=np.array([False, False, False, True]),
        reasons=((3, "diverged"),),
    )
    return Observed(params=cell, table=table)


def test_the_span_of_a_tree_holds_the_penalties_that_show_the_clusters():
    points = np.array([0.0, 0.2, 0.4, 3.0, 3.1, 7.0])[:, None] * np.array([[0.6, 0.8]])
    data = Clustered(points, np.array([0, 0, 0, 1, 1, 2]))
    drawn = pages.tree(data, {"mark": 0.5}, "Tree", "")
    ((low, high, _),) = drawn.spans
    for penalty, shown in ((low * 0.99, False), (low * 1.01, True), (high * 0.99, True)):
        found = convex_partition(points, penalty)
        assert (found.tolist() == [0, 0, 0, 1, 1, 2]) is shown
    assert len(set(convex_partition(points, high * 1.01).tolist())) < 3
    starts = sorted(abs(line.y[0] - drawn.series[0].y[0]) for line in drawn.series)
    assert starts == pytest.approx([0.0, 0.2, 0.4, 3.0, 3.1, 7.0])  # lengths along the axis
    assert [line.label for line in drawn.series] == [
        "cluster 1",
        "",
        "",
        "cluster 2",
        "",
        "cluster 3",
    ]


def test_floats_are_those_of_all_models_down_and_one_up_a_round():
    cell = {"optima": "four", "d": 20, "step": 0.05, "T": 300}
    rows = observed(ROUNDS, cell, round_20=[1, 2, 3], round_70=1.0, round_120=0.5, one_shot=0.2)
    (drawn,) = pages.floats_sent([rows]).figures
    ifca, once = drawn.series
    assert ifca.x == [20 * 20 * 5, 70 * 20 * 5, 120 * 20 * 5]
    assert ifca.y == [2.0, 1.0, 0.5]  # the failed trial is left out
    assert (once.x, once.y) == ([40.0], [pytest.approx(0.2)])


def test_curves_are_means_in_the_order_of_the_sizes():
    rows = [observed(LINEAR, {"n": n}, cc=[1.0, 2.0, 6.0], local=n) for n in (400, 50)]
    (drawn,) = pages.error_curves(rows).figures
    by_label = {line.label: line for line in drawn.series}
    assert by_label["ODCL-CC"].y == [3.0, 3.0]
    assert by_label["local fits"].x == by_label["local fits"].y == [50.0, 400.0]
    assert by_label["ODCL-CC"].lower == pytest.approx([1.1, 1.1])
    assert by_label["ODCL-CC"].upper == pytest.approx([5.6, 5.6])


def test_a_phase_diagram_has_the_share_of_successes_at_its_place():
    cell = {"k": 2, "d": 4, "size_k": 16, "size_min": 4, "Delta": 0.5, "sigma": 1.0, "n": 100}
    rows = [observed(ONE_SHOT, cell, km=[1, 1, 0])]
    (drawn,) = pages.recovery_phases(THRESHOLD_KM, rows, "km", "recovery").figures
    points, order = drawn.series
    assert (points.x, points.y) == ([25.0], [5.0])
    assert points.shade == [0.5]  # a failed trial is no success
    assert order.x == [pytest.approx(5.0 * math.log(20))]  # m log m / |C_(K)|


@pytest.mark.parametrize(
    ("name", "alpha", "smallest"),
    [
        ("Fig. 2, convex clustering", ALPHA_CC, 10),  # 100 users in ten clusters
        ("Fig. 2, K-means", ALPHA_KM, 10),
        ("Fig. 3", ALPHA_CC, 25),  # and in four
        ("Fig. 4", ALPHA_CC, 25),
    ],
)
def test_the_settings_of_the_figures_have_the_papers_alpha(name, alpha, smallest):
    """100 is the constant of the separation in K-means (footnote 4)."""
    symbols = {"m": 100, "size_min": smallest, "c": 100}
    expected = alpha.subs({s: symbols[s.name] for s in alpha.free_symbols})
    assert SETTINGS[name]["alpha"] == pytest.approx(float(expected))


def test_the_lower_end_of_an_interval_is_marked_before_the_upper_one(monkeypatch):
    monkeypatch.setattr(pages, "tree", lambda _data, marks, *_texts: marks)
    marks = pages.fits_tree({**LINEAR.check({}), "n": 4000})
    assert list(marks) == ["(13), lower", "(13), upper"]
    assert marks["(13), lower"] < marks["(13), upper"]


EVENTS = [
    ("odcl.fig2-interval", {"empty": [1, 0, 1]}, [1, 0, 1]),
    ("odcl.fig2-km", {"km_ten_same": [0, 1, 1]}, [0, 1, 1]),
    ("odcl.fig3-match", {"same": [1, 0, 0]}, [1, 0, 0]),
    ("odcl.fig4-below-as-printed", {"printed_clusters": [3, 4, 5]}, [1, 0, 0]),
    ("odcl.fig4-above", {"printed_clusters": [3, 4, 5]}, [0, 1, 0]),
    ("odcl.fig4-left-above", {"path": [1.04, 0.96, 1.06], "cc": [1, 1, 1]}, [1, 1, 0]),
    ("odcl.fig4-left-above", {"path": [2.2, 1.8, 2.0], "cc": [2.1, 2, 2]}, [1, 0, 1]),
    ("odcl.fig5-transition", {"cc_clusters": [3, 4, 5]}, [1, 0, 1]),
    ("odcl.fig5-optimal", {"cc_clusters": [3, 4, 5]}, [0, 1, 0]),
    ("odcl.fig5-right-as-printed", {"matched": [1, 0, 1]}, [1, 0, 1]),
    (
        "odcl.fig5-left-tenfold",
        {"one_shot": [31, 32, 316], "round_120": [10, 10, 100]},
        [0, 1, 0],
    ),
    (
        "odcl.fig5-left-flat",
        {"round_20": [2, 2, 2], "round_120": [0.9, 1, 3], "one_shot": [2, 2, 2]},
        [0, 1, 1],
    ),
    # a run that never moves has not matched the one-shot method
    (
        "odcl.fig5-left-flat",
        {"round_20": [1, 1, 2], "round_120": [1, 1, 2], "one_shot": [0.1, 1, 1]},
        [0, 1, 0],
    ),
    ("odcl.table3-homogeneous", {"rounds": [439.9, 440, 655]}, [0, 1, 1]),
    ("odcl.table3-homogeneous", {"rounds": [999.9, 1000, 1000]}, [1, 0, 0]),
    ("odcl.table3-heterogeneous-as-printed", {"rounds": [440, 654.9, 655]}, [0, 0, 1]),
]


@pytest.mark.parametrize(("name", "columns", "expected"), EVENTS)
def test_the_event_of_an_experiment_happens_in_these_trials(name, columns, expected):
    """By the words of its claim."""
    procedure = catalogue()[name].build(PROFILES["quick"])
    rows = observed(procedure.sampling.experiment, procedure.cells[0], **columns)
    found = procedure.statistic(rows.table, rows.params)
    assert found[:3].tolist() == expected


@pytest.mark.parametrize(("step", "rounds"), [(0.1, 20), (0.05, 20), (0.01, 70)])
def test_half_of_the_printed_rounds_are_those_of_the_step(step, rounds):
    procedure = catalogue()["odcl.fig5-left-rounds"].build(PROFILES["quick"])
    (cell,) = (one for one in procedure.cells if one["step"] == step)
    rows = observed(ROUNDS, cell, rounds=[rounds / 2 - 1, rounds / 2, rounds], matched=[1, 1, 1])
    assert procedure.statistic(rows.table, cell)[:3].tolist() == [0, 1, 1]
    # a run that never matches has all rounds that it may take
    never = observed(ROUNDS, cell, rounds=[cell["T"]] * 3, matched=[0, 0, 0])
    assert procedure.statistic(never.table, cell)[:3].tolist() == [0, 0, 0]


def test_with_600_samples_ifcas_curve_of_ten_runs_ends_below_that_of_odcl():
    """The finding `odcl-table3-never`: a pooled fit has a smaller error than an average of fits."""
    cell = catalogue()["odcl.fig5-right-as-printed"].build(PROFILES["quick"]).cells[0]
    (row,) = ROUNDS.simulate(ROUNDS.check({**cell, "runs": 10}), np.random.default_rng(0), 1)
    last, one_shot = (row[ROUNDS.columns.index(name)] for name in ("round_120", "one_shot"))
    assert 0.85 < last / one_shot < 1.0
