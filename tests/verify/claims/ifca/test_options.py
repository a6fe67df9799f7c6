"""Two steps are compared as vectors: one of the stated length that points elsewhere is refuted."""

import math

import numpy as np
import pytest

from verify.claims.ifca import options, practice
from verify.claims.ifca.options import factor_between
from verify.papers import catalogue
from verify.procedures.base import PROFILES


@pytest.mark.parametrize("factor", [-3.0, 0.0, 0.25, 1.0])
def test_the_factor_of_a_multiple_is_found_with_its_sign(factor):
    x = np.random.default_rng(1).standard_normal((3, 4))
    assert factor_between(factor * x, x) == pytest.approx(factor, abs=1e-12)


@pytest.mark.parametrize("angle", [0.1, 1.0, math.pi / 2])
def test_a_turned_vector_counts_with_the_part_beside_the_other_one(angle):
    turned = np.array([math.cos(angle), math.sin(angle)])
    found = factor_between(2.0 * turned, np.array([1.0, 0.0]))
    assert found == pytest.approx(2.0 * (math.cos(angle) + math.sin(angle)))


@pytest.mark.parametrize(
    ("claim", "module", "is_changed"),
    [
        ("ifca.alg2-option-equality", options, lambda how: how.averaging == "model"),
        ("ifca.weight-sharing-step", practice, lambda how: how.shared.any()),
    ],
)
def test_a_step_away_from_the_data_is_refuted(claim, module, is_changed, monkeypatch):
    """The run goes the same way in the other direction, which no ratio of lengths shows."""
    run = module.run_ifca_options

    def turned(**given):
        found = run(**given)
        if is_changed(given["options"]):
            found.models[:] = 2.0 * given["starts"] - found.models
        return found

    search = catalogue()[claim].build(PROFILES["quick"]).with_budget(8)
    assert str(search.decide(None, 0.05).verdict) == "SUPPORTED"
    monkeypatch.setattr(module, "run_ifca_options", turned)
    assert str(search.decide(None, 0.05).verdict) == "REFUTED"
