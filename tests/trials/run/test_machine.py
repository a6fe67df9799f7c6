"""Relative distances, and the facts that decide the last bits."""

import hashlib
import math
import re
import subprocess
import sys
import types
from fractions import Fraction

import numpy as np
import pytest

from trials.run import machine
from trials.run.machine import (
    arithmetic,
    distance,
    machine_differences,
    machine_name,
    ulps,
)


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
        assert set(re.findall(r"\w+$", told.strip().replace(",", "\n"), re.M)) == {"Haswell"}
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert arithmetic.__wrapped__()["processor"] == "generic"


def test_ulps_count_the_floats_between():
    assert ulps([1.0, -1.0], [np.nextafter(1.0, 2.0), -1.0]) == 1
    assert ulps(-5e-324, 5e-324) == 2
    assert ulps(-np.finfo(float).max, np.finfo(float).max) == 2 * (0x7FEFFFFFFFFFFFFF)
    assert ulps([1.0, math.inf], [1.0, 2.0]) is None
    assert ulps([math.inf], [math.inf]) == 0


def test_a_machine_is_named_by_all_that_decides_its_last_bits():
    facts = dict(arithmetic())
    assert set(facts) == {"platform", "processor", "simd", "blas", "libm"}
    names = {machine_name(facts)} | {machine_name({**facts, name: "other"}) for name in facts}
    assert len(names) == 6
    assert machine_name(dict(reversed(facts.items()))) == machine_name(facts)
    assert machine_differences(facts, facts) == []
    assert machine_differences({**facts, "blas": "a"}, {**facts, "blas": "b"}) == [
        "blas a against b"
    ]


def test_a_processor_is_named_with_the_features_that_kernels_are_compiled_for(monkeypatch):
    monkeypatch.delenv("NUMBA_CPU_FEATURES", raising=False)
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")  # compiled for no feature
    assert machine._processor() == "generic"
    digests = []
    for features in ("+avx", "+avx,+fma"):
        monkeypatch.setenv("NUMBA_CPU_FEATURES", features)
        digests.append(hashlib.sha256(features.encode()).hexdigest()[:8])
        assert machine._processor() == f"generic {digests[-1]}"
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    assert machine._processor() == "generic"
    monkeypatch.delenv("NUMBA_CPU_NAME")
    monkeypatch.delenv("NUMBA_CPU_FEATURES")
    assert re.fullmatch(r"\S+ [0-9a-f]{8}", machine._processor())


def test_the_instructions_are_those_that_the_processor_has(monkeypatch):
    loops = types.SimpleNamespace(
        __cpu_features__={"AVX2": True, "AVX512F": False, "SSE": True},
        __cpu_dispatch__=["AVX2", "AVX512F", "VSX"],
    )
    monkeypatch.setattr(np._core, "_multiarray_umath", loops)
    assert machine._numpy_simd() == "AVX2"
    loops.__cpu_features__["AVX2"] = False
    assert machine._numpy_simd() == "baseline"


def test_a_blas_that_no_trial_calls_makes_no_other_machine(monkeypatch):
    """A package of the user's may load its own."""

    def blas(name, place):
        return {
            "user_api": "blas",
            "internal_api": name,
            "version": "1",
            "architecture": "x",
            "filepath": place,
        }

    numpys = blas("openblas", "/site/numpy.libs/a.so")
    for found, told in (
        ([numpys, blas("mkl", "/site/torch/b.so")], "openblas 1 x"),
        ([blas("mkl", "/site/torch/b.so")], "mkl 1 x"),  # one of them must be NumPy's
        ([numpys, blas("flexiblas", "/site/scipy.libs/c.so")], "flexiblas 1 x, openblas 1 x"),
    ):
        monkeypatch.setattr(machine, "threadpool_info", lambda found=found: found)
        assert arithmetic.__wrapped__()["blas"] == told


def test_a_part_that_one_machine_lacks_is_a_difference():
    """One of them did not record it, so that nobody knows that it is the same."""
    assert machine_differences({"a": "1"}, {"a": "1", "b": "2"}) == ["b not recorded against 2"]
    assert machine_differences({"a": "1", "b": "2"}, {"a": "1"}) == ["b 2 against not recorded"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1.7e308, -1.7e308),
        (1e308, -1.5e308),
        (-1.7e308, 1e-300),
        (1.7e308, 1.6e308),
        (3.0, -5e-324),
    ],
)
def test_the_distance_of_the_largest_numbers_is_that_of_exact_arithmetic(one, two):
    """The difference overflowed: opposite numbers were infinitely far apart, with a warning."""
    a, b = Fraction(one), Fraction(two)
    exact = abs(a - b) / max(abs(a), abs(b))
    with np.errstate(all="raise"):
        found = distance([one, 1.0], [two, 1.0])
    assert abs(Fraction(found) - exact) <= exact * Fraction(1, 2**51)
