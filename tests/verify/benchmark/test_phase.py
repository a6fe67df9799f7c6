"""Phase diagrams: the boundary is found, the area is inferred."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.ifca.hidden import HIDDEN
from bounds.ifca.one_step import THEOREM_1
from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark import phase
from verify.benchmark.design import NAMED
from verify.benchmark.federation import FEDERATION, WORDS, draw, in_words
from verify.benchmark.figures import axis_label
from verify.benchmark.phase import (
    Diagram,
    Grid,
    axis,
    conditions,
    diagrams,
    drawn,
    explore,
    local_fits_are_close,
    phase_figure,
)
from verify.cli import benchmarking


@given(st.integers(2, 24), st.integers(2, 24), st.floats(-1, 2), st.floats(0.1, 3))
def test_a_monotone_boundary_is_found_without_its_area(width, height, offset, slope):
    asked = []

    def decide(places):
        asked.extend(places)
        return {(i, j): "S" if j / height + slope * i / width > offset else "F" for i, j in places}

    tried, inferred = explore((width, height), decide)
    assert len(asked) == len(set(asked)) == len(tried)
    assert len(tried) + len(inferred) == width * height
    assert {p: s.upper() for p, s in inferred.items()} == decide(inferred)
    if min(width, height) == 24:
        assert len(tried) < 0.4 * width * height


def test_open_corners_agree_with_nothing():
    """What the budget left open everywhere is tried everywhere, and nothing is inferred."""
    tried, inferred = explore((5, 4), lambda places: dict.fromkeys(places, "?"))
    assert set(tried) == {(i, j) for i in range(5) for j in range(4)}
    assert inferred == {}


@pytest.mark.parametrize(
    ("below", "edge"),
    [(False, [(100.0, 1.0), (1000.0, 0.1)]), (True, [(100.0, 1.0), (1000.0, 10.0)])],
)
def test_the_line_of_a_theory_is_the_edge_of_where_it_holds(below, edge):
    """Where it holds below, as for noise, the line was drawn along the axis's least value."""
    holds = ((False, False, False), (False, True, True), (True, True, True))
    if below:
        holds = tuple(row[::-1] for row in holds)
    diagram = Diagram(
        method="odcl-km", across=axis("n=10..1000", 3), up=axis("separation=.1..10", 3),
        cells=(("?",) * 3,) * 3, shares=((0.5,) * 3,) * 3, trials=((4,) * 3,) * 3,
        theory={"law": holds},
    )  # fmt: skip
    (panel,) = phase_figure([diagram]).panels
    label = f"theory, {'below' if below else 'above'}: law"
    (line,) = [one for one in panel.series if one.label == label]
    assert list(zip(line.x, line.y, strict=True)) == edge


@pytest.mark.parametrize(
    "text",
    ["n", "n=5", "n=5..1", "n=0..4", "n=a..b", "colour=1..2", "n=8..inf", "n=8..1e400", "n=nan..9"],
)
def test_a_bad_axis_is_refused_in_one_line(text):
    with pytest.raises(InvalidParameter) as found:
        axis(text, 4)
    assert "\n" not in str(found.value)
    assert "--grid" in str(found.value)


def test_axes_are_geometric_and_whole_where_they_must_be():
    assert axis("separation=.1..10", 3).values == (0.1, 1.0, 10.0)
    assert axis("n=50..3200", 4).values == (50, 200, 800, 3200)
    assert axis("k=1..3", 9).values == (1, 2, 3)


def test_the_condition_on_local_fits_is_that_of_simulated_fits():
    rng = np.random.default_rng(0)
    cell = {
        "response": "linear", "features": "gaussian", "noise_law": "gaussian", "condition": 1.0,
        "outliers": 0.0, "drift": 0.0, "sizes": "balanced", "k": 2, "k_told": 2,
        "m": 10, "n": 12, "d": 2, "sigma": 1.0,
    }  # fmt: skip
    x = rng.standard_normal((2000, 12, 2))
    noise = rng.standard_normal((2000, 12, 1))
    errors = np.linalg.solve(x.mT @ x, x.mT @ noise)[..., 0]
    largest = np.linalg.norm(errors, axis=1).reshape(200, 10).max(axis=1)
    low, high = np.quantile(largest, [0.3, 0.7])
    assert not local_fits_are_close({**cell, "separation": 4 * low})
    assert local_fits_are_close({**cell, "separation": 4 * high})


