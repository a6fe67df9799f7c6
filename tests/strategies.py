"""Hypothesis strategies for the models: mixtures, initialisations, partitions."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from trials.models import mixture as mx

seeds = st.integers(0, 2**32 - 1)
positive = st.floats(1e-3, 1e3)
closeness = st.floats(0.01, 0.49)
profiles = st.sampled_from(["equal", "one-small", "one-large", "geometric"])
inits = st.sampled_from(["random", "adversarial", "orthogonal"])


@st.composite
def partitions(draw, max_k=16, max_m=10**7):
    """``(m, fractions)`` with k <= m and unequal clusters down to p = 1/(50 k)."""
    k = draw(st.integers(1, max_k))
    m = draw(st.integers(k, max_m))
    profile = draw(profiles)
    if profile == "equal" or k == 1:
        return m, mx.fractions(k)
    p_min = draw(st.floats(1 / (50 * k), 1 / k))
    return m, mx.fractions(k, p_min, profile)


@st.composite
def mixtures(draw, max_k=6, max_d=12):
    """A valid `Mixture` with k >= 2, d >= 2, with separations and noise over six decades."""
    k = draw(st.integers(2, max_k))
    d = draw(st.integers(max(2, k - 1), max(max_d, k)))
    delta = draw(positive)
    rng = np.random.default_rng(draw(seeds))
    design = draw(st.sampled_from(["simplex", "line", "random"]))
    if design == "simplex":
        theta_star = mx.simplex(k, d, delta)
    elif design == "line":
        theta_star = mx.line(k, d, delta)
    else:
        theta_star = mx.random_centres(mx.gaussian_vectors(rng, (k,), d), Delta=delta)
    sizes = draw(st.lists(st.integers(1, 1000), min_size=k, max_size=k))
    return mx.Mixture(
        theta_star=theta_star,
        cluster_sizes=np.array(sizes),
        sigma=draw(st.one_of(st.just(0.0), positive)),
        n_samples=draw(st.integers(1, 1000)),
    )


@st.composite
def initialisations(draw, **limits):
    """``(mixture, alpha, init, theta)``: a mixture with models at exact closeness alpha."""
    mixture = draw(mixtures(**limits))
    alpha, init = draw(closeness), draw(inits)
    theta = mx.initialise(mixture, alpha, init, np.random.default_rng(draw(seeds)))
    return mixture, alpha, init, theta
