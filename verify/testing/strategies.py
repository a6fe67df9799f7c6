"""Hypothesis strategies for tests of clustered federated learning.

All sizes are bounded, and every strategy shrinks: to fewer clients, points and coordinates, and to
small whole numbers.  The kinds of numbers are listed from the simplest to the oddest, and
Hypothesis prefers the first.

>>> from hypothesis import find
>>> problem = find(federated(simple=True), lambda _problem: True)
>>> problem["models"].tolist()
[[0.0]]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trials.checks import FloatArray, IntArray
from trials.models import mixture as mx
from trials.models.federated_data import client_sizes
from verify.testing.case import Case, Clients

__all__ = [
    "clients_of_mixture",
    "clients_of_sizes",
    "closeness",
    "entries",
    "federated",
    "initialisations",
    "inits",
    "label_vectors",
    "mixtures",
    "partitions",
    "point_sets",
    "positive",
    "profiles",
    "reflections",
    "schedules",
    "seeds",
    "separated",
    "sizes",
]

P = ParamSpec("P")
T = TypeVar("T")


def kept(make: Callable[P, st.SearchStrategy[T]]) -> Callable[P, st.SearchStrategy[T]]:
    """A maker of strategies that returns one for equal arguments, where these can be kept.

    Hypothesis looks at a new strategy before it draws from it, which takes longer than the draw.
    """
    known = lru_cache(maxsize=1024)(make)

    @wraps(make)
    def again(*args: P.args, **kwargs: P.kwargs) -> st.SearchStrategy[T]:
        try:
            return known(*args, **kwargs)  # type: ignore[arg-type]
        except TypeError:  # a list or an array as an argument
            return make(*args, **kwargs)

    return again


seeds = st.integers(0, 2**32 - 1)
positive = st.floats(1e-3, 1e3)
closeness = st.floats(0.01, 0.49)
profiles = st.sampled_from(["equal", "one-small", "one-large", "geometric"])
inits = st.sampled_from(["random", "adversarial", "orthogonal", "translation"])
_NUMBERS = st.sampled_from(["whole", "normal", "mixed"])
_SIZES = st.sampled_from(["same", "balanced", "zipf"])
_SEPARATIONS = st.sampled_from([1.0, 8.0])
_STARTS = st.sampled_from([0.25, 0.45])
_CLOUDS = st.sampled_from(["lattice", "cloud", "duplicates", "collinear", "mixed"])


# -- numbers -------------------------------------------------------------------------------------


@kept
def whole(shape: tuple[int, ...], size: int = 4) -> st.SearchStrategy[FloatArray]:
    """Arrays of whole numbers in [-size, size], with which short sums and products are exact."""
    return hnp.arrays(np.float64, shape, elements=st.integers(-size, size).map(float))


@kept
@st.composite
def entries(draw: st.DrawFn, shape: tuple[int, ...]) -> FloatArray:
    """An array of whole, normal or badly scaled numbers (rows of size 1e-6 to 1e6)."""
    kind = draw(_NUMBERS)
    if kind == "whole":
        return np.asarray(draw(whole(shape)))
    rng = np.random.default_rng(draw(seeds))
    numbers = rng.standard_normal(shape)
    if kind == "mixed":
        numbers *= 10.0 ** rng.uniform(-6, 6, (*shape[:-1], 1))
    return numbers


@kept
@st.composite
def reflections(draw: st.DrawFn, d: int) -> FloatArray:
    """A (d, d) orthogonal matrix, the reflection at the plane across a whole vector."""
    normal = draw(whole((d,)))
    if not normal.any():
        return np.eye(d)
    return np.asarray(np.eye(d) - 2.0 * np.outer(normal, normal) / (normal @ normal))


@kept
def label_vectors(m: int, k: int) -> st.SearchStrategy[IntArray]:
    """(m,) labels in 0..k-1.  A cluster may be empty."""
    return hnp.arrays(np.int64, (m,), elements=st.integers(0, k - 1))


@kept
@st.composite
def schedules(draw: st.DrawFn, max_rounds: int = 5) -> tuple[float, int]:
    """``(factor, rounds)``: a step size in units of the longest stable one, and a number >= 1."""
    return draw(st.sampled_from([0.5, 1.0, 0.125])), draw(st.integers(1, max_rounds))


# -- mixtures and starts -------------------------------------------------------------------------


@st.composite
def partitions(draw: st.DrawFn, max_k: int = 16, max_m: int = 10**7) -> tuple[int, FloatArray]:
    """``(m, fractions)`` with k <= m and unequal clusters down to p = 1/(50 k)."""
    k = draw(st.integers(1, max_k))
    m = draw(st.integers(k, max_m))
    profile = draw(profiles)
    if profile == "equal" or k == 1:
        return m, mx.fractions(k)
    p_min = draw(st.floats(1 / (50 * k), 1 / k))
    return m, mx.fractions(k, p_min, profile)


@st.composite
def mixtures(draw: st.DrawFn, max_k: int = 6, max_d: int = 12) -> mx.Mixture:
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
    counts = draw(st.lists(st.integers(1, 1000), min_size=k, max_size=k))
    return mx.Mixture(
        theta_star=theta_star,
        cluster_sizes=np.array(counts),
        sigma=draw(st.one_of(st.just(0.0), positive)),
        n_samples=draw(st.integers(1, 1000)),
    )


@st.composite
def initialisations(
    draw: st.DrawFn, max_k: int = 6, max_d: int = 12
) -> tuple[mx.Mixture, float, str, FloatArray]:
    """``(mixture, alpha, init, theta)``: a mixture with models at exact closeness alpha."""
    mixture = draw(mixtures(max_k, max_d))
    alpha, init = draw(closeness), draw(inits)
    theta = mx.initialise(mixture, alpha, init, np.random.default_rng(draw(seeds)))
    return mixture, alpha, init, theta


# -- federated data ------------------------------------------------------------------------------


@kept
@st.composite
def sizes(draw: st.DrawFn, m: int, max_n: int = 6, min_n: int = 1, equal: bool = False) -> IntArray:
    """(m,) rows of each client: balanced, Zipf or, always with ``equal``, the same for all."""
    profile = draw(_SIZES)
    mean = draw(st.integers(min_n, max_n))
    if equal or profile == "same":
        return np.full(m, mean, dtype=np.int64)
    rng = np.random.default_rng(draw(seeds))
    counts = client_sizes(profile, m, min(mean + 0.5, max_n), rng, spread=1.5, smallest=min_n)
    return np.asarray(np.minimum(counts, 3 * max_n))


@st.composite
def clients_of_sizes(draw: st.DrawFn, counts: IntArray, d: int, numbers: Any = entries) -> Clients:
    """Clients of the given sizes.  Features and responses have no relation."""
    pairs = []
    for n in counts:
        block = draw(numbers((int(n), d + 1)))
        pairs.append((np.ascontiguousarray(block[:, :d]), block[:, d].copy()))
    return Clients(tuple(pairs))


def clients_of_mixture(
    theta_star: FloatArray, labels: IntArray, counts: IntArray, sigma: float,
    rng: np.random.Generator,
) -> Clients:  # fmt: skip
    """Clients whose responses follow their clusters' regressions with Gaussian noise."""
    pairs = []
    for label, n in zip(labels, counts, strict=True):
        x = rng.standard_normal((int(n), theta_star.shape[1]))
        y = x @ theta_star[label] + sigma * rng.standard_normal(int(n))
        pairs.append((x, y))
    return Clients(tuple(pairs))


