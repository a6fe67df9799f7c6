"""Client sizes, laws, covariances, polynomial features and the drawn model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from trials.models import federated_data as fd
from trials.models.federated_data import FederatedModel, Law
from trials.models.losses import LogisticLoss, SquaredLoss
from trials.models.mixture import fractions

LAWS = [Law(name=n) for n in fd.NOISE_LAWS] + [
    Law(name="sparse", shape=0.5),
    Law(name="heavy", shape=12.0),
]


@settings(deadline=None, max_examples=80)
@given(
    profile=st.sampled_from(["balanced", "zipf", "lognormal"]),
    n_clients=st.integers(1, 400),
    extra=st.floats(0.0, 50.0),
    spread=st.floats(0.0, 3.0),
    smallest=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_sizes_have_the_sum_and_the_floor(profile, n_clients, extra, spread, smallest, seed):
    rng = np.random.default_rng(seed)
    mean = smallest + extra
    sizes = fd.client_sizes(profile, n_clients, mean, rng, spread=spread, smallest=smallest)
    assert sizes.shape == (n_clients,)
    assert sizes.min() >= smallest
    assert sizes.sum() == round(n_clients * mean)
    if profile == "balanced":
        assert np.ptp(sizes) <= 1
    assert fd.imbalance(sizes) >= 0


def test_zipf_reaches_from_one_to_thousands():
    sizes = np.sort(fd.client_sizes("zipf", 5000, 10.0, np.random.default_rng(0)))
    assert sizes[0] == 1
    assert sizes[-1] > 4000
    # above the floor the largest stand in the proportions 1, 1/2, 1/3
    np.testing.assert_allclose(sizes[-1] / sizes[-4:], [4, 3, 2, 1], rtol=2e-3)


@pytest.mark.parametrize(("n_clients", "mean"), [(7, 9.3), (12, 20.0), (5, 31.4)])
def test_remainders_go_to_the_largest_fractional_parts(n_clients, mean):
    """The rule of largest remainders for shares 1, 1/2, 1/3, ... that all exceed one row."""
    shares = 1.0 / np.arange(1, n_clients + 1)
    total = round(n_clients * mean)
    ideal = total * shares / shares.sum()
    assert ideal.min() > 1.0
    wanted = np.floor(ideal).astype(int)
    for rank in sorted(range(n_clients), key=lambda r: -(ideal[r] % 1))[: total - wanted.sum()]:
        wanted[rank] += 1
    assert (wanted > ideal).any()
    sizes = fd.client_sizes("zipf", n_clients, mean, np.random.default_rng(n_clients))
    assert sorted(sizes) == sorted(wanted)


def test_imbalance_is_the_papers_divergence():
    sizes = np.array([1, 1, 2, 8])
    shares, uniform = sizes / 12, 1 / 4
    assert fd.imbalance(sizes) == pytest.approx(((shares - uniform) ** 2 / uniform).sum())
    assert fd.imbalance(np.full(7, 3)) == 0.0
    assert fd.imbalance([5]) == 0.0


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_laws_have_mean_zero_variance_one_and_their_kurtosis(law):
    """5 standard errors of means over 10 laws: false alarm 2e-5 (sampled moments have 4 more)."""
    w = law.draw(np.random.default_rng(3), (200_000,))
    assert abs(w.mean()) < 5 / math.sqrt(w.size)
    if math.isfinite(law.kurtosis):
        error = math.sqrt(max(law.kurtosis - 1, 0) / w.size)
        assert abs((w**2).mean() - 1) <= 5 * error + 1e-12
        fourth = w**4
        assert abs(fourth.mean() - law.kurtosis) <= 5 * fourth.std() / math.sqrt(w.size) + 1e-12
    else:  # t_3: the distribution function instead, P(|t_3| <= 1) = 1/3 + sqrt(3) / (2 pi)
        inside = (np.abs(w * math.sqrt(3.0)) <= 1).mean()
        exact = 1 / 3 + math.sqrt(3) / (2 * math.pi)
        assert abs(inside - exact) < 5 * math.sqrt(exact * (1 - exact) / w.size)


@pytest.mark.parametrize("rotated", [True, False])
def test_covariances_have_the_spectrum(rotated):
    roots = fd.covariance_roots(3, 6, 0.5, 4.0, np.random.default_rng(0), rotated=rotated)
    for root in roots:
        np.testing.assert_array_equal(root, root.T)
        spectrum = np.linalg.eigvalsh(root @ root)
        assert spectrum[0] == pytest.approx(0.5)
        assert spectrum[-1] == pytest.approx(4.0)
    identity = fd.covariance_roots(1, 3, 1.0, 1.0, np.random.default_rng(0))
    np.testing.assert_allclose(identity[0], np.eye(3), atol=1e-14)


def model(**changes):
    rng = np.random.default_rng(5)
    parts = {
        "theta_star": rng.standard_normal((3, 4)),
        "fractions": fractions(3, 0.1, "one-small"),
        "roots": fd.covariance_roots(3, 4, 0.5, 2.0, rng),
        "sigma": 0.3,
    }
    return FederatedModel(**(parts | changes))


def test_rows_belong_to_their_clients_clusters():
    """Without noise a response is its cluster's prediction exactly, n_i = 1 and large alike."""
    mixture = model(sigma=0.0)
    sizes = np.array([1, 500, 2, 1, 30])
    labels = np.array([0, 1, 2, 2, 0])
    sample = mixture.draw(sizes, np.random.default_rng(0), labels)
    np.testing.assert_array_equal(np.diff(sample.data.offsets), sizes)
    theta = mixture.theta_star[np.repeat(labels, sizes)]
    np.testing.assert_allclose(
        sample.data.responses, (sample.data.features * theta).sum(axis=1), rtol=1e-12, atol=1e-12
    )


