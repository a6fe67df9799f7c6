"""`docs/where_it_works.py`: its table and its drawing are the counts of the stored trials."""

import re
import runpy
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from trials.experiments.sxy.end_to_end import END_TO_END
from trials.run.store import RunStore

SCRIPT = Path(__file__).resolve().parents[1] / "docs" / "where_it_works.py"
PLACES = [(2, 100, 3), (2, 200, 3), (3, 100, 3), (3, 200, 3)]


@pytest.fixture
def script(tmp_path):
    """The script's functions, with four cheap places of four trials."""
    found = runpy.run_path(str(SCRIPT))
    few = {"CLUSTERS": (2, 3), "CLIENTS": (100, 200), "DIMENSIONS": (3,), "BLOCKS": 1}
    found["main"].__globals__.update(few, DRAWING=tmp_path / "drawing.svg")
    return found["main"].__globals__


def test_table_and_drawing_show_the_stored_trials(script, tmp_path, capsys):
    script["main"](tmp_path)
    printed = capsys.readouterr().out
    rows = re.findall(r"\| (\d) \| (\d+) \| (\d) and (\d) \|", printed)
    with RunStore.open(tmp_path / "store.sqlite", readonly=True) as store:
        for (k, m, d), row in zip(PLACES, rows, strict=True):
            table = store.table(END_TO_END, END_TO_END.check({"k": k, "M": m, "d": d}), 1)
            assert table.n_trials == 4
            good = [4 - int(table[name].sum()) for name in ("fail_both", "fail_random")]
            assert row == (str(k), str(m), *map(str, good))
    shares = [float(x) for x in re.findall(r'fill-opacity="([\d.]+)"', drawing(tmp_path))]
    # both phases first, k = 2 before k = 3, and few clients before many
    assert shares == [int(row[i]) / 4 for i in (2, 3) for row in rows]
    assert "4 trials a place. 95 % limits of none, half and all of them: 0.00 to 0.60" in printed

    # a stored trial is not drawn again: there is nobody who could
    script["make_executor"] = lambda _kind: nullcontext()
    script["main"](tmp_path)
    assert capsys.readouterr().out == printed


def drawing(folder):
    return (folder / "drawing.svg").read_text(encoding="utf-8")


def test_a_failed_trial_counts_and_is_no_success(script):
    class Failing:
        failed = np.array([False, True, False, False])

        def __getitem__(self, name):
            return np.array([0.0, np.nan, 1.0, 0.0 if name == "fail_both" else 1.0])

    class Store:
        def table(self, *_args):
            return Failing()

    found = script["successes"](Store())
    assert set(found) == set(PLACES)
    assert set(map(str, found.values())) == {"(4, {'both phases': 2, 'a random start': 1})"}
