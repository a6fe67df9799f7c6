"""Who a client is: times in any unit, categories, parts of a table, and messages that name them."""

import datetime

import mpmath
import numpy as np
import pytest

pytest.importorskip("sklearn")

import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score

from verify import estimators
from verify.estimators.rows import plain_ids, shown_id


def rows(seed=0, m=6, n=8):
    """Rows of clients whose model is 2 or -2, in turn."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(m), n)
    x = rng.standard_normal((m * n, 2))
    return x, np.where(of % 2, -2.0, 2.0) * x[:, 0] + 0.1 * rng.standard_normal(m * n), of


def days(of):
    return np.datetime64("2024-05-01", "D") + of.astype("timedelta64[D]")


def fitted(x, y, clients, **more):
    return estimators.IFCA(random_state=0, n_rounds=30, **more).fit(x, y, clients=clients)


def by_hand(fit, x, of):
    """Each row's prediction from the model of its client's label."""
    return np.array([x[i] @ fit.models_[fit.labels_[of[i]]] for i in range(len(of))])


@pytest.mark.parametrize("fitted_in", ["D", "s", "us", "ns"])
def test_a_day_is_the_same_client_in_every_unit(fitted_in):
    x, y, of = rows()
    fit = fitted(x, y, days(of).astype(f"datetime64[{fitted_in}]"))
    expected = by_hand(fit, x, of)
    for unit in ("D", "h", "ms", "us", "ns"):
        asked = days(of).astype(f"datetime64[{unit}]")
        assert np.array_equal(fit.predict(x, clients=asked), expected)
        # a client that counts as new gives half of its rows to find its cluster
        assert fit.score(x, y, clients=asked) == pytest.approx(r2_score(y, expected), abs=1e-12)
    dates = [day.astype(datetime.date) for day in days(of)]
    assert np.array_equal(fit.predict(x, clients=dates), expected)


def test_pandas_and_numpy_name_the_same_times():
    pd = pytest.importorskip("pandas")
    x, y, of = rows()
    fit = fitted(x, y, pd.Series(days(of)))
    expected = by_hand(fit, x, of)
    for asked in (days(of), [pd.Timestamp(day) for day in days(of)], pd.DatetimeIndex(days(of))):
        assert np.array_equal(fit.predict(x, clients=asked), expected)


def test_two_times_of_a_day_are_two_clients_and_a_date_is_midnight():
    x, y, of = rows()
    day, start = datetime.date(2024, 5, 1), datetime.datetime(2024, 5, 1)
    hours = [start + datetime.timedelta(hours=int(i)) for i in of]
    fit = fitted(x, y, hours)
    assert fit.clients_.tolist() == sorted(set(hours))
    expected = by_hand(fit, x, of)
    assert np.array_equal(fit.predict(x, clients=hours), expected)
    for midnight in (day, start, np.datetime64(day), np.datetime64(start, "ns")):
        assert np.array_equal(fit.predict(x[:8], clients=[midnight] * 8), expected[:8])


def test_a_day_that_is_written_in_several_types_is_one_client():
    """Rows of a date and of its midnight were two clients, one of whose models no row got."""
    x, y, of = rows()
    same = fitted(x, y, days(of))
    kinds = [lambda day: day, lambda day: day.astype(datetime.date),
             lambda day: day.astype("datetime64[us]").astype(object)]  # fmt: skip
    mixed = [kinds[i % 3](day) for i, day in enumerate(days(of))]
    fit = fitted(x, y, mixed)
    assert plain_ids(fit.clients_) == plain_ids(same.clients_)
    np.testing.assert_array_equal(fit.models_, same.models_)
    assert np.array_equal(fit.predict(x, clients=mixed), by_hand(fit, x, of))


def test_times_that_python_does_not_hold_stay_apart():
    """A nanosecond after midnight is another client, and so is the year 30000."""
    near = np.array(["2024-05-01", "2024-05-01T00:00:00.000000001"], dtype="datetime64[ns]")
    far = np.array(["30000-01-01", "2024-05-01"], dtype="datetime64[D]")
    lasting = np.array([1, 60], dtype="timedelta64[s]")
    assert len(set(plain_ids(near))) == 2
    assert plain_ids(far) == [np.datetime64("30000-01-01"), datetime.datetime(2024, 5, 1)]
    assert plain_ids(lasting) == plain_ids(lasting.astype("timedelta64[ns]"))
    assert plain_ids(np.array([2], dtype="timedelta64[M]")) == [np.timedelta64(2, "M")]
    written = [shown_id(value) for value in plain_ids(near)]
    assert written == ["2024-05-01", "2024-05-01T00:00:00.000000001"]


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_a_message_writes_a_day_as_people_do(unit):
    x, y, of = rows()
    clients = days(of).astype(f"datetime64[{unit}]")
    fit = fitted(x, y, clients)
    with pytest.raises(ValueError, match=r"^client 2030-01-02 was not fitted: find its cluster"):
        fit.predict(x[:1], clients=np.array(["2030-01-02"], dtype=clients.dtype))
    x[9, 1] = np.nan
    message = r"^Input X contains NaN: row 9, client 2024-05-02, column 1$"
    with pytest.raises(ValueError, match=message):
        fit.fit(x, y, clients=clients)


def test_true_clusters_may_be_named_by_times():
    x, y, of = rows()
    known = {day: i % 2 for i, day in enumerate(np.unique(days(of)))}
    fit = estimators.ClusterOracle(known).fit(x, y, clients=days(of).astype("datetime64[ns]"))
    for j in range(2):
        own = of % 2 == j
        found = LinearRegression(fit_intercept=False).fit(x[own], y[own]).coef_
        assert fit.models_[j] == pytest.approx(found, abs=1e-12)


def test_a_gap_in_rows_to_predict_names_their_own_client():
    """It named client 0, which is another one or none."""
    x, y, of = rows()
    fit = fitted(x, y, of + 40)
    x[9, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN: row 9, client 41, column 1$"):
        fit.predict(x, clients=of + 40)
    with pytest.raises(ValueError, match=r"NaN: row 9, column 1$"):
        fit.predict_as(x, 0)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("gap", [np.nan, np.inf])
def test_a_gap_in_rows_to_score_is_refused_with_its_own_row(loss, gap):
    """Classes of such rows were scored as the first one, and a new client's row had another number.

    Half of a new client's rows find its cluster, so the gap may be in either half.
    """
    x, y, of = rows()
    y = y if loss == "squared" else (y > 0).astype(int)
    fit = fitted(x, y, of, loss=loss)
    kind = "NaN" if np.isnan(gap) else "infinity"
    for row in (8, 15, 40):
        gappy = x.copy()
        gappy[row, 1] = gap
        for asked in (of, of + 40, np.where(of == row // 8, of + 40, of)):
            message = f"contains {kind}: row {row}, client {asked[row]}, column 1$"
            with pytest.raises(ValueError, match=message):
                fit.score(gappy, y, clients=asked)


def test_a_small_probability_of_the_first_class_keeps_its_digits():
    """It was one less the other, and so zero from log odds of 37 on: the log loss was infinite."""
    x = np.array([[1.0], [1.0], [1.0], [-1.0]])
    fit = estimators.LocalModels(loss="logistic").fit(x, [0, 1, 1, 0])
    for odds in (-700.0, -40.0, -1.0, 0.5, 30.0, 40.0, 700.0):
        asked = np.array([[odds / fit.models_[0, 0]]])
        s = float(fit.decision_function(asked)[0])
        with mpmath.workdps(400):
            wanted = [float(1 / (1 + mpmath.exp(mpmath.mpf(sign * s)))) for sign in (1, -1)]
        np.testing.assert_allclose(fit.predict_proba(asked), [wanted], rtol=1e-13)


def test_a_category_without_a_row_is_no_client():
    """A part of a table keeps the categories of the whole, so that no fold could be fitted."""
    pd = pytest.importorskip("pandas")
    x, y, of = rows()
    names = pd.Series([f"ward {i}" for i in of]).astype("category")
    part = (of < 4).nonzero()[0]
    fit = fitted(x[part], y[part], names[part])
    assert fit.clients_.tolist() == [f"ward {i}" for i in range(4)]
    assert np.array_equal(fit.predict(x[:3], clients=names[:3]), by_hand(fit, x[:3], of[:3]))
    with sklearn.config_context(enable_metadata_routing=True):
        method = estimators.IFCA(random_state=0, n_rounds=30)
        method.set_fit_request(clients=True).set_score_request(clients=True)
        found = [
            cross_val_score(
                method, x, y, cv=estimators.WholeClients(3), params={"clients": clients}
            )
            for clients in (names, names.astype(str))
        ]
    assert found[0].tolist() == found[1].tolist()
    assert min(found[0]) > 0.9


def test_without_clients_the_message_asks_for_them():
    x, y, of = rows()
    with pytest.raises(ValueError, match=r"clients=None must hold the client of each row with"):
        estimators.IFCA().fit(x, y)
    with pytest.raises(ValueError, match=r"n_clusters=2 must be 1: all rows belong to client 'a'"):
        estimators.IFCA().fit(x, y, clients=["a"] * len(of))


def test_three_classes_are_refused_with_what_two_would_be():
    x, y, of = rows()
    classes = np.array(["high", "low", "mid"])[np.arange(len(y)) % 3]
    message = r"is multiclass. y holds 3 classes: compare one with the others, as y == 'high'$"
    with pytest.raises(ValueError, match=message):
        fitted(x, classes, of, loss="logistic")
    assert fitted(x, classes == "high", of, loss="logistic").classes_.tolist() == [False, True]


def test_a_column_of_texts_is_named():
    pd = pytest.importorskip("pandas")
    x, y, of = rows()
    frame = pd.DataFrame(x, columns=["age", "size"]).assign(ward=[f"w{i}" for i in of])
    with pytest.raises(ValueError, match=r"column 'ward' of X holds texts; leave it out"):
        estimators.LocalModels().fit(frame, y, clients=of)
    with pytest.raises(ValueError, match=r"column 2 of X holds texts"):
        estimators.LocalModels().fit(frame.to_numpy(), y, clients=of)


def test_parameters_that_are_set_after_a_fit_wait_for_the_next_one():
    """A logistic fit predicted log odds after `set_params`, and a linear one raised."""
    x, y, of = rows()
    classes = np.where(y > 0, "sick", "well")
    fit = fitted(x, classes, of, loss="logistic")
    odds = by_hand(fit, x, of)
    expected = np.where(odds > 0, "well", "sick")  # the second class in order
    fit.set_params(loss="squared", l2=3.0, fit_intercept=True)
    assert np.array_equal(fit.predict(x, clients=of), expected)
    assert fit.score(x, classes, clients=of) == accuracy_score(classes, expected)
    assert hasattr(fit, "predict_proba")

    linear = fitted(x, y, of)
    expected = by_hand(linear, x, of)
    linear.set_params(loss="logistic", fit_intercept=True)
    assert np.array_equal(linear.predict(x, clients=of), expected)
    assert not hasattr(linear, "predict_proba")
    again = linear.fit(x, classes, clients=of)
    assert again.classes_.tolist() == ["sick", "well"]


def test_a_new_client_is_assigned_by_the_loss_of_the_fit():
    """Of the models 1 and 5 the larger margin is better, and the square of 1 - 5 is worse."""
    x = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    classes, of = np.array(["sick", "well", "sick", "well"]), [0, 0, 1, 1]
    start = np.array([[-1.0], [-5.0]])  # "well" is the second class
    fit = estimators.IFCA(loss="logistic", init=start, n_rounds=0).fit(x, classes, clients=of)
    assert np.array_equal(fit.models_, start)
    assert fit.assign(x, classes).tolist() == [1]
    fit.set_params(loss="squared")
    assert fit.assign(x, classes).tolist() == [1]
    assert fit.fit(x, np.array([-1.0, 1.0, -1.0, 1.0]), clients=of).assign(x, -x[:, 0]) == [0]


def test_folds_take_the_name_that_scikit_learn_has_for_clients():
    """Without metadata routing it passes ``groups``, and says so where none are given."""
    x, y, of = rows()
    scores = cross_val_score(
        estimators.GlobalModel(), x, y, groups=of, cv=estimators.WholeClients(3)
    )
    expected = []
    for train, test in estimators.WholeClients(3).split(x, clients=of):
        model = LinearRegression(fit_intercept=False).fit(x[train], y[train])
        expected.append(r2_score(y[test], model.predict(x[test])))
    assert scores == pytest.approx(expected, abs=1e-12)
    assert estimators.WholeClients(3).get_n_splits(x, y, groups=of) == 3
    with pytest.raises(ValueError, match=r"n_splits=7 must be an integer in \[2, 6\]"):
        estimators.WholeClients(7).get_n_splits(x, y, clients=of)
    with pytest.raises(ValueError, match=r"sklearn.set_config\(enable_metadata_routing=True\)"):
        cross_val_score(estimators.GlobalModel(), x, y, cv=estimators.WholeClients(3))
