"""The strategies give what they say, reach their odd corners, and shrink to the simplest input."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tests.verify.testing.draws import made_of
from trials.models.mixture import Mixture
from verify.testing import strategies as own
from verify.testing.check import Scope
from verify.testing.subjects.rounds import _lattice, longest_stable

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
#: What is found shrinks, whichever phases are the default.
SEARCH = settings(
    max_examples=2000, deadline=None, phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@FEW
@given(own.federated(), st.data())
def test_federated_problems_fit_together(problem, data):
    models, clients = problem["models"], problem["clients"]
    for x, y in clients:
        assert x.shape == (len(y), models.shape[1])
        assert len(y) >= 1
    assert clients.data.n_clients == len(clients)
    labels = data.draw(own.label_vectors(len(clients), len(models)))
    assert 0 <= labels.min() <= labels.max() < len(models)


@pytest.mark.parametrize("simple", [False, True])
def test_equal_sizes_are_equal_of_whatever_kind_the_clients_are(simple):
    found = []

    @FEW
    @given(own.federated(equal=True, simple=simple))
    def look(problem):
        found.append(problem["clients"].sizes)

    look()
    assert all(len(set(sizes.tolist())) == 1 for sizes in found)
    assert len({len(sizes) for sizes in found}) > 2


@FEW
@given(own.federated(equal=True, simple=True))
def test_limits_are_kept(problem):
    assert len(set(problem["clients"].sizes.tolist())) == 1
    numbers = np.concatenate([np.column_stack(pair).ravel() for pair in problem["clients"]])
    assert (numbers == np.round(numbers)).all()


@FEW
@given(own.federated())
def test_the_longest_stable_step_makes_no_client_grow(problem):
    step = longest_stable(problem["clients"])
    for x, y in problem["clients"]:
        assert step * np.linalg.norm(x, 2) ** 2 / len(y) <= 1.0 + 1e-12


def sizes(case):
    """Dimension, number of models, of clients, and of rows of the first client."""
    (x, _), *_ = case["clients"]
    return case["models"].shape[1], len(case["models"]), len(case["clients"]), len(x)


@FEW
@given(_lattice(Scope(), "steps"))
def test_a_lattice_is_small_and_whole(case):
    assert all(size <= most for size, most in zip(sizes(case), (2, 3, 4, 4), strict=True))
    assert case["steps"] == 1
    for numbers in (case["models"], *(part for pair in case["clients"] for part in pair)):
        assert (numbers == np.round(numbers)).all()
        assert np.abs(numbers).max() <= 2.0


@FEW
@given(st.integers(1, 4).flatmap(own.reflections))
def test_reflections_are_orthogonal(matrix):
    assert np.allclose(matrix @ matrix.T, np.eye(len(matrix)), atol=1e-14)


@FEW
@given(own.separated())
def test_groups_are_far_apart(case):
    points, truth = case["points"], case["truth"]
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    same = truth[:, None] == truth
    assert gaps[same].max() < 2.0
    assert (gaps[~same] > 900.0).all()


def near(points):
    gaps = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(len(points), 1)]
    return bool(((gaps > 0) & (gaps < 1e-10)).any())


@pytest.mark.parametrize(
    ("strategy", "corner"),
    [
        (own.point_sets(), near),
        (own.point_sets(), lambda p: len(np.unique(p, axis=0)) < len(p)),
        (own.point_sets(), lambda p: len(p) > 2 and np.ptp(np.log10(np.abs(p) + 1e-9)) > 6),
        (own.federated(), lambda c: c["clients"].sizes.max() >= 3 * c["clients"].sizes.min()),
        (own.federated(), lambda c: len(c["clients"]) > 3 and (c["clients"].sizes == 1).all()),
        (own.federated(), lambda c: np.unique(c["models"], axis=0).shape != c["models"].shape),
        (_lattice(Scope(), None), lambda c: sizes(c) == (1, 2, 1, 1)),
        (_lattice(Scope(), None), lambda c: sizes(c)[:2] == (2, 3)),
        (_lattice(Scope(), None), lambda c: (c["models"][0] == c["models"][1]).all()),
    ],
)
def test_odd_corners_are_reached(strategy, corner):
    assert corner(find(strategy, corner, settings=SEARCH))


def test_point_sets_shrink_to_one_point_at_zero():
    assert find(own.point_sets(), lambda _points: True, settings=SEARCH).tolist() == [[0.0]]


def test_a_client_that_matters_shrinks_to_the_number_one():
    problem = find(
        own.federated(simple=True),
        lambda c: any(y.any() for _, y in c["clients"]),
        settings=SEARCH,
    )
    ((x, y),) = problem["clients"].pairs
    assert (x.tolist(), y.tolist()) == ([[0.0]], [1.0])


# -- every strategy with given draws -------------------------------------------------------------


def rng(seed):
    return np.random.default_rng(seed)


def test_the_ranges_of_numbers():
    assert repr(own.seeds) == repr(st.integers(0, 4294967295))
    assert repr(own.positive) == repr(st.floats(0.001, 1000.0))
    assert repr(own.closeness) == repr(st.floats(0.01, 0.49))


def test_labels_are_those_of_the_clusters_and_reach_the_first_and_the_last():
    @FEW
    @given(own.label_vectors(4, 3))
    def run(labels):
        assert labels.shape == (4,)
        assert labels.dtype == np.int64
        assert set(labels.tolist()) <= {0, 1, 2}

    run()
    for label in (0, 2):
        find(own.label_vectors(4, 3), lambda v, j=label: (v == j).all(), settings=SEARCH)


@pytest.mark.parametrize(("size", "strategy"), [(4, own.whole((2, 1))), (2, own.whole((2, 1), 2))])
def test_whole_numbers_reach_both_ends_of_their_size(size, strategy):
    @FEW
    @given(strategy)
    def run(numbers):
        assert numbers.shape == (2, 1)
        assert np.isin(numbers, range(-size, size + 1)).all()

    run()
    for end in (-size, size):
        find(strategy, lambda x, e=end: (x == e).all(), settings=SEARCH)


KINDS = st.sampled_from(["whole", "normal", "mixed"])


def test_entries_are_whole_normal_or_of_mixed_scale_row_by_row():
    shape = (3, 2)
    given_whole = np.ones(shape)
    found = made_of(own.entries(shape), (KINDS, "whole"), (own.whole(shape), given_whole))
    assert found is given_whole
    found = made_of(own.entries(shape), (KINDS, "normal"), (own.seeds, 5))
    assert found.tolist() == rng(5).standard_normal(shape).tolist()
    found = made_of(own.entries(shape), (KINDS, "mixed"), (own.seeds, 5))
    stream = rng(5)
    normal = stream.standard_normal(shape)
    powers = [10.0 ** (12.0 * u - 6.0) for u in stream.random(3)]  # one for each row
    assert found == pytest.approx(normal * np.array(powers)[:, None], rel=1e-13)
    blocks = made_of(own.entries((2, 3, 4)), (KINDS, "mixed"), (own.seeds, 5))
    stream = rng(5)
    normal = stream.standard_normal((2, 3, 4))
    powers = 10.0 ** (12.0 * stream.random(6) - 6.0)
    assert blocks == pytest.approx(normal * powers.reshape(2, 3, 1), rel=1e-13)


def test_a_reflection_turns_its_vector_round_and_keeps_what_is_across():
    across = np.array([2.0, -1.0, 5.0])
    normal = np.array([1.0, 2.0, 0.0])
    matrix = made_of(own.reflections(3), (own.whole((3,)), normal))
    assert matrix @ normal == pytest.approx(-normal, abs=1e-14)
    assert matrix @ across == pytest.approx(across, abs=1e-14)
    assert made_of(own.reflections(2), (own.whole((2,)), np.zeros(2))).tolist() == [[1, 0], [0, 1]]


def test_schedules_are_simple_shares_and_at_least_one_round():
    turns = ((st.sampled_from([0.5, 1.0, 0.125]), 0.125), (st.integers(1, 9), 4))
    assert made_of(own.schedules(9), *turns) == (0.125, 4)
    assert made_of(own.schedules(), turns[0], (st.integers(1, 5), 2)) == (0.125, 2)


def test_partitions_of_one_profile_have_the_smallest_share_that_was_drawn():
    def shares(k, profile, *smallest):
        turns = [(st.integers(1, 9), k), (st.integers(k, 20), 11), (own.profiles, profile)]
        if smallest:
            turns += [(st.floats(1 / (50 * k), 1 / k), *smallest)]
        m, found = made_of(own.partitions(9, 20), *turns)
        assert m == 11
        return found.tolist()

    assert shares(4, "equal") == [0.25] * 4
    assert shares(1, "one-small") == [1.0]
    assert shares(3, "one-small", 0.1) == pytest.approx([0.1, 0.45, 0.45], rel=1e-14)
    assert shares(3, "one-large", 0.1) == pytest.approx([0.1, 0.1, 0.8], rel=1e-14)
    first = made_of(
        own.partitions(),
        (st.integers(1, 16), 2),
        (st.integers(2, 10_000_000), 3),
        (own.profiles, "equal"),
    )
    assert first[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("design", "k", "most_d", "options"),
    [("simplex", 3, 12, {}), ("line", 2, 12, {}), ("random", 6, 6, {"max_k": 8, "max_d": 5})],
)
def test_mixtures_have_the_separation_and_the_noise_that_were_drawn(design, k, most_d, options):
    d, delta, counts = max(2, k - 1), 7.0, list(range(5, 5 + k))
    mixture = made_of(
        own.mixtures(**options),
        (st.integers(2, options.get("max_k", 6)), k),
        (st.integers(d, most_d), d),
        (own.positive, delta),
        (own.seeds, 11),
        (st.sampled_from(["simplex", "line", "random"]), design),
        (st.lists(st.integers(1, 1000), min_size=k, max_size=k), counts),
        (st.one_of(st.just(0.0), own.positive), 0.125),
        (st.integers(1, 1000), 17),
    )
    assert (mixture.k, mixture.d, mixture.sigma, mixture.n_samples) == (k, d, 0.125, 17)
    assert mixture.cluster_sizes.tolist() == counts
    centres = mixture.theta_star
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(k, 1)]
    assert gaps.min() == pytest.approx(delta, rel=1e-12)
    if design == "simplex":
        assert gaps == pytest.approx(np.full(len(gaps), delta), rel=1e-12)
    if design == "random":  # the directions of the stream's normal vectors
        lengths = np.linalg.norm(centres, axis=1)
        normal = rng(11).standard_normal((k, d))
        wanted = normal / np.linalg.norm(normal, axis=1)[:, None]
        assert centres / lengths[:, None] == pytest.approx(wanted, rel=1e-12)


def test_initialisations_start_at_the_closeness_that_was_drawn():
    mixture = Mixture(
        theta_star=np.array([[0.0, 0.0], [8.0, 0.0]]),
        cluster_sizes=np.array([1, 2]),
        sigma=0.5,
        n_samples=3,
    )
    found = made_of(
        own.initialisations(4, 5),
        (own.mixtures(4, 5), mixture),
        (own.closeness, 0.25),
        (own.inits, "random"),
        (own.seeds, 3),
    )
    assert found[0] is mixture
    assert found[1:3] == (0.25, "random")
    normal = rng(3).standard_normal((2, 2))
    moved = (0.5 - 0.25) * 8.0 * normal / np.linalg.norm(normal, axis=1)[:, None]
    assert found[3] - mixture.theta_star == pytest.approx(moved, rel=1e-12)
    assert own.initialisations().wrapped_strategy.args == (6, 12)


PROFILES = st.sampled_from(["same", "balanced", "zipf"])


def sizes_of(m, low, high, profile, mean, *seed, **options):
    turns = [(PROFILES, profile), (st.integers(low, high), mean), *((own.seeds, s) for s in seed)]
    return made_of(own.sizes(m, **options), *turns).tolist()


def test_clients_are_of_equal_balanced_or_zipf_sizes():
    assert sizes_of(3, 1, 6, "same", 4) == [4, 4, 4]
    assert sizes_of(3, 2, 5, "zipf", 4, max_n=5, min_n=2, equal=True) == [4, 4, 4]
    assert sizes_of(4, 1, 6, "balanced", 2, 0) == [3, 3, 2, 2]  # 2.5 on average
    assert sizes_of(4, 1, 6, "balanced", 6, 0) == [6, 6, 6, 6]  # no more than the largest
    # shares of r^-1.5 of ten rows, to two rows each at least
    assert sorted(sizes_of(4, 2, 5, "zipf", 2, 8, max_n=5, min_n=2)) == [2, 2, 2, 4]
    # 22 rows in shares of 13.2, 4.7, 2.5 and 1.6
    assert sorted(sizes_of(4, 1, 6, "zipf", 5, 8)) == [2, 2, 5, 13]


def test_the_largest_client_has_three_times_the_largest_mean():
    """Of 60 rows a Zipf law gives the first of 30 clients more than six."""
    assert max(sizes_of(30, 1, 2, "zipf", 2, 8, max_n=2)) == 6


def test_the_order_of_zipf_sizes_is_that_of_the_stream():
    ranks = rng(8).permutation(np.arange(1, 5))
    assert np.argsort(sizes_of(4, 1, 6, "zipf", 5, 8))[-1] == np.argmin(ranks)


def test_clients_of_sizes_take_the_last_column_for_their_responses():
    numbers = [np.arange(3.0).reshape(1, 3), np.arange(10.0, 16.0).reshape(2, 3)]
    turns = [(own.entries((n, 3)), block) for n, block in zip((1, 2), numbers, strict=True)]
    first, second = made_of(own.clients_of_sizes([1, 2], 2), *turns)
    assert [part.tolist() for part in first] == [[[0.0, 1.0]], [2.0]]
    assert [part.tolist() for part in second] == [[[10.0, 11.0], [13.0, 14.0]], [12.0, 15.0]]
    whole_one = made_of(
        own.clients_of_sizes([1], 1, own.whole), (own.whole((1, 2)), np.array([[4.0, -3.0]]))
    )
    assert [part.tolist() for part in whole_one.pairs[0]] == [[[4.0]], [-3.0]]
    assert all(part.flags.c_contiguous for part in (*first, *second))


def regression(stream, model, n, sigma):
    """One client: its features are drawn first, and then its noise."""
    x = stream.standard_normal((n, len(model)))
    return x, x @ model + sigma * stream.standard_normal(n)


def require_clients(found, right):
    for (x, y), (x_right, y_right) in zip(found, right, strict=True):
        assert x == pytest.approx(x_right, rel=1e-13)
        assert y == pytest.approx(y_right, rel=1e-12)


def test_clients_of_a_mixture_follow_the_models_of_their_labels():
    centres = np.array([[10.0, 0.0], [0.0, -3.0]])
    found = own.clients_of_mixture(centres, [1, 0, 1], [2, 1, 3], 0.25, rng(6))
    stream = rng(6)
    sizes = ((1, 2), (0, 1), (1, 3))
    require_clients(found, [regression(stream, centres[j], n, 0.25) for j, n in sizes])


WAYS = st.sampled_from(["arrays", "mixture"])


def test_federated_problems_are_of_arrays():
    counts, models = np.array([2, 1]), np.ones((3, 2))
    fixed = own.clients_of_sizes(counts, 2, own.entries)
    found = made_of(
        own.federated(),
        (st.integers(1, 6), 2),
        (own.sizes(2, 5, equal=False), counts),
        (WAYS, "arrays"),
        (st.integers(1, 3), 2),
        (st.integers(1, 3), 3),
        (own.entries((3, 2)), models),
        (fixed, "clients"),
    )
    assert found == {"models": models, "clients": "clients"}
    simple = made_of(
        own.federated(7, 8, 9, 10, equal=True, simple=True),
        (st.integers(1, 7), 2),
        (own.sizes(2, 8, equal=True), counts),
        (st.integers(1, 9), 2),
        (st.integers(1, 10), 3),
        (own.whole((3, 2)), models),
        (own.clients_of_sizes(counts, 2, own.whole), "clients"),
    )
    assert simple == {"models": models, "clients": "clients"}


@pytest.mark.parametrize(
    ("k", "most", "options"), [(3, 3, {}), (2, 2, {"max_k": 1}), (4, 4, {"max_k": 4})]
)
def test_federated_problems_are_of_a_mixture_and_its_start(k, most, options):
    counts, labels = np.array([2, 1, 4]), np.array([0, k - 1, 0])
    found = made_of(
        own.federated(**options),
        (st.integers(1, 6), 3),
        (own.sizes(3, 5, equal=False), counts),
        (WAYS, "mixture"),
        (st.integers(2, most), k),
        (st.sampled_from([1.0, 8.0]), 8.0),
        (own.seeds, 4),
        (st.sampled_from([0.25, 0.45]), 0.45),
        (own.inits, "random"),
        (own.label_vectors(3, k), labels),
    )
    stream, d = rng(4), max(k - 1, 2)
    normal = stream.standard_normal((k, d))
    moved = (0.5 - 0.45) * 8.0 * normal / np.linalg.norm(normal, axis=1)[:, None]
    centres = found["models"] - moved
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(k, 1)]
    assert gaps == pytest.approx(np.full(len(gaps), 8.0), rel=1e-12)
    right = [regression(stream, centres[j], n, 0.5) for j, n in zip(labels, counts, strict=True)]
    for (x, y), (x_right, y_right) in zip(found["clients"], right, strict=True):
        assert x == pytest.approx(x_right, rel=1e-13)
        assert y == pytest.approx(y_right, rel=1e-9)


POINTS = st.sampled_from(["lattice", "cloud", "duplicates", "collinear", "mixed"])


def points_of(kind, m, d, seed):
    turns = [(st.integers(1, 8), m), (st.integers(1, 3), d), (POINTS, kind), (own.seeds, seed)]
    return made_of(own.point_sets(), *turns)


def test_point_sets_are_of_the_kind_that_was_drawn():
    lattice = np.ones((5, 2))
    turns = ((st.integers(1, 9), 5), (st.integers(1, 4), 2), (own.whole((5, 2)), lattice))
    assert made_of(own.point_sets(9, 4, simple=True), *turns) is lattice
    assert points_of("cloud", 3, 2, 1).tolist() == rng(1).standard_normal((3, 2)).tolist()
    stream = rng(2)
    normal, places = stream.standard_normal((4, 3)), stream.random(4)
    wanted = normal * np.array([10.0 ** (12.0 * u - 6.0) for u in places])[:, None]
    assert points_of("mixed", 4, 3, 2) == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(("m", "distinct"), [(1, 1), (2, 1), (5, 3), (6, 3)])
def test_every_second_point_is_another_one_moved_by_a_billionth_of_a_thousandth(m, distinct):
    stream = rng(3)
    base = stream.standard_normal((distinct, 2))
    moved = 1e-12 * stream.standard_normal((m, 2))
    again = [base[i - distinct if i >= distinct else i] for i in range(m)]
    found = points_of("duplicates", m, 2, 3)
    assert found == pytest.approx(np.array(again) + moved, abs=1e-15)


def test_points_on_a_line_are_near_whole_places_between_five_and_five():
    stream, m = rng(5), 8
    places = stream.integers(-5, 6, m) + stream.standard_normal(m)
    direction = stream.standard_normal(3)
    found = points_of("collinear", m, 3, 5)
    assert found == pytest.approx(np.array([p * direction for p in places]), rel=1e-13)


def test_separated_groups_lie_around_thousands_on_the_first_axis():
    counts, order = [2, 1], [1, 0, 0]
    turns = [
        (st.integers(1, 4), 2),
        (st.integers(1, 6), 2),
        (st.lists(st.integers(1, 5), min_size=2, max_size=2), counts),
        (st.permutations([0, 0, 1]), order),
        (own.seeds, 9),
    ]
    found = made_of(own.separated(4, 5, 6), *turns)
    centres = np.array([[2000.0, 0.0], [1000.0, 0.0], [1000.0, 0.0]])
    assert found["truth"].tolist() == order
    assert found["points"] == pytest.approx(centres + rng(9).random((3, 2)) - 0.5, abs=1e-11)
    assert made_of(own.separated(4, 5, 6, simple=True), *turns)["points"].tolist() == (
        centres.tolist()
    )
    least = [(st.integers(1, 3), 1), (st.integers(1, 3), 1)]
    least += [(st.lists(st.integers(1, 3), min_size=1, max_size=1), [1])]
    least += [(st.permutations([0]), [0]), (own.seeds, 0)]
    found = made_of(own.separated(simple=True), *least)
    assert found["points"].tolist() == [[1000.0]]


def test_a_maker_returns_one_strategy_for_equal_arguments_and_draws_new_arrays_from_it():
    assert own.whole((2, 3)) is own.whole((2, 3))
    assert own.whole((2, 3)) is not own.whole((2, 3), 2)
    assert own.federated(equal=True) is not own.federated(simple=True)

    @settings(max_examples=10, derandomize=True, database=None)
    @given(own.label_vectors(3, 2), own.whole([2, 2]))  # a list cannot be kept
    def changed_in_place(labels, numbers):
        assert set(labels) <= {0, 1}
        assert numbers.shape == (2, 2)
        labels[:] = 7  # were the array kept, the next draws would have it

    changed_in_place()
