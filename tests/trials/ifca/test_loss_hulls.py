"""Labels that hulls prove, against exact residuals: what is proved is true, in every direction.

A client has the features X (n, d) and responses y.  The hull of a model is its base plus unit
directions, and the model is a point of it.  Everything is small numbers, so that fractions give
the residuals exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from trials.ifca.loss_hulls import ClientBounds, Hulls, LossForms, Proof, prove

BLUR = 64 * 2.0**-53


def proved(X, y, bases, coords, gaps=(0.0, 0.0), blur=BLUR, norm=None):
    """What is proved of one client in one run of k models on hulls along the unit vectors."""
    X, y, bases = np.asarray(X, float), np.asarray(y, float), np.asarray(bases, float)
    k, d = bases.shape
    hulls = Hulls.empty(1, k, d, d)
    hulls.base[0] = bases
    hulls.base_sizes[0] = np.linalg.norm(bases, axis=1)
    hulls.basis[0] = np.eye(d)
    hulls.counts[0] = d
    hulls.coords[0] = coords
    rests = y - bases @ X.T
    forms = LossForms(
        zeroth=(rests**2).sum(axis=1)[:, None],
        first=(rests @ X)[:, None, :],
        second=np.repeat((X.T @ X)[None, None], k, axis=0),
    )
    size = float(np.linalg.norm(X, 2)) * (1 + 1e-12) if norm is None else norm
    clients = ClientBounds(norms=np.array([size]), blurs=np.array([blur]))
    proof = Proof(
        labels=np.full((1, 1), -1),
        candidates=np.ones((1, 1, k), dtype=np.bool_),
        beyond=np.full((1, 1), np.nan),
        n_open=np.zeros(1, dtype=np.int64),
        radius=np.full(1, np.inf),
    )
    prove(0, 0, 0, clients, hulls, np.asarray(gaps, float), forms, proof, np.empty((2, k)))
    return proof, size


def residual(X, y, model):
    """The residual's norm from an exact square."""
    rows = [
        Fraction(float(t)) - sum(Fraction(float(a)) * b for a, b in zip(row, model, strict=True))
        for row, t in zip(X, y, strict=True)
    ]
    return math.sqrt(sum(r * r for r in rows))


@pytest.mark.parametrize("seed", range(6))
def test_the_radius_is_the_margin_over_the_norm_and_never_more(seed):
    """Two models: the label holds until the residuals' norms have moved by their difference."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-4, 5, (5, 2)).astype(float), rng.integers(-9, 10, 5).astype(float)
    bases, coords = rng.integers(-2, 3, (2, 2, 2)).astype(float)
    models = [[Fraction(b) + Fraction(c) for b, c in zip(*pair, strict=True)] for pair in
              zip(bases, coords, strict=True)]  # fmt: skip
    sizes = [residual(X, y, model) for model in models]
    proof, norm = proved(X, y, bases, coords)
    margin = abs(sizes[0] - sizes[1]) / norm
    if margin < 1e-6:
        assert proof.n_open[0] == 2
        return
    assert proof.labels[0, 0] == int(np.argmin(sizes))
    assert not proof.candidates[0, 0].any()
    assert margin * (1 - 1e-9) <= proof.radius[0] <= margin * (1 + 1e-15)


def test_residuals_that_are_lost_in_the_rounding_of_their_terms_prove_nothing():
    """Terms of 1e8 cancel to squares below 1e-6.  The last places of the terms make up 3e-6."""
    X, y = [[1.0]], [1e4]
    for near, far in ((1e-6, 5e-6), (0.0, 3e-6), (1e-5, 0.0), (1e-3, 5e-4), (1e-4, 3e-4)):
        proof, _ = proved(X, y, np.zeros((2, 1)), [[1e4 - near], [1e4 - far]])
        assert proof.n_open[0] == 2
        assert proof.candidates[0, 0].all()
        assert proof.radius[0] == np.inf
    # Residuals far above that rounding are told apart.
    proof, _ = proved(X, y, np.zeros((2, 1)), [[1e4 - 0.5], [1e4 - 2.0]])
    assert proof.labels[0, 0] == 0
    assert 1.4 < proof.radius[0] <= 1.5


@pytest.mark.parametrize(("base", "open_"), [(0.0, 0), (1e12, 2)])
def test_a_base_far_from_the_origin_blurs_the_model(base, open_):
    """The rounding of a model is relative to its base.  At 1e12 it is as large as the margin."""
    X = [[1.0], [1.0]]
    y = [base, base]
    bases = np.full((2, 1), base)
    proof, _ = proved(X, y, bases, [[1e-3], [2e-3]])
    assert proof.n_open[0] == open_


def test_a_model_beside_its_hull_is_as_uncertain_as_its_distance():
    """Residuals 1 and 4 of one row: distances of 0.9 each leave a margin, those of 1.6 do not."""
    X, y, coords = [[1.0]], [0.0], [[1.0], [4.0]]
    for gap, margin in ((0.0, 3.0), (0.9, 1.2), (1.4, 0.2), (1.6, None)):
        proof, _ = proved(X, y, np.zeros((2, 1)), coords, gaps=(gap, gap), norm=1.0)
        if margin is None:
            assert proof.n_open[0] == 2
        else:
            assert proof.n_open[0] == 0
            assert proof.radius[0] == pytest.approx(margin, rel=1e-9)
            assert proof.radius[0] <= margin


def test_a_model_that_is_worse_for_certain_is_no_candidate():
    """Of residuals 1, 1 and 5 two stay, and the bound of the third is kept."""
    proof, _ = proved([[1.0]], [0.0], np.zeros((3, 1)), [[1.0], [-1.0], [5.0]], gaps=(0, 0, 0))
    assert proof.candidates[0, 0].tolist() == [True, True, False]
    assert proof.n_open[0] == 2
    assert 5.0 * (1 - 1e-12) <= proof.beyond[0, 0] <= 5.0
    assert proof.radius[0] == np.inf
