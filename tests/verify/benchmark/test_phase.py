"""Phase diagrams: the boundary is found, the area is inferred."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.benchmark.phase import (
    Diagram,
    Grid,
    axis,
    diagrams,
    drawn,
    explore,
    local_fits_are_close,
    phase_figure,
)


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


def test_the_line_of_a_theory_is_the_least_value_where_it_holds():
    holds = ((False, False, False), (False, True, True), (True, True, True))
    diagram = Diagram(
        method="odcl-km", across=axis("n=10..1000", 3), up=axis("separation=.1..10", 3),
        cells=(("?",) * 3,) * 3, shares=((0.5,) * 3,) * 3, trials=((4,) * 3,) * 3,
        theory={"law": holds},
    )  # fmt: skip
    (panel,) = phase_figure([diagram]).panels
    (line,) = [one for one in panel.series if one.label == "theory: law"]
    assert list(zip(line.x, line.y, strict=True)) == [(100.0, 1.0), (1000.0, 0.1)]


@pytest.mark.parametrize("text", ["n", "n=5", "n=5..1", "n=0..4", "n=a..b", "colour=1..2"])
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
