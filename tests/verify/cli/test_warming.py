"""Warming up: every kernel is called once, as a run calls it, on a terminal or not."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from tests.verify.toys import COIN, POWER
from trials.run.experiment import Experiment
from trials.run.streams import block_stream
from verify.cli.warming import _call, _kinds


@pytest.mark.parametrize("terminal", [True, False])
def test_a_kernel_is_called_with_checked_parameters_and_the_stream_of_a_first_block(
    terminal: bool,
) -> None:
    seen = []

    def simulate(params, rng, n_trials):  # type: ignore[no-untyped-def]
        seen.append((dict(params), rng.random(), n_trials))
        return np.zeros((n_trials, 1))

    made = Experiment(
        name="test.warm", design=COIN.design, columns=("bad",), simulate=simulate,
        parameters=COIN.parameters, block_size=1,
    )  # fmt: skip
    to = Console(file=io.StringIO(), force_terminal=terminal)
    assert to.is_terminal is terminal
    _call(made, {"p": 0.5}, "1 of 1: test.warm", to)
    first = block_stream(0, COIN.design, 0, 0).random()
    assert seen == [({"p": 0.5, "lost": 0.0, "tag": 0}, first, 1)]


def test_the_smallest_cell_of_each_experiment_and_choice_of_words_is_called() -> None:
    def procedure(experiment, *cells):  # type: ignore[no-untyped-def]
        return SimpleNamespace(experiment=lambda: experiment, complete_cells=lambda: cells)

    found = list(
        _kinds(
            [
                procedure(COIN, {"n": 100, "x": 1e9, "law": "a"}, {"n": 0, "x": 0.0, "law": "a"}),
                procedure(None),
                procedure(COIN, {"n": 7, "x": 1.0, "law": "b"}, {"n": 3, "x": 2.0, "law": "a"}),
                procedure(COIN, {"n": 5, "law": "b"}),
                procedure(POWER, {"n": 9, "d": 4}, {"n": 2, "d": 5}),
            ]
        )
    )
    assert found == [
        (COIN, {"n": 0, "x": 0.0, "law": "a"}),
        (COIN, {"n": 7, "x": 1.0, "law": "b"}),
        (COIN, {"n": 5, "law": "b"}),
        (POWER, {"n": 2, "d": 5}),
    ]
