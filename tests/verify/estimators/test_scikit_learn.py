"""The estimators keep scikit-learn's rules."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from verify import estimators

#: Without ``clients`` all rows belong to one client, so scikit-learn's checks see one cluster.
ONE_CLIENT = {
    "CFL": {"n_rounds": 15},
    "ClusterOracle": {"labels": [0]},
    "FeSEM": {"n_clusters": 1, "n_rounds": 10},
    "FederatedRegression": {"n_clusters": 1, "n_rounds": 20},
    "GroupedMixture": {"n_clusters": 1},
    "IFCA": {"n_clusters": 1, "n_rounds": 30},
    "KFed": {"n_clusters": 1},
    "OneShotClustering": {"n_clusters": 1},
    "OracleAverage": {"labels": [0]},
    "PACFL": {"n_clusters": 1},
}
LOGISTIC = {"loss": "logistic", "fit_intercept": True}

#: Checks that do not apply, with the reason.
EXPECTED = {
    "check_methods_sample_order_invariance": "it sets n_clusters=2, and one client has one cluster",
}


def made(name, **more):
    return getattr(estimators, name)(**ONE_CLIENT.get(name, {}), **more)


@pytest.mark.parametrize("more", [{}, LOGISTIC], ids=["squared", "logistic"])
@pytest.mark.parametrize("name", ["GlobalModel", "LocalModels", *ONE_CLIENT])
def test_the_checks_of_scikit_learn_pass(name, more):
    if more and "loss" not in made(name).get_params():
        pytest.skip("it has the squared loss only")
    failed = [
        (found["check_name"], str(found["exception"])[:300])
        for found in check_estimator(
            made(name, **more),
            on_fail=None,
            on_skip=None,
            expected_failed_checks=EXPECTED if "n_clusters" in ONE_CLIENT.get(name, {}) else None,
        )
        if found["status"] == "failed"
    ]
    assert failed == []


def federation(seed=0, m=12, n=20, d=3):
    rng = np.random.default_rng(seed)
    truth = np.array([[2.0, -1.0, 0.5], [-2.0, 1.0, 1.0]])
    of = np.repeat(np.arange(m), n)
    x = rng.standard_normal((m * n, d))
    return x, (x * truth[of % 2]).sum(axis=1) + 0.1 * rng.standard_normal(m * n), of


@pytest.mark.parametrize(
    "name", sorted(set(estimators.__all__) - {"WholeClients", "MomentDescent", "GlobalRound"})
)
def test_clone_and_pickle_keep_everything(name):
    x, y, of = federation()
    more = {"labels": np.arange(12) % 2} if "Oracle" in name else {}
    made_here = getattr(estimators, name)(**more)
    if "random_state" in made_here.get_params():
        made_here.set_params(random_state=3)
    fit = clone(made_here).fit(x, y, clients=of)
    again = pickle.loads(pickle.dumps(fit))
    assert np.array_equal(again.predict(x, clients=of), fit.predict(x, clients=of))
    assert np.array_equal(clone(fit).fit(x, y, clients=of).models_, fit.models_)
    assert fit.models_.shape == (len(set(fit.labels_.tolist())), 3)
    assert fit.n_rounds_ >= 0
    assert fit.floats_up_ >= 0
    assert fit.floats_down_ >= 0
    assert len(fit.history_["loss"]) >= 1
    residual = y - fit.predict(x, clients=of)
    assert fit.history_["loss"][-1] == pytest.approx(0.5 * np.mean(residual**2), rel=1e-9)


def test_a_fit_that_fails_leaves_nothing_of_the_one_before():
    """Clients of the new rows would get the clusters that others had by their numbers."""
    x, y, of = federation()
    fit = estimators.IFCA(random_state=0).fit(x, y, clients=of)
    with pytest.raises(ValueError, match="every start diverged"):
        fit.set_params(step_size=1e9).fit(x, y, clients=of[::-1] + 5)
    with pytest.raises(NotFittedError):
        fit.predict(x, clients=of)
    with pytest.raises(NotFittedError):
        fit.predict_as(x, 0)
    for call in (fit.score, fit.assign):
        with pytest.raises(NotFittedError):
            call(x, y, clients=of)
    known = estimators.LocalModels(loss="logistic").fit(x, y > 0, clients=of)
    known.set_params(loss="squared").fit(x, y, clients=of)
    assert set(vars(known)) == set(vars(estimators.LocalModels().fit(x, y, clients=of)))


def test_a_pipeline_fits_and_predicts():
    x, y, of = federation()
    line = make_pipeline(StandardScaler(with_mean=False), estimators.IFCA(random_state=0))
    line.fit(x, y, ifca__clients=of)
    assert np.corrcoef(line.predict(x, clients=of), y)[0, 1] > 0.99


def test_a_grid_search_holds_out_whole_clients():
    import sklearn

    x, y, of = federation()
    with sklearn.config_context(enable_metadata_routing=True):
        asked = estimators.IFCA(random_state=0, n_rounds=60)
        asked.set_fit_request(clients=True).set_score_request(clients=True)
        line = make_pipeline(StandardScaler(with_mean=False), asked)
        for tried, name in ((asked, "n_clusters"), (line, "ifca__n_clusters")):
            search = GridSearchCV(tried, {name: [1, 2]}, cv=estimators.WholeClients(3))
            search.fit(x, y, clients=of)
            assert search.best_params_ == {name: 2}
            assert search.best_score_ > 0.99


def test_folds_keep_clients_whole_and_share_the_rows():
    of = np.repeat(["a", "b", "c", "d", "e"], [50, 3, 20, 30, 9])
    of = np.random.default_rng(0).permutation(of)
    seen = []
    for train, test in estimators.WholeClients(2).split(of, clients=of):
        assert not set(of[train]) & set(of[test])
        assert sorted([*train, *test]) == list(range(len(of)))
        seen += test.tolist()
    assert sorted(seen) == list(range(len(of)))
    with pytest.raises(ValueError, match="n_splits=9 must be an integer in"):
        next(estimators.WholeClients(9).split(of, clients=of))
    for seed in ("a", -1):
        with pytest.raises(ValueError, match=f"random_state={seed!r} must be None, an integer"):
            next(estimators.WholeClients(2, random_state=seed).split(of, clients=of))


def test_the_largest_client_is_placed_first_so_that_folds_are_even():
    """In the order of the clients the folds would have three rows and five."""
    clients = np.repeat(list("abcd"), [1, 1, 2, 4])
    folds = [test for _, test in estimators.WholeClients(2).split(clients, clients=clients)]
    assert [fold.size for fold in folds] == [4, 4]
    assert folds[0].tolist() == [4, 5, 6, 7]


def test_pandas_gives_feature_names_and_any_client_ids():
    pd = pytest.importorskip("pandas")
    x, y, of = federation()
    frame = pd.DataFrame(x, columns=["size", "age", "price"])
    names = pd.Series([f"clinic {i}" for i in of])
    fit = estimators.OneShotClustering(random_state=0).fit(frame, pd.Series(y), clients=names)
    plain = estimators.OneShotClustering(random_state=0).fit(x, y, clients=names.tolist())
    assert fit.feature_names_in_.tolist() == ["size", "age", "price"]
    assert np.array_equal(fit.models_, plain.models_)
    assert fit.clients_.tolist() == plain.clients_.tolist()
    frame.loc[37, "age"] = np.nan
    with pytest.raises(ValueError, match=r"row 37, client 'clinic 1', column 'age'"):
        fit.fit(frame, y, clients=names)


def test_read_only_rows_compile_nothing_anew():
    from verify.estimators.rows import read_rows

    x, y, of = federation()
    kept = read_rows(of, len(y)).client_data(x, y)
    assert kept.features is x
    x.setflags(write=False)
    y.setflags(write=False)
    data = read_rows(of, len(y)).client_data(x, y)
    assert data.features.flags.writeable
    assert data.responses.flags.writeable


def test_polars_gives_the_same_fit():
    pl = pytest.importorskip("polars")
    x, y, of = federation()
    frame = pl.DataFrame({"size": x[:, 0], "age": x[:, 1], "price": x[:, 2]})
    fit = estimators.LocalModels().fit(frame, pl.Series(y), clients=pl.Series(of))
    assert np.array_equal(fit.models_, estimators.LocalModels().fit(x, y, clients=of).models_)
