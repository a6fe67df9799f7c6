"""The mixture model: what is promised exactly holds exactly, bad input gives one clear line."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from trials.checks import InvalidParameter
from trials.models import matching as mt
from trials.models import mixture as mx
from verify.testing.strategies import closeness, initialisations, partitions, positive

few = settings(deadline=None, max_examples=60)


@few
@given(partitions())
def test_sizes_sum_to_m_and_stay_within_one_client_of_the_fractions(partition):
    m, weights = partition
    sizes = mx.cluster_sizes(m, weights)
    assert sizes.sum() == m
    assert sizes.min() >= 1
    raised = np.maximum(1 - m * weights, 0).sum()  # clients lent to clusters below one client
    assert np.all(np.abs(sizes - m * weights) <= 1 + raised + 1e-6)
    assert np.all(np.diff(weights) >= -1e-12)


@few
@given(
    st.integers(0, 6),
    st.lists(st.integers(1, 3) | st.integers(10, 40), min_size=1, max_size=6),
)
@example(2, [1, 20, 1, 15])  # two clusters are lent a client by the others
def test_no_sizes_of_at_least_one_client_are_closer_to_the_fractions(more, parts):
    """Against all of them, also where small clusters are lent clients, and in every order."""
    k, m, total = len(parts), len(parts) + more, sum(parts)
    sizes = mx.cluster_sizes(m, np.array(parts) / total).tolist()

    def off(candidate):
        return sum(
            (total * size - m * part) ** 2 for size, part in zip(candidate, parts, strict=True)
        )

    every = [
        [after - before for before, after in itertools.pairwise((0, *ends, m))]
        for ends in itertools.combinations(range(1, m), k - 1)
    ]
    assert sizes in every
    assert off(sizes) == min(map(off, every))


@few
@given(
    st.integers(2, 16), st.floats(1, 1e4), st.sampled_from(["one-small", "one-large", "geometric"])
)
def test_ratio_is_exact_and_agrees_with_p_min(k, ratio, profile):
    weights = mx.fractions_with_ratio(k, ratio, profile)
    assert weights.max() / weights.min() == pytest.approx(ratio, rel=1e-12)
    again = mx.fractions(k, weights.min(), profile)
    np.testing.assert_allclose(again, weights, rtol=1e-9)


@few
@given(st.integers(1, 16), st.integers(0, 20), positive, st.booleans())
def test_simplex_is_equidistant(k, more, delta, centered):
    d = max(k - 1, 1) + more if centered else k + more
    theta_star = mx.simplex(k, d, delta, centered=centered)
    gaps = [np.linalg.norm(theta_star[i] - theta_star[j]) for i in range(k) for j in range(i)]
    np.testing.assert_allclose(gaps, delta, rtol=1e-12)
    if centered:
        np.testing.assert_allclose(theta_star.sum(axis=0), 0, atol=1e-12 * delta * k)
    else:
        assert np.all(theta_star >= 0)


def test_line_and_random_centres_have_the_stated_separation():
    assert mx.separation(mx.line(5, 3, 0.7)) == pytest.approx(0.7)
    vectors = mx.gaussian_vectors(np.random.default_rng(1), (9, 4), 6)
    centres = mx.random_centres(vectors, Delta=2.5)
    np.testing.assert_allclose(mx.separation(centres), 2.5, rtol=1e-12)
    norms = np.linalg.norm(centres, axis=-1)
    np.testing.assert_allclose(norms, norms[:, :1] * np.ones(4), rtol=1e-12)


def test_bernoulli_centres_are_rescaled_zero_one_vectors():
    vectors = mx.bernoulli_vectors(np.random.default_rng(2), 3, 40)
    assert set(np.unique(vectors)) == {0.0, 1.0}
    np.testing.assert_allclose(
        np.linalg.norm(mx.random_centres(vectors, norm=1.7), axis=1), 1.7, rtol=1e-12
    )


@few
@given(initialisations())
def test_initialisations_have_exact_closeness(case):
    mixture, alpha, _, theta = case
    distances = np.linalg.norm(theta - mixture.theta_star, axis=1)
    np.testing.assert_allclose(distances, (0.5 - alpha) * mixture.Delta, rtol=1e-9)


@few
@given(initialisations())
def test_adversarial_and_orthogonal_directions(case):
    mixture, _, init, theta = case
    assume(init in ("adversarial", "orthogonal"))
    moves = theta - mixture.theta_star
    nearest = mx.nearest_other(np.array(mixture.theta_star))
    segments = mixture.theta_star[nearest] - mixture.theta_star
    cosine = np.sum(moves * segments, axis=1) / (
        np.linalg.norm(moves, axis=1) * np.linalg.norm(segments, axis=1)
    )
    victim = int(np.argmax(mixture.cluster_sizes))
    if init == "adversarial":
        np.testing.assert_allclose(cosine, 1, rtol=1e-9)
    else:
        assert abs(cosine[victim]) < 1e-7
        others = np.delete(np.arange(mixture.k), victim)
        towards = mixture.theta_star[victim] - mixture.theta_star[others]
        alignment = np.sum(moves[others] * towards, axis=1) / (
            np.linalg.norm(moves[others], axis=1) * np.linalg.norm(towards, axis=1)
        )
        np.testing.assert_allclose(alignment, 1, rtol=1e-9)


@pytest.mark.parametrize("init", ["orthogonal", "translation"])
def test_the_last_cluster_is_the_victim_unless_another_one_is_named(init):
    """All other models move towards the victim's centre."""
    rng = np.random.default_rng(5)
    centres, gaussian = rng.standard_normal((2, 4, 6)), rng.standard_normal((2, 4, 6))
    for victim in (None, 0, 1, 3):
        named = {} if victim is None else {"victim": victim}
        moves = mx.init_directions(centres, init, gaussian, **named)
        index = 3 if victim is None else victim
        others = [j for j in range(4) if j != index]
        towards = centres[:, [index]] - centres[:, others]
        np.testing.assert_allclose(moves[:, others], towards)
        assert not np.any(np.isclose(moves[:, index], 0.0).all(axis=-1))


