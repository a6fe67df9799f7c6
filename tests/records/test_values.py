"""What counts as a change of a recorded value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from tests.records import phrases
from tests.records.files import side_by_side
from tests.records.values import differences, in_old_words, plain


@dataclass(frozen=True)
class Half:
    """A record with a property."""

    whole: float

    @property
    def half(self) -> float:
        """Half of it."""
        return self.whole / 2


def test_a_record_is_its_fields_and_its_properties() -> None:
    assert plain(Half(3.0)) == {"whole": 3.0, "half": 1.5}


def test_many_rows_are_kept_column_by_column_and_equal_values_once() -> None:
    rows = [{"a": i, "b": "x"} for i in range(5)]
    kept = {"rows": 5, "a": [0, 1, 2, 3, 4], "b": {"each": "x", "number": 5}}
    assert plain(rows) == kept


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (1.0, 1.0 + 5e-7, True),
        (1.0, 1.0 + 5e-6, False),
        (1e-9, 1.1e-9, False),
        (0.0, 1e-15, True),
        (0.0, 1e-12, False),
        (1_000_000, 1_000_001, False),
        ("a", "b", False),
        ("nan", 1.0, False),
        ([1.0, 1e-12], [1.0, 2e-12], True),
        ([1.0, 1e-6], [1.0, 2e-6], False),
        ([1.0], [1.0, 2.0], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {}, False),
    ],
)
def test_floats_may_differ_by_rounding_and_nothing_else_may(
    old: object, new: object, same: bool
) -> None:
    assert (not differences(old, new)) == same


@pytest.mark.parametrize("at", [0, 3, 59])
def test_a_changed_entry_of_a_long_array_is_seen_wherever_it_stands(at: int) -> None:
    values = np.linspace(1.0, 2.0, 60)
    other = values.copy()
    other[at] *= 1.01
    assert differences(plain(values), plain(other))
    assert differences(plain(values), plain(values[::-1]))
    other[at] = math.nan
    assert differences(plain(values), plain(other))
    assert not differences(plain(values), plain(values * (1 + 1e-9)))


@pytest.mark.parametrize(
    ("recorded", "now", "same"),
    [
        ("… 12 … 3 of them fail.", "There are 12 cells. 3 of them fail.", True),
        ("… 12 … 3 of them fail.", "All 12 are beta-binomial. 3 of them fail.", True),
        ("… 12 … 3 of them fail.", "There are 13 cells. 3 of them fail.", False),
        ("… 12 … 3 of them fail.", "There are -12 cells. 3 of them fail.", False),
        ("… 12 … 3 of them fail.", "There are 12 cells, 4 dropped. 3 of them fail.", False),
        ("… 12 … 3 of them fail.", "There are 12 cells. 3 of them hold.", False),
        ("…", "Any words.", True),
        ("…", "Any words of 2.", False),
        ("Its own sentence.", "Another sentence.", False),
    ],
)  # fmt: skip
def test_a_gap_stands_for_any_words_without_a_number(recorded: str, now: str, same: bool) -> None:
    assert (not differences({"text": recorded}, {"text": now})) == same


def test_a_phrase_of_many_claims_is_left_out_of_each_and_its_numbers_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {
        name: {"text": f"We tried {i} of its cells. The claim {name} is odd.", "latex": "a b c d e"}
        for i, name in enumerate(("one", "two", "three"))
    }
    chosen = phrases.with_common({}, said)
    assert chosen == {"one": ["We tried # of its cells."]}
    monkeypatch.setattr(phrases, "known", lambda: {*chosen["one"]})
    kept = phrases.shortened(said["two"])
    assert phrases.shortened(kept) == kept
    assert kept == {"text": "… 1 … The claim two is odd.", "latex": "a b c d e"}
    assert not differences(kept, said["two"])
    assert [*phrases.sentences(kept)] == ["The claim two is odd."]


def test_the_difference_shows_what_has_changed_and_not_the_words_in_a_gap() -> None:
    old = {"a": "… 12 …", "b": list(range(40)), "c": 1.0}
    new = {"a": "Some 12 cells.", "b": list(range(40)), "c": 1.5}
    shown = "\n".join(side_by_side(old, in_old_words(old, new)))
    assert "1.5" in shown
    assert "12" not in shown
    assert "39" not in shown
