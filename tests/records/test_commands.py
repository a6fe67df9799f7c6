"""The recorded values of the commands: `tests.records` says what a record is."""

from __future__ import annotations

from functools import partial

import pytest

from tests.records import commands
from tests.records.files import compare, recorded_names

pytestmark = pytest.mark.usefixtures("runs")
NAMES = recorded_names(commands.KIND)


@pytest.mark.parametrize("name", NAMES)
def test_the_values_are_those_that_are_recorded(name: str) -> None:
    compare(commands.KIND, NAMES[name], name, partial(commands.again, name))


def test_everything_has_a_record() -> None:
    assert commands.names() == NAMES


@pytest.fixture(scope="module")
def runs() -> None:
    """The runs that the commands look at take longer than the commands."""
    commands.runs()
