"""Events over all rounds: any part bad is one bad trial, NaN is bad, parts are shown."""

import numpy as np
import pytest

from tests.verify.toys import DECAY, N_STEPS, tried
from trials.checks import InvalidParameter
from trials.run.store import Table
from verify.evidence import Verdict
from verify.procedures.base import Observed, Sampling
from verify.procedures.multi import Multi, columns_above
from verify.procedures.probability import Probability

TABLE = Table(
    columns=("a", "b"),
    values=np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [np.nan, 0.0]]),
    failed=np.array([False] * 4 + [True]),
    reasons=((4, "nan"),),
)
EVENT = Multi(
    parts={
        "a": columns_above(("a",), lambda cell: cell["level"]),
        "b": columns_above(("b",), lambda cell: cell["level"]),
    }
)


def test_any_part_is_one_event():
    assert EVENT(TABLE, {"level": 1.0}).tolist() == [False, True, True, True, True]
    assert EVENT(TABLE, {"level": 3.0}).tolist() == [False] * 4 + [True]
    both = columns_above(("a", "b"), lambda _cell: 1.0)(TABLE, {})
    assert both.tolist() == EVENT(TABLE, {"level": 1.0}).tolist()


def test_the_parts_are_shown_beside_the_event():
    (table,) = EVENT.present([Observed(params={"level": 1.0}, table=TABLE)]).tables
    assert table.columns == ("cell", "a", "b", "any")
    assert table.rows == [(1, 0.6, 0.4, 0.8)]


def test_events_without_parts_and_parts_of_another_shape_are_refused():
    with pytest.raises(InvalidParameter, match="at least one part"):
        Multi(parts={})
    with pytest.raises(InvalidParameter, match="at least one column"):
        columns_above((), lambda _cell: 1.0)
    odd = Multi(parts={"odd": lambda table, _cell: table.values > 1})
    with pytest.raises(InvalidParameter, match=r"part 'odd' has shape \(5, 2\)"):
        odd(TABLE, {})


def test_a_statement_about_every_round_is_tried_as_one_event(tmp_path):
    """Every round has probability 1/2 of passing 0.5^t times a factor near one."""
    rounds = range(1, N_STEPS + 1)
    event = Multi(
        parts={
            f"round {t}": columns_above((f"err_{t}",), lambda _cell, t=t: 1.08 * 0.5**t)
            for t in rounds
        }
    )

    def claim(delta):
        return Probability(
            name="toy.every-round",
            sampling=Sampling(experiment=DECAY, max_trials=1024, first=128),
            cells=({"factor": 0.5, "floor": 0.0},),
            bad=event,
            delta=lambda _cell: delta,
            event="some round exceeding its bound",
            present=event.present,
        )

    evidence, _ = tried(claim(0.05), tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    (table,) = evidence.tables
    assert max(table.rows[0][1:-1]) < table.rows[0][-1]
    assert tried(claim(0.6), tmp_path, seed=1)[0].verdict is Verdict.SUPPORTED
