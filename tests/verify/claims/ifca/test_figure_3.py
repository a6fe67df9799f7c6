"""The page of Figure 3: what it shows is computed from the stored trials, failed ones included."""

from itertools import combinations

import numpy as np
import pytest

from bounds.ifca import figure_3 as statements
from trials.experiments.ifca.data_run import DATA_RUN
from trials.run.store import Table
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Observed


def observed(cell, n_successful, failed=()):
    """Trials with the given numbers of successful starts, by the distance that the cell uses."""
    values = np.zeros((len(n_successful), len(DATA_RUN.columns)))
    at = DATA_RUN.columns.index
    by_code = cell["scaling"] == "coordinate"
    values[:, at("n_starts_nearest" if by_code else "n_starts_successful")] = n_successful
    values[:, at("success_nearest" if by_code else "success")] = np.asarray(n_successful) > 0
    values[:, at("oracle_dist")] = 0.05
    values[:, at("stability_limit")] = 0.96
    values[:, at("start_dist")] = 9.0
    lost = np.isin(np.arange(len(values)), failed)
    return Observed(
        params=cell,
        table=Table(columns=DATA_RUN.columns, values=values, failed=lost, reasons=()),
    )


def built(statement):
    return catalogue()[statement.id].build(PROFILES["full"])


@pytest.mark.parametrize("statement", [statements.A_TEXT, statements.A_CODE], ids=["text", "code"])
def test_success_with_fewer_starts_counts_the_subsets_of_starts(statement):
    procedure = built(statement)
    counts = [0, 3, 10, 1]
    shown = procedure.present([observed(procedure.cells[0], counts)])
    (curve,) = shown.figures[0].series
    for r in (1, 2, 5, 10):
        shares = [
            np.mean([any(start < s for start in chosen) for chosen in combinations(range(10), r)])
            for s in counts
        ]
        assert curve.y[r - 1] == pytest.approx(np.mean(shares), rel=1e-12)
        assert 0.0 <= curve.lower[r - 1] <= curve.y[r - 1] <= curve.upper[r - 1] <= 1.0
    (row,) = shown.tables[0].rows
    assert row[4:6] == [4.0, 0.75]
    assert row[6] < 0.75 < row[7]
    assert row[8] == pytest.approx(0.5)  # 0.05 over sigma = 0.1


def test_a_failed_trial_is_no_success():
    procedure = built(statements.A_CODE)
    shown = procedure.present([observed(procedure.cells[0], [10, 10, 10, 10], failed=[0])])
    assert shown.figures[0].series[0].y == pytest.approx([0.75] * 10)
    assert shown.tables[0].rows[0][5] == 0.75


def test_the_map_has_a_point_for_each_r_and_sigma():
    procedure = built(statements.A_RISES)
    cells = procedure.cells
    shown = procedure.present(
        [observed(cell, [10 if cell["norm"] > 0.3 else 0] * 2) for cell in cells]
    )
    (points,) = shown.figures[0].series
    assert sorted(zip(points.x, points.y, strict=True)) == sorted(
        (cell["norm"], cell["sigma"]) for cell in cells
    )
    assert [s == 1.0 for s in points.shade] == [x > 0.3 for x in points.x]
    assert len(shown.figures) == 1  # the other starts of a trial with a success are not known
    assert len(shown.tables[0].rows) == 15
    assert not procedure.present([]).tables


def test_the_noise_runs_over_a_decade_in_ten_steps():
    noises = [cell["sigma"] for cell in built(statements.SNR_FLOOR).cells]
    assert len(noises) == 10
    ratios = np.diff(np.log10(noises))
    assert (noises[0], noises[-1]) == (0.05, 0.5)
    assert ratios == pytest.approx(np.full(9, 1 / 9), abs=5e-3)
