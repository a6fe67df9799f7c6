"""The procedures keep their levels in worlds with a known truth, and find planted errors.

The table of ``docs/calibration.md`` comes from the same worlds at full size (``-m slow``).  A
procedure that is exactly at its level fails one test with probability `FALSE_ALARM`.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.verify.calibration_world import LEVEL
from tests.verify.calibration_worlds import LOOKS, WORLDS, main, row
from verify.decisions.means import Knowledge, MeanTest

FALSE_ALARM = 1e-6
#: Worlds that CI runs: one of each procedure and error.  The slow run has all of them.
SHARE = tuple({(w.procedure, w.error): w for w in WORLDS}.values())
TABLE = Path(__file__).parents[2] / "docs" / "calibration.md"


def assert_at_most(n_wrong, n_batches, limit=LEVEL):
    p = binomtest(n_wrong, n_batches, limit, alternative="greater").pvalue
    assert p > FALSE_ALARM, f"{n_wrong} of {n_batches} at nominal {limit}"


@pytest.mark.statistical
@pytest.mark.parametrize("world", SHARE, ids=lambda w: w.name)
def test_a_seeded_share_keeps_its_level(world):
    assert_at_most(world.count(world.quick), world.quick, world.limit)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)
def test_every_world_keeps_its_level_at_full_size(world):
    n_wrong = world.count(world.full)
    print(row(world, n_wrong, world.full))
    assert_at_most(n_wrong, world.full, world.limit)


def test_the_table_names_every_world():
    text = TABLE.read_text()
    for world in WORLDS:
        assert f"| {world.procedure} | {world.error} | {world.data} |" in text


def test_the_table_is_written_from_counts(tmp_path, monkeypatch):
    small = WORLDS[0].__class__("toy", "false refutation", "none", lambda _rng: 0, full=40)
    monkeypatch.setattr("tests.verify.calibration_worlds.WORLDS", (small,))
    monkeypatch.setattr("tests.verify.calibration_worlds.power_table", lambda: "the power")
    main(tmp_path / "table.md")
    # no error in 40: the exact upper limit is 1 - 0.05^(1/40)
    assert (
        f"| 0 | 40 | 0.00 % | {100 * (1 - 0.05 ** (1 / 40)):.2f} % |"
        in (tmp_path / "table.md").read_text()
    )
    assert (tmp_path / "table.md").read_text().endswith("the power")


def test_one_procedure_is_run_again_and_the_other_rows_stay(tmp_path):
    page = tmp_path / "table.md"
    page.write_text(TABLE.read_text().replace("| contraction | false ", "| old | false "))
    main(page, ["contraction"])
    assert page.read_text() == TABLE.read_text()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("known", "draw"),
    [
        (Knowledge(low=0.0, high=1.0), lambda rng, n: rng.beta(2, 2, n)),
        (Knowledge(variance=0.05), lambda rng, n: rng.beta(2, 2, n)),
        (Knowledge(low=0.0, asymptotic=True), lambda rng, n: rng.beta(2, 2, n)),
    ],
    ids=["range", "variance", "asymptotic"],
)
def test_a_mean_ten_per_cent_off_is_found(known, draw):
    """Power 60/60 in both directions. 0.79 or less would fail with probability above 1 - 1e-6."""
    rng = np.random.default_rng(0)
    for bound, expected in ((0.55, "holds"), (0.45, "fails")):
        test = MeanTest(
            bound=bound,
            side="at most",
            knowledge=known,
            horizon=LOOKS[-1],
            refute_level=LEVEL,
            support_level=LEVEL,
        )
        assert all(test.status(draw(rng, LOOKS[-1]))[0] == expected for _ in range(60))