def test_a_diagram_of_one_shot_clustering(tmp_path):
    pytest.importorskip("sklearn")
    grid = Grid(
        methods="odcl-km",
        fixed={"m": 8, "d": 2, "k": 2, "sigma": 1.0},
        across=axis("n=4..64", 3),
        up=axis("separation=.01..100", 3),
        max_trials=16,
    )
    store = RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}, code={})
    with store, make_executor("serial") as executor:
        (found,) = diagrams(store, grid, executor)
    assert (found.cells[2][2], found.cells[2][0]) == ("S", "F")
    assert found.theory[next(iter(found.theory))][2][2]
    assert found.tried <= 9
    assert drawn(found)[1].split()[-1] == "#"


@pytest.mark.parametrize(("n", "outliers"), [(1, 0.0), (2, 0.0), (4, 0.0), (4, 0.25)])
def test_fits_without_noise_are_close_where_they_are_determined(n, outliers):
    """The least-squares fit of n rows is the model where n >= d.  An outlier has no model."""
    d, separation = 2, 0.4
    cell = FEDERATION.check(
        {"m": 8, "n": n, "d": d, "k": 2, "sigma": 0.0, "separation": separation}
        | {"outliers": outliers}
    )
    drawn_ = draw(cell, np.random.default_rng(3))
    errors = [
        np.linalg.norm(np.linalg.lstsq(x, y)[0] - model)
        for x, y, model in zip(
            drawn_.features.reshape(8, n, d),
            drawn_.responses.reshape(8, n),
            drawn_.models,
            strict=True,
        )
    ]
    close = max(errors) <= separation / 4 and not outliers
    assert close == (n >= d and not outliers)
    assert local_fits_are_close(cell) == close


@pytest.mark.parametrize(
    ("most", "wanted"), [(1, [4]), (9, [12]), (16, [16]), (24, [16, 24]), (100, [16, 32, 64, 100])]
)
def test_no_cell_gets_more_blocks_than_hold_the_trials(monkeypatch, most, wanted):
    """Half of the trials recover the clusters, so that no look decides a cell."""
    asked = []

    class Half:
        def blocks(self, _experiment, _cell):
            return set(range(asked[-1]))

        def table(self, _experiment, _cell, n_blocks):
            return {"recovered": np.arange(4 * n_blocks) % 2.0}

    def ensure(_store, demands, _executor):
        asked.append(max(demand.n_blocks for demand in demands))

    monkeypatch.setattr(phase, "ensure", ensure)
    grid = Grid(
        methods="local", fixed={"d": 2}, max_trials=most,
        across=axis("n=4..8", 2), up=axis("separation=.1..1", 2),
    )  # fmt: skip
    (found,) = diagrams(Half(), grid, None)
    assert [4 * n for n in asked] == wanted
    assert found.trials == ((wanted[-1],) * 2,) * 2
    assert found.cells == (("?",) * 2,) * 2