def test_orthogonal_leaves_the_span_of_the_centres_where_there_is_room():
    theta_star = mx.simplex(4, 9, 1.0)
    gaussian = mx.gaussian_vectors(np.random.default_rng(3), (4,), 9)
    direction = mx.init_directions(theta_star, "orthogonal", gaussian)[-1]
    np.testing.assert_allclose(theta_star @ direction, 0, atol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("d", [2, 3, 40])
def test_frame_has_the_law_of_gaussian_inner_products(d):
    rng = np.random.default_rng(4)
    frame = mx.gaussian_frame(rng, (4000, 3), d)
    plain = rng.standard_normal((4000, 3, d))
    assert frame.shape[-1] == min(3, d)
    for i in range(3):
        for j in range(i + 1):
            ours = np.sum(frame[:, i] * frame[:, j], axis=1)
            theirs = np.sum(plain[:, i] * plain[:, j], axis=1)
            # 18 two-sample tests at 1e-5 each: false alarm below 2e-4, seed fixed
            assert stats.ks_2samp(ours, theirs).pvalue > 1e-5


@few
@given(closeness)
def test_random_starts(alpha):
    rng = np.random.default_rng(5)
    assert set(np.unique(mx.random_start("bernoulli", 3, 50, rng))) == {0.0, 1.0}
    rescaled = mx.random_start("bernoulli-rescaled", 3, 50, rng, norm=alpha)
    np.testing.assert_allclose(np.linalg.norm(rescaled, axis=1), alpha, rtol=1e-12)
    assert mx.random_start("gaussian", 3, 50, rng, norm=alpha).shape == (3, 50)


GOOD = {
    "theta_star": np.eye(3),
    "cluster_sizes": np.array([2, 3, 4]),
    "sigma": 1.0,
    "n_samples": 5,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples=0 must be an integer >= 1"),
        ({"n_samples": 2.5}, "n_samples=2.5 must be an integer >= 1"),
        ({"sigma": -1.0}, "sigma=-1.0 must be a finite number >= 0"),
        ({"sigma": math.nan}, "sigma=nan must be a finite number >= 0"),
        ({"cluster_sizes": np.array([2, 0, 4])}, "must hold integers in"),
        ({"cluster_sizes": np.array([2, 4])}, r"must be \(k,\) with k=3"),
        ({"theta_star": np.full((3, 3), math.nan)}, r"theta_star\[0, 0\]=nan must be finite"),
        ({"theta_star": np.zeros(3)}, r"must be \(k, d\)"),
    ],
)
def test_mixture_refuses(change, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        mx.Mixture(**{**GOOD, **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mx.cluster_sizes(2, [0.4, 0.3, 0.3]),  # k > m
        lambda: mx.cluster_sizes(5, [0.5, 0.5, 0.0]),  # p_j = 0
        lambda: mx.cluster_sizes(5, [0.5, math.nan]),
        lambda: mx.cluster_sizes(5, [0.5, 0.4]),
        lambda: mx.fractions(4, 0.3, "one-small"),  # p_min > 1/k
        lambda: mx.fractions(4, 0.1, "equal"),
        lambda: mx.fractions(4, 0.1, "cubic"),
        lambda: mx.fractions_with_ratio(4, 0.5),
        lambda: mx.simplex(5, 3, 1.0),
        lambda: mx.simplex(2, 3, 0.0),
        lambda: mx.bernoulli_vectors(np.random.default_rng(0), 4, 2),
        lambda: mx.displace(np.eye(2), 0.6, np.eye(2)),
        lambda: mx.init_directions(np.array([[0.0], [1.0]]), "orthogonal", np.ones((2, 1))),
    ],
)
def test_impossible_parameters_are_refused(call):
    with pytest.raises(InvalidParameter):
        call()


@pytest.mark.parametrize("centered", [True, False])
def test_a_simplex_that_does_not_fit_into_memory_is_refused_by_its_coordinates(centered):
    """Neither of the two numbers alone is too large."""
    with pytest.raises(InvalidParameter, match=r"coordinates k d=16000000 must be <="):
        mx.simplex(4_000, 4_000, 1.0, centered=centered)


def test_properties_of_a_mixture():
    mixture = mx.Mixture(**{**GOOD, "sigma": 0.5})
    assert (mixture.k, mixture.d, mixture.m) == (3, 3, 9)
    assert mixture.p == pytest.approx(2 / 9)
    assert mixture.rho == pytest.approx(8.0)
    with pytest.raises(ValueError, match="read-only"):
        mixture.theta_star[0, 0] = 2.0


@pytest.mark.parametrize(
    ("vector", "unit"),
    [
        ([3e-200, 4e-200], [0.6, 0.8]),  # its square is zero
        ([0.0, -5e-200], [0.0, -1.0]),
        ([3.0, 4.0], [0.6, 0.8]),
    ],
)
def test_a_vector_of_any_length_but_zero_has_a_direction(vector, unit):
    assert mx.normalise(np.array([vector, [1.0, 0.0]])) == pytest.approx(
        np.array([unit, [1.0, 0.0]])
    )
    with pytest.raises(InvalidParameter, match="must not be zero"):
        mx.normalise(np.array([vector, [0.0, 0.0]]))


def test_one_draw_of_two_centres_in_one_direction_is_refused_among_others():
    """With a separation they would have an infinite norm.  A norm alone they may have."""
    apart, alike = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [2.0, 2.0]]
    for draws in ([apart, alike], [alike, apart]):
        with pytest.raises(InvalidParameter, match="must point in different directions"):
            mx.random_centres(np.array(draws), Delta=1.0)
        np.testing.assert_allclose(
            np.linalg.norm(mx.random_centres(np.array(draws), norm=3.0), axis=-1), 3.0, rtol=1e-12
        )


