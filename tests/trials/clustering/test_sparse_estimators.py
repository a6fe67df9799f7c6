"""The estimators obey scikit-learn's rules, and the drawings show the path."""

from __future__ import annotations

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.clustering.sparse import fusing_penalty, neighbour_weights
from trials.clustering.sparse.estimators import ConvexClustering, ConvexClusterpath
from trials.clustering.sparse.plots import plot_dendrogram, plot_path
from trials.clustering.sparse.record import SparsePath

pytestmark = pytest.mark.large


def two_groups():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.standard_normal((20, 2)), 12.0 + rng.standard_normal((20, 2))])


@pytest.mark.parametrize(
    "estimator", [ConvexClustering(), ConvexClusterpath(penalties=12)], ids=["one", "path"]
)
def test_the_rules_of_scikit_learn(estimator):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    results = checks.check_estimator(estimator, on_skip=None)
    assert len(results) > 20
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_two_groups_are_found():
    points = two_groups()
    fit = ConvexClusterpath(2, penalties=40).fit(points)
    assert fit.labels_.tolist() == [0] * 20 + [1] * 20
    assert (fit.path_.gap <= 1e-6 * fit.path_.primal).all()
    assert len(set(fit.cut(5).tolist())) <= 5
    assert fit.cut(1).tolist() == [0] * 40
    assert fit.linkage_.shape == (39, 4)
    penalty = fit.path_.penalties[fit.path_.index_of(2)]
    one = ConvexClustering(penalty).fit(points)
    assert one.result_.certified
    assert one.labels_.tolist() == fit.labels_.tolist()
    assert one.cluster_centers_.shape == (2, 2)


@pytest.mark.parametrize("power", [-996, -531, 511, 996])
def test_predictions_and_scores_have_no_unit(power):
    """At 1e-300 and 1e160 all rows were of cluster 0, and the score was 0 or no number."""
    rng = np.random.default_rng(1)
    points, new = two_groups(), rng.uniform(-3.0, 15.0, (30, 2))
    fit = ConvexClusterpath(2, penalties=10).fit(points * 2.0**power)
    centres = fit.cluster_centers_ / 2.0**power
    squares = ((new[:, None] - centres) ** 2).sum(axis=2)
    assert fit.predict(new * 2.0**power).tolist() == squares.argmin(axis=1).tolist()
    near = np.sqrt(np.sort(squares, axis=1))
    expected = 1.0 - (near[:, 0] / near[:, 1]).mean()
    assert fit.score(new * 2.0**power) == pytest.approx(expected, rel=1e-12)


def test_the_largest_numbers_are_predicted():
    fit = ConvexClusterpath(2, penalties=10).fit(two_groups() * 1e300)
    assert fit.predict([[1.7e308, 1.7e308], [-1.7e308, -1.7e308]]).tolist() == [1, 0]


@pytest.mark.parametrize("estimator", [ConvexClustering(), ConvexClusterpath()])
def test_masked_entries_are_refused(estimator):
    """Their values were clustered, and NumPy's own means leave them out."""
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    hidden = np.ma.masked_greater(points, 10.5)
    for call in (estimator.fit, estimator.fit(points).predict, estimator.score):
        with pytest.raises(ValueError, match="X must have no masked entries"):
            call(hidden)


@pytest.mark.parametrize(
    "estimator", [ConvexClustering(2.0), ConvexClusterpath(2, penalties=10)], ids=["one", "path"]
)
def test_nothing_that_was_fitted_changes_when_rows_are_predicted_or_scored(estimator):
    """An array has no names of features, and the names of the fit must stay for later frames."""
    pandas = pytest.importorskip("pandas")
    points, truth = two_groups(), [0] * 20 + [1] * 20
    frame = pandas.DataFrame(points, columns=["height", "weight"])
    fit = estimator.fit(frame)
    before = dict(vars(fit))
    assert list(fit.feature_names_in_) == ["height", "weight"]
    expected = fit.score(frame)
    for call in (fit.predict, fit.score, lambda rows: fit.score(rows, truth)):
        call(frame.copy())
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            call(points)
        for columns in (["weight", "height"], ["height"]):
            with pytest.raises(ValueError, match="feature names should match"):
                call(frame[columns])
        assert vars(fit).keys() == before.keys()
        assert [name for name, value in vars(fit).items() if value is not before[name]] == []
    assert fit.score(frame) == expected


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_number_of_penalties_ends_at_one_that_fuses_every_component(count):
    points = two_groups()[:12]
    fit = ConvexClusterpath(1, penalties=count).fit(points)
    assert fit.path_.penalties.shape == (count,)
    assert fit.path_.penalties[-1] == fusing_penalty(points, fit._weights(points))
    assert fit.labels_.tolist() == [0] * 12
    equal = ConvexClusterpath(1, penalties=count).fit(np.ones((3, 2)))
    assert equal.path_.penalties.tolist() == [0.0]
    assert equal.labels_.tolist() == [0, 0, 0]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("points", "decay", "top"),
    [
        # the weight of the outlier's edge vanishes, and no finite penalty fuses it
        ([[i / 1000] for i in range(800)] + [[9.0]], 4.0, np.inf),
        ([[0.0], [5e-324], [1e-323]], 0.0, 5e-324),
        ([[0.0], [1e-322], [2e-322]], 0.0, 1e-322),
    ],
)
def test_a_number_of_penalties_needs_no_floats_between_them(points, decay, top):
    """The path was refused as one that does not increase."""
    fit = ConvexClusterpath(2, penalties=9, n_neighbors=1, decay=decay).fit(points)
    penalties = fit.path_.penalties
    assert penalties[-1] >= top
    assert penalties[-1] == fusing_penalty(points, fit._weights(np.array(points)))
    assert (np.diff(penalties) > 0.0).all()
    assert 1 <= penalties.size <= 9
    assert fit.path_.n_clusters[-1] == 1
    if np.isinf(top):
        assert penalties.size == 9
        assert fit.labels_.tolist() == [0] * 800 + [1]


