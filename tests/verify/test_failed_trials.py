"""Failed trials, for every claim that reads trials: it is decided, and their rows say nothing.

A trial that raised is a row of NaN.  A trial that diverged has a value that is not finite, and the
others of its row may be anything.  So the whole evidence, with verdict, cells, figures, tables and
sentences, must be the same whatever the rows of failed trials hold.  The trials are invented, so
that the verdicts mean nothing here.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from tests.verify.invented import READ, built, decided, differences, evidence, not_numbers, small
from tests.verify.toys import METHODS
from trials.run.store import Table
from verify.procedures.base import NOTHING, Observed, Presentation, finished
from verify.procedures.comparison import Comparison
from verify.procedures.pages import of_finished


def test_most_claims_that_read_trials_are_here():
    assert len(READ) >= 180


@pytest.mark.parametrize("name", READ)
def test_the_row_of_a_failed_trial_changes_nothing(name):
    """A comparison counts the finite values of a failed row, which are those of other methods."""
    procedure = small(built(name))
    other = math.inf if isinstance(procedure, Comparison) else 0.75
    raised = evidence(name)
    assert list(differences(asdict(raised), asdict(decided(procedure, other)))) == []
    assert list(not_numbers(asdict(raised))) == []
    assert raised.n_failed > 0


# -- what the claims' own presentations read -----------------------------------------------------


def cell(failed: tuple[bool, ...]) -> Observed:
    values = np.arange(3.0 * len(failed)).reshape(-1, 3)
    reasons = tuple((i, "raised: by hand") for i, lost in enumerate(failed) if lost)
    table = Table(columns=METHODS.columns, values=values, failed=np.array(failed), reasons=reasons)
    return Observed(params={"tag": sum(failed)}, table=table)


def test_finished_trials_keep_their_rows_and_their_order():
    some, none, whole = cell((False, True, False)), cell((True, True)), cell((False, False))
    kept = finished([some, none, whole])
    assert [o.params for o in kept] == [{"tag": 1}, {"tag": 0}]
    assert kept[0].table.values.tolist() == [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]
    assert (kept[0].table.n_trials, kept[0].table.n_failed) == (2, 0)
    assert not kept[0].table.failed.any()
    assert kept[1].table is whole.table


def test_a_presentation_of_finished_trials_says_how_many_are_left_out():
    @of_finished
    def present(observed):
        return Presentation(notes=[f"{o.table.n_trials} trials" for o in observed])

    some, none = cell((False, True, False)), cell((True, True))
    first, note = present([some, none]).notes
    assert first == "2 trials"
    assert note.startswith("Failed trials (3) ")
    assert list(present([cell((False, False))]).notes) == ["2 trials"]
    assert replace(present([none]), notes=()) == NOTHING