@pytest.mark.parametrize(("k", "p_min"), [(2, 1e-300), (3, 1e-100), (10, 1e-100), (10, 1e-300)])
def test_a_geometric_profile_reaches_any_smallest_fraction(k, p_min):
    """A bisection of [1, 1/p_min] did not end: ten fractions from 1e-100 on were .1 each."""
    found = mx.fractions(k, p_min, "geometric")
    assert found[0] == pytest.approx(p_min, rel=1e-12)
    assert found.sum() == pytest.approx(1.0, rel=1e-12)
    assert found[1:] / found[:-1] == pytest.approx(np.full(k - 1, found[1] / found[0]), rel=1e-12)


@pytest.mark.parametrize(("k", "d"), [(15, 4), (62, 6), (1000, 12)])
def test_nearly_all_zero_one_vectors_are_drawn_without_end_of_trials(k, d):
    """To draw k vectors until all are different takes e^13 trials for all of four coordinates."""
    vectors = mx.bernoulli_vectors(np.random.default_rng(0), k, d)
    numbers = vectors @ 2 ** np.arange(d)
    assert np.unique(numbers).size == k
    assert numbers.min() >= 1
    assert set(np.unique(vectors)) == {0.0, 1.0}
    if k == 2**d - 1:
        assert sorted(numbers) == list(range(1, k + 1))