@pytest.mark.statistical
def test_drawn_moments_are_the_models():
    """z-scores at 5 standard errors, 3 clusters x 17 entries + labels: false alarm 4e-5."""
    mixture, rng = model(features=Law(name="uniform"), noise=Law(name="laplace")), None
    rng = np.random.default_rng(1)
    sample = mixture.draw(np.full(60_000, 2), rng)
    counts = np.bincount(sample.labels, minlength=3)
    expected = 60_000 * mixture.fractions
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
    owners = np.repeat(sample.labels, 2)
    for j in range(3):
        x, y = sample.data.features[owners == j], sample.data.responses[owners == j]
        products = x[:, :, None] * x[:, None, :]
        gap = products.mean(axis=0) - mixture.population(j).covariance
        assert (np.abs(gap) < 5 * products.std(axis=0) / math.sqrt(len(x))).all()
        noise_sq = (y - x @ mixture.theta_star[j]) ** 2
        assert abs(noise_sq.mean() - 0.09) < 5 * noise_sq.std() / math.sqrt(len(x))


@pytest.mark.statistical
def test_logistic_labels_have_the_models_odds():
    """Score of the true model, 4 entries at 5 standard errors: false alarm 2e-6."""
    mixture = model(response="logistic")
    sample = mixture.draw([50_000], np.random.default_rng(2), [1])
    x, y = sample.data.features, sample.data.responses
    assert set(np.unique(y)) == {-1.0, 1.0}
    score = x * (y - np.tanh(x @ mixture.theta_star[1] / 2))[:, None]
    assert (np.abs(score.mean(axis=0)) < 5 * score.std(axis=0) / math.sqrt(len(x))).all()


def test_populations_know_their_responses():
    """So that the squared loss, whose formulas are for linear responses, refuses labels."""
    assert model().population(0).response == "linear"
    labels = model(response="logistic").population(2)
    with pytest.raises(InvalidParameter, match="response='logistic' of the population must"):
        SquaredLoss().minimiser(labels)
    np.testing.assert_array_equal(LogisticLoss(l2=0.0).minimiser(labels), labels.theta_star)


def test_equal_streams_draw_equal_data():
    one, two = (model().draw([3, 4], np.random.default_rng(9)) for _ in range(2))
    np.testing.assert_array_equal(one.data.features, two.data.features)
    np.testing.assert_array_equal(one.labels, two.labels)


def test_equal_sizes_are_balanced_whatever_they_are():
    sizes = np.full(3, 1e308)
    assert fd.imbalance(sizes) == 0.0
    np.testing.assert_array_equal(sizes, 1e308)


def test_bad_inputs_are_refused():
    rng = np.random.default_rng(0)
    for call in (
        lambda: fd.client_sizes("pareto", 3, 2.0, rng),
        lambda: fd.client_sizes("zipf", 0, 2.0, rng),
        lambda: fd.client_sizes("zipf", 3, 0.5, rng),
        lambda: fd.client_sizes("lognormal", 3, 2.0, rng, spread=-1.0),
        lambda: fd.client_sizes("zipf", 3, 1e300, rng),
        lambda: fd.imbalance([1, 0]),
        lambda: fd.imbalance("a"),
        lambda: Law(name="cauchy"),
        lambda: Law(name="heavy", shape=2.0),
        lambda: Law(name="sparse", shape=0.0),
        lambda: Law(name="gaussian", shape=1.0),
        lambda: fd.covariance_roots(2, 3, 2.0, 1.0, rng),
        lambda: fd.covariance_roots(2, 3, 0.0, 1.0, rng),
        lambda: model(fractions=np.array([0.5, 0.5, 0.5])),
        lambda: model(fractions=np.array([0.5, 0.5, 0.0])),
        lambda: model(theta_star=np.full((3, 4), np.nan)),
        lambda: model(roots=np.eye(4)),
        lambda: model(sigma=-0.1),
        lambda: model(features=Law(name="laplace")),
        lambda: model().draw([2, 0], rng),
        lambda: model().draw([2.5], rng),
        lambda: model().draw([2], rng, [3]),
        lambda: model().draw([2], rng, [0.7]),
        lambda: model().draw([2], rng, ["a"]),
        lambda: model().draw([10**10], rng),
        lambda: model().population(3),
        lambda: model(fractions="a"),
    ):
        with pytest.raises(InvalidParameter, match="must"):
            call()


def test_sizes_have_their_sum_where_shares_are_rounded_to_whole_numbers():
    """Two shares of 4503599627370497 / 2^53 were rounded up: the sum was 2 too large."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 6))
        mean = float(2**53 // n - rng.integers(0, 1000))
        sizes = fd.client_sizes("lognormal", n, mean, rng, spread=[1e-9, 0.01, 1.0][seed % 3])
        assert int(sizes.sum()) == round(n * mean)
        assert sizes.min() >= 1