@kept
@st.composite
def federated(
    draw: st.DrawFn,
    max_m: int = 6,
    max_n: int = 5,
    max_d: int = 3,
    max_k: int = 3,
    equal: bool = False,
    simple: bool = False,
) -> Case:
    """``{"models": ..., "clients": ...}`` for one round, ordinary or adversarial.

    The clients come from a mixture, and the models start from it as a theorem's start does.  Or
    both are arrays of whole, normal or badly scaled numbers, where clients may have equal losses.
    With ``simple`` all numbers are whole.
    """
    m = draw(st.integers(1, max_m))
    counts = draw(sizes(m, max_n, equal=equal))
    if simple or draw(st.sampled_from(["arrays", "mixture"])) == "arrays":
        d, k = draw(st.integers(1, max_d)), draw(st.integers(1, max_k))
        numbers = whole if simple else entries
        models, clients = draw(numbers((k, d))), draw(clients_of_sizes(counts, d, numbers))
        return {"models": models, "clients": clients}
    k = draw(st.integers(2, max(max_k, 2)))
    d = max(k - 1, 2)
    theta_star = mx.simplex(k, d, draw(_SEPARATIONS))
    rng = np.random.default_rng(draw(seeds))
    mixture = mx.Mixture(
        theta_star=theta_star, cluster_sizes=np.ones(k, dtype=np.int64), sigma=0.5, n_samples=1
    )
    models = mx.initialise(mixture, draw(_STARTS), draw(inits), rng)
    labels = draw(label_vectors(m, k))
    return {"models": models, "clients": clients_of_mixture(theta_star, labels, counts, 0.5, rng)}


# -- points --------------------------------------------------------------------------------------


@kept
@st.composite
def point_sets(draw: st.DrawFn, max_m: int = 8, max_d: int = 3, simple: bool = False) -> FloatArray:
    """(m, d) points: a lattice, a cloud, duplicates up to 1e-12, on a line, or of mixed scales."""
    m, d = draw(st.integers(1, max_m)), draw(st.integers(1, max_d))
    kind = "lattice" if simple else draw(_CLOUDS)
    if kind == "lattice":
        return np.asarray(draw(whole((m, d))))
    rng = np.random.default_rng(draw(seeds))
    if kind == "mixed":
        return rng.standard_normal((m, d)) * 10.0 ** rng.uniform(-6, 6, (m, 1))
    if kind == "duplicates":
        distinct = rng.standard_normal((max(1, (m + 1) // 2), d))
        return np.asarray(distinct[np.arange(m) % len(distinct)]) + 1e-12 * rng.standard_normal(
            (m, d)
        )
    if kind == "collinear":
        return np.outer(rng.integers(-5, 6, m) + rng.standard_normal(m), rng.standard_normal(d))
    return rng.standard_normal((m, d))


@kept
@st.composite
def separated(
    draw: st.DrawFn, max_k: int = 3, max_each: int = 3, max_d: int = 3, simple: bool = False
) -> Case:
    """Points in groups that are a thousand times as far apart as wide: ``points`` and ``truth``."""
    k, d = draw(st.integers(1, max_k)), draw(st.integers(1, max_d))
    counts = draw(st.lists(st.integers(1, max_each), min_size=k, max_size=k))
    truth = np.array(draw(st.permutations(np.repeat(np.arange(k), counts).tolist())))
    rng = np.random.default_rng(draw(seeds))
    centres = 1000.0 * np.arange(1, k + 1)[:, None] * np.eye(d)[0]
    width = 0.0 if simple else 0.5
    points = centres[truth] + rng.uniform(-width, width, (len(truth), d))
    return {"points": points, "truth": truth}