@pytest.mark.parametrize("sigma", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("n", [8, 100, 130, 1000])
@pytest.mark.parametrize("layout", ["simplex", "random"])
def test_the_condition_of_ifca_is_that_of_its_theorem_for_a_start_within_a_quarter(
    n, sigma, layout
):
    """Two equal clusters at distance 2: models of norm 1, where the layout fixes it."""
    cell = FEDERATION.check(
        {"m": 20, "n": n, "d": 12, "k": 2, "sigma": sigma, "separation": 2.0, "layout": layout}
    )
    (holds,) = conditions("ifca").values()
    largest = 1.0 if layout == "simplex" else 4.0
    values = {
        **HIDDEN, "m": 20.0, "n": float(n), "d": 12.0, "k": 2.0, "sigma": sigma, "Delta": 2.0,
        "alpha": 0.25, "p": 0.5, "p_max": 0.5, "rho": 4.0 / sigma**2, "theta_max": largest,
    }  # fmt: skip
    try:
        THEOREM_1.require(values)
        inside = True
    except OutsideTheorem:
        inside = False
    assert holds(cell) is inside
    assert conditions("local") == {}


def test_the_cells_of_all_diagrams_share_the_level(monkeypatch):
    """Three times two cells, of two methods."""
    levels = []
    monkeypatch.setattr(phase, "_diagram", lambda *asked: levels.append(asked[-1]))
    grid = Grid(
        methods="local, global", fixed={}, level=0.06,
        across=axis("n=4..16", 3), up=axis("separation=.1..1", 2),
    )  # fmt: skip
    diagrams(None, grid, None)
    assert levels == [pytest.approx(0.005)] * 2


@pytest.mark.parametrize("axes", [("k=2..8", "m=4..64"), ("m=4..64", "k=2..8")])
def test_a_corner_that_is_no_federation_is_refused_before_a_run_begins(axes):
    """Eight clusters need eight clients: one corner of the four fails."""
    declared = NAMED["many-clusters"]
    with pytest.raises(InvalidParameter, match=r"^8 clusters need as many clients"):
        benchmarking._grid(declared, axes, 3, {})
    assert benchmarking._grid(declared, ("k=2..4", "m=4..64"), 3, {}).max_trials == 32


@pytest.mark.parametrize(
    ("axes", "rules", "message"),
    [
        (("n=8..16", "n=4..8"), {}, "needs two parameters, and both are samples"),
        (("n=8..16", "d=2..4"), {"max_trials": 0}, r"--trials=0 must be an integer in \[1, "),
        (("n=8..16", "d=2..4"), {"level": 2.0}, "level=2.0 must lie strictly between 0 and 1"),
    ],
)
def test_a_grid_that_can_decide_nothing_is_refused_before_a_run_begins(axes, rules, message):
    """Before: a table of one axis, a division by zero, and limits with probability -1."""
    with pytest.raises(InvalidParameter, match=message):
        benchmarking._grid(NAMED["few-samples"], axes, 3, rules)


def test_cells_without_a_success_are_drawn_as_tried():
    """A share of zero is a share.  What was inferred has none, and no point."""
    shares = ((0.0, None, 1.0), (None, 0.25, 0.0))  # [across][up]
    diagram = Diagram(
        method="odcl-km", across=axis("n=10..100", 2), up=axis("separation=.1..10", 3),
        cells=(("F", "f", "S"), ("s", "?", "F")), shares=shares, trials=((4,) * 3,) * 2, theory={},
    )  # fmt: skip
    (panel,) = phase_figure([diagram]).panels
    (tried,) = panel.series
    points = dict(zip(zip(tried.x, tried.y, strict=True), tried.shade, strict=True))
    assert points == {(10.0, 0.1): 0.0, (10.0, 10.0): 1.0, (100.0, 1.0): 0.25, (100.0, 10.0): 0.0}
    assert drawn(diagram)[1:] == [" 10  # .", "  1  - ?", "0.1  . +"]


def test_whole_numbers_of_an_axis_are_the_nearest_to_geometric_steps():
    """The middle is the root of 10 times 16, which is 12.65."""
    assert axis("n=10..16", 3).values == (10, 13, 16)


def test_questions_and_figures_name_a_parameter_as_the_tables_do():
    """The question and the figure of few-samples had "rows", and its tables had "samples"."""
    assert [in_words(name) for name in WORDS if in_words(name) not in axis_label(name)] == []
    assert [b.name for b in NAMED.values() if "rows" in b.question] == []
    assert in_words(NAMED["few-samples"].vary) in NAMED["few-samples"].question


@pytest.mark.parametrize(
    ("name", "label"),
    [("n", "samples of a client (count)"), ("k", "clusters (count)"),
     ("sigma", "noise level (dimensionless)"), ("separation", "separation (dimensionless)"),
     ("outliers", "share of outliers (dimensionless)")],
)  # fmt: skip
def test_an_axis_of_counts_says_so(name, label):
    """A figure had "samples of a client (dimensionless)"."""
    assert axis_label(name) == label
