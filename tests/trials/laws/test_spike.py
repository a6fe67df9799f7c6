"""Rare spikes against samples drawn one by one, and against the inequalities that they attain."""

import math

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.laws.spike import spike_probability, wrong_label


def sizes(eta, pi, k):
    """Heights of a spike at the own model and at the rival's, from the variance."""
    both = (k - 1) * pi
    return eta / math.sqrt(both * (1 - both)), eta / math.sqrt(pi * (1 - pi))


def drawn_labels(gap, eta, n, k, clients, rng):
    """Labels from losses averaged sample by sample, (clients,), zero for the own model."""
    pi = spike_probability(gap, eta, n, k)
    own, rival = sizes(eta, pi, k)
    kinds = rng.choice(k, p=[1 - (k - 1) * pi, *[pi] * (k - 1)], size=(clients, n))
    losses = np.empty((clients, k))
    losses[:, 0] = own * ((kinds > 0).mean(axis=1) - (k - 1) * pi)
    for j in range(1, k):
        # a spike that just closes the gap counts as an error
        losses[:, j] = gap * (1 - 1e-9) - rival * ((kinds == j).mean(axis=1) - pi)
    return losses.argmin(axis=1)


@pytest.mark.parametrize(("gap", "eta", "n", "k"), [(1.0, 0.7, 1, 2), (0.5, 1.0, 7, 2)])
def test_two_models_are_mislabelled_as_often_as_the_law_says(gap, eta, n, k):
    clients = 40_000
    labels = drawn_labels(gap, eta, n, k, clients, np.random.default_rng(5))
    law = wrong_label(gap, eta, n, k)
    # five standard errors: a false alarm has a probability of 6e-7
    assert (labels > 0).mean() == pytest.approx(law, abs=5 * math.sqrt(law / clients))


def test_the_rivals_of_four_models_share_the_errors():
    gap, eta, n, k, clients = 2.0, 0.8, 5, 4, 60_000
    labels = drawn_labels(gap, eta, n, k, clients, np.random.default_rng(6))
    law = wrong_label(gap, eta, n, k)
    assert (labels > 0).mean() == pytest.approx(law, abs=5 * math.sqrt(law / clients))
    # ties of clients with spikes of two rivals go to the first of them: counted apart
    shares = np.bincount(labels, minlength=k)[1:] / clients
    assert shares == pytest.approx(np.full(k - 1, law / (k - 1)), abs=law**2 + 5e-3)


@pytest.mark.parametrize("n", [1, 3, 1000])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_the_noise_has_the_stated_variance_at_every_model(n, k):
    pi = spike_probability(3.0, 0.5, n, k)
    own, rival = sizes(0.5, pi, k)
    both = (k - 1) * pi
    assert own**2 * both * (1 - both) == pytest.approx(0.25)
    assert rival**2 * pi * (1 - pi) == pytest.approx(0.25)
    closes = own * (1 / n - both) + rival * (1 / n - pi)
    assert closes == pytest.approx(3.0, rel=1e-9)


def test_one_sample_attains_cantellis_inequality():
    for ratio in (1e-3, 0.3, 5.0):
        assert wrong_label(1.0, ratio, 1) == pytest.approx(1 / (1 + 1 / (4 * ratio**2)), rel=1e-9)


@pytest.mark.parametrize("k", [2, 5, 100])
def test_many_samples_come_close_to_the_largest_probability(k):
    n = 10**12
    limit = (1 + math.sqrt(k - 1)) ** 2 * 0.1**2 / n
    assert wrong_label(1.0, 0.1, n, k) == pytest.approx(limit, rel=1e-4)


def test_edges():
    assert wrong_label(1.0, 0.0, 5) == 0.0
    assert wrong_label(0.0, 1.0, 1) == pytest.approx(1.0)
    assert wrong_label(1e-9, 1.0, 1, 5) == pytest.approx(1.0)
    with pytest.raises(InvalidParameter, match="n=0 must be"):
        spike_probability(1.0, 1.0, 0)


@pytest.mark.parametrize("k", [2, 3, 4, 11])
def test_rivals_share_what_is_certain_and_no_more(k):
    """A spike is of one rival at a time, so the probabilities of k - 1 rivals add up to one."""
    for gap, eta in ((0.0, 1.0), (1e-9, 3.0), (1.0, 1e9)):
        each = spike_probability(gap, eta, 1, k)
        assert (k - 1) * each <= 1.0 + 1e-12
        assert wrong_label(gap, eta, 1, k) == pytest.approx((k - 1) * each, rel=1e-9)
    if k > 2:  # with two models and one sample only a gap of zero leaves nothing to chance
        assert spike_probability(0.0, 1.0, 1, k) == pytest.approx(1.0 / (k - 1), rel=1e-12)


@pytest.mark.parametrize(("n", "k"), [(1, 2), (7, 2), (7, 5), (400, 3)])
def test_a_mislabelled_client_is_rarer_for_wider_gaps_and_the_same_in_any_unit(n, k):
    found = [wrong_label(gap, 0.7, n, k) for gap in (0.0, 0.01, 0.3, 2.0, 50.0)]
    assert found == sorted(found, reverse=True)
    assert 0.0 < found[-1] < found[0] <= 1.0
    scaled = [wrong_label(64.0 * gap, 64.0 * 0.7, n, k) for gap in (0.0, 0.01, 0.3, 2.0, 50.0)]
    assert scaled == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("k", [2, 50])
@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("log_pi", [-20, -279.9, -280.1, -290, -600])
def test_the_rarest_spikes_have_the_law_of_small_probabilities_and_then_none(log_pi, n, k):
    """There room is (1 + 1 / sqrt(k - 1)) / (n sqrt(pi)), up to sqrt(pi) of it."""
    gap = (1.0 + 1.0 / math.sqrt(k - 1)) / n * 10.0 ** (-0.5 * log_pi)
    eta = 1.0
    if gap > 1e100:  # both within the range of lengths
        gap, eta = gap / 1e160, 1e-160
    found = spike_probability(gap, eta, n, k)
    if log_pi < -280:
        assert found == 0.0
    else:
        assert found == pytest.approx(10.0**log_pi, rel=1e-6)
