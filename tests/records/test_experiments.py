"""The recorded values of the experiments: `tests.records` says what a record is."""

from __future__ import annotations

from functools import partial

import pytest

from tests.records import experiments
from tests.records.files import compare, recorded_names

NAMES = recorded_names(experiments.KIND)


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_that_are_recorded(name: str) -> None:
    compare(experiments.KIND, NAMES[name], name, partial(experiments.again, name))


def test_everything_has_a_record() -> None:
    assert experiments.names() == NAMES