def test_rare_vectors_are_uniform_in_every_place():
    # Of fifteen vectors in random order each place holds each of them equally often.
    draws = 1500
    rng = np.random.default_rng(1)
    first = [mx.bernoulli_vectors(rng, 15, 4)[[0, 7]] @ 2 ** np.arange(4) for _ in range(draws)]
    for place in np.transpose(first):
        counts = np.bincount(place.astype(int), minlength=16)[1:]
        assert stats.chisquare(counts).pvalue > 1e-6


def test_a_ratio_beyond_the_range_of_floats_is_infinite():
    def of(distance, sigma):
        centres = np.array([[0.0], [distance]])
        return mx.Mixture(theta_star=centres, cluster_sizes=[1, 1], sigma=sigma, n_samples=1).rho

    assert of(1e150, 1e-50) == math.inf
    assert of(3.0, 2.0) == 2.25


@pytest.mark.parametrize("power", [-1070, -560, -200, 0, 490])
def test_distances_have_no_unit(power):
    """Centres 1e-170 apart had the separation zero, and every model the distance zero."""
    centres = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 16.0]])
    scaled = np.ldexp(centres, power)
    assert np.ldexp(mx.separation(scaled), -power) == 5.0
    assert mx.nearest_other(scaled).tolist() == [1, 0, 1]
    mixture = mx.Mixture(
        theta_star=scaled, cluster_sizes=[1, 1, 1], sigma=math.ldexp(2.0, power), n_samples=1
    )
    assert mixture.rho == 6.25
    models = np.ldexp([[0.0, 0.0], [3.0, 16.0], [6.0, 8.0]], power)
    # Matched at best: 0, 0 and the distance 5 of (6, 8) from (3, 4).  Its nearest centre is that.
    for function, expected in (
        (mt.model_distance, 5.0 / 3.0), (mt.nearest_distance, 5.0 / 3.0),
        (mt.bottleneck_distances, 5.0),
    ):  # fmt: skip
        found = function(models[None], scaled)
        rounded = 0.3 if power < -1000 else 1e-14  # one unit of a subnormal number
        assert np.ldexp(found, -power) == pytest.approx([expected], rel=rounded)
    assert np.ldexp(mt.bottleneck_distance(models, scaled), -power) == 5.0
    assert mt.bottleneck_distance(scaled, scaled) == 0.0


@pytest.mark.parametrize("k", [2, 3, 50])
def test_geometric_clusters_whose_sizes_leave_the_floats_are_refused(k):
    """Their ratio is 1/p_min for two clusters: an OverflowError, and ten times too large for three.

    The smallest share that is taken is kept to all digits.
    """
    for p_min in (1e-309, 1e-320):
        with pytest.raises(InvalidParameter, match=r"p_min=.* must be >= 1e-300"):
            mx.fractions(k, p_min, "geometric")
    found = mx.fractions(k, 1e-300, "geometric")
    assert found[0] == pytest.approx(1e-300, rel=1e-9)
    steps = np.diff(np.log(found))
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-9)
