"""The recorded values of the other parts of `trials`: `tests.records` says what a record is."""

from __future__ import annotations

from functools import partial

import pytest

from tests.records import calls
from tests.records.files import compare, recorded_names

NAMES = recorded_names(calls.KIND)


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_that_are_recorded(name: str) -> None:
    compare(calls.KIND, NAMES[name], name, partial(calls.again, name))


def test_everything_has_a_record() -> None:
    assert calls.names() == NAMES
