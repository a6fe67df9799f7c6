"""Relative distances, and the facts that decide the last bits."""

import math
import subprocess
import sys

import numpy as np
import pytest

from trials.run.machine import arithmetic, distance


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ([1.0, -2.0], [1.0, -2.0], 0.0),
        ([1.0, math.nan, math.inf], [1.0, math.nan, math.inf], 0.0),
        ([0.0], [-0.0], 0.0),
        ([4.0, 1.0], [4.0, 0.5], 0.5),
        ([3e-17], [0.0], 3e-9),  # both are next to nothing
        ([1.0], [math.inf], math.inf),
        ([-math.inf], [math.inf], math.inf),
        (2.0, 3.0, 1 / 3),
    ],
)
def test_the_distance_is_relative_to_the_larger_value(one, two, expected):
    assert distance(one, two) == distance(two, one) == pytest.approx(expected)


def test_the_processor_and_the_kernels_that_were_asked_for_are_named(monkeypatch):
    program = "from trials.run.machine import arithmetic; print(arithmetic()['blas'])"
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    if "OpenBLAS" in str(np.show_config(mode="dicts")) or "openblas" in str(
        np.show_config(mode="dicts")
    ):
        assert told.strip() == "Haswell"
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert arithmetic()["processor"] == "generic"