def test_given_weights_replace_the_neighbours():
    points = two_groups()
    weights = neighbour_weights(points, 3)
    top = fusing_penalty(points, weights)
    fit = ConvexClustering(top, weights=weights).fit(points)
    assert fit.labels_.tolist() == [0] * 20 + [1] * 20  # the two components of the graph
    with pytest.raises(InvalidParameter, match="n_neighbors"):
        ConvexClustering(n_neighbors=0).fit(points)


def test_the_drawings_show_every_point():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    points = two_groups()
    path = ConvexClusterpath(2, penalties=10, connect="none").fit(points).path_
    ax = plot_path(path)
    assert len(ax.lines) == 41
    assert ax.lines[0].get_xydata()[0] == pytest.approx(points[0], abs=0.1)
    assert len(plot_dendrogram(path).collections) > 0
    with pytest.raises(InvalidParameter, match="coordinates"):
        plot_path(path, coordinates=(0, 2))
    plt.close("all")


@pytest.mark.parametrize(
    ("penalties", "labels", "heights"),
    [
        # points 0 and 1 are equal, and point 2 stays apart to the end
        ([0.0, 1.0, 10.0], [[0, 0, 1]] * 3, {0.0, 11.0}),
        ([0.0], [[0, 0, 1]], {0.0, 1.1}),
        ([1.0, 4.0, 10.0], [[0, 1, 2], [0, 0, 1], [0, 0, 1]], {4.0, 11.0}),
        ([1.0, 4.0, 10.0], [[0, 1, 2], [0, 0, 1], [0, 0, 0]], {4.0, 10.0}),
        ([1.0, 10.0, np.inf], [[0, 0, 1], [0, 0, 1], [0, 0, 0]], {1.0, 11.0}),
        ([np.inf], [[0, 0, 0]], {1.1}),
    ],
)
def test_what_a_path_never_joins_meets_above_its_last_penalty(penalties, labels, heights):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    labels, none = np.array(labels, dtype=np.int32), np.zeros(len(penalties))
    path = SparsePath(
        penalties=np.array(penalties), labels=labels, centres=(), n_clusters=labels.max(1) + 1,
        primal=none, gap=none, relative_gap=none, splits=0,
    )  # fmt: skip
    drawn = [c.get_segments() for c in plot_dendrogram(path).collections]
    tops = {float(link[:, 1].max()) for links in drawn for link in links}
    assert sorted(tops) == pytest.approx(sorted(heights))
    plt.close("all")


def test_new_points_go_to_the_nearest_value_and_a_search_over_penalties_needs_no_scorer():
    selection = pytest.importorskip("sklearn.model_selection")
    points = two_groups()
    fit = ConvexClusterpath(2, penalties=10).fit(points)
    assert fit.predict([[0.0, 0.0], [12.0, 12.0]]).tolist() == [0, 1]
    assert fit.score(points, [0] * 20 + [1] * 20) == 1.0
    assert ConvexClusterpath(1, penalties=10).fit(points).score(points) == 0.0
    order = np.random.default_rng(1).permutation(40)
    grid = {"n_clusters": [1, 2, 20]}
    found = selection.GridSearchCV(ConvexClusterpath(penalties=10), grid, cv=2).fit(points[order])
    assert found.best_params_ == {"n_clusters": 2}


def test_the_leaves_of_a_dendrogram_have_the_names_that_are_given():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    path = ConvexClusterpath(2, penalties=10).fit(two_groups()[:4]).path_
    assert sorted(t.get_text() for t in plot_dendrogram(path).get_xticklabels()) == list("0123")
    named = plot_dendrogram(path, labels=list("abcd")).get_xticklabels()
    assert sorted(t.get_text() for t in named) == list("abcd")
