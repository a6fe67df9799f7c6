"""The experiment of one fit: paired data, failures that stay, replay, tuning."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trials.checks import InvalidParameter
from trials.run.engine import Demand, ensure, replay, trial_id
from trials.run.executors import make_executor
from trials.run.provenance import code_of
from trials.run.store import RunStore
from trials.run.streams import block_stream
from verify.benchmark import checking, fits
from verify.benchmark.blocks import MOST_BLOCKS, LastBlocks
from verify.benchmark.catalogue import Context, shipped
from verify.benchmark.checking import check_own
from verify.benchmark.federation import draw
from verify.benchmark.fits import FIT, federation_of
from verify.benchmark.fitting import DIVERGED, Fitted, _models, fit, measure
from verify.benchmark.methods import parse_method, parse_methods
from verify.benchmark.metrics import METRICS, accuracies, contingency, rand_index, recovered
from verify.benchmark.warming import first_clients

OWN = str(Path(__file__).with_name("own_methods.py"))
SMALL = {"m": 6, "n": 8, "d": 2, "k": 2}


def cell(name, **more):
    return FIT.check({**SMALL, "method": f"{OWN}:{name}", **more})


@pytest.fixture
def stored(tmp_path):
    """Run one block of each of some methods and return the store."""
    found = []

    def run(*cells):
        store = RunStore.create(tmp_path / "store.sqlite", root_seed=3, config={}, code={})
        found.append(store)
        with make_executor("serial") as executor:
            ensure(store, [Demand(FIT, c, 1) for c in cells], executor)
        return store

    yield run
    for store in found:
        store.close()


def test_a_stored_cell_keeps_the_digest_of_the_method_that_made_it(tmp_path):
    """An edited file makes another cell.  A fit of the old one is refused."""
    mine = tmp_path / "mine.py"
    mine.write_text(Path(OWN).read_text())
    old = FIT.check({**SMALL, "method": f"{mine}:Mean"})
    mine.write_text(mine.read_text() + "# edited\n")
    assert FIT.check(old) == old
    assert FIT.check({**SMALL, "method": f"{mine}:Mean"})["own"] != old["own"]
    with pytest.raises(InvalidParameter, match=r"mine\.py has changed since this run was made"):
        fits.simulate(old, block_stream(0, FIT.design, 1, 0), 1)


def test_every_method_sees_the_same_data_whatever_it_is_told(stored):
    seen = [
        [fits.make(c, s).responses for s in fits.federations(c, 3, 0, 2)]
        for c in (fits.federation_of({**SMALL, "k_told": k}) for k in (2, 5))
    ]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[0][0], seen[0][1])
    store = stored(cell("Mean"), cell("Ridge(penalty=0)"))
    one, other = (store.table(FIT, cell(n), 1) for n in ("Mean", "Ridge(penalty=0)"))
    np.testing.assert_allclose(one["error"], other["error"], rtol=1e-8)


def test_a_trial_replays_and_its_time_is_not_compared(stored):
    store = stored(cell("Mean"))
    trial = trial_id(FIT, cell("Mean"), 2)
    found = replay(store, trial)
    assert found.distance == 0.0
    table = store.table(FIT, cell("Mean"), 1)
    assert found.values[list(METRICS).index("error")] == table["error"][2]


@pytest.mark.parametrize(
    ("name", "limit", "code", "why"),
    [
        ("Raises", 600.0, 1.0, "ValueError: no luck"),
        ("Ends", 600.0, 1.0, "the process of the fit ended"),
        ("Scalar", 600.0, 1.0, "one number a row"),
        ("Diverges", 600.0, 2.0, "not finite"),
        ("Slow", 0.1, 3.0, "no result after 0.1 s"),
    ],
)
def test_a_fit_that_fails_is_a_row_with_its_reason(name, limit, code, why):
    """The limit is on the clock: only the fit that never ends has one that a load could reach."""
    method = parse_method(f"{OWN}:{name}")
    federation = fits.make(fits.federation_of(SMALL), np.random.default_rng(0))
    values, reason = fits.one_fit(method, federation, 0, limit)
    assert values["failed"] == code
    assert np.isnan(values["error"])
    assert why in reason


@pytest.mark.parametrize("inside", [True, False])
def test_a_fit_that_raises_has_the_cpu_seconds_that_it_used(monkeypatch, inside):
    """They counted as none, in the budget and in a table by CPU seconds."""
    if inside:
        monkeypatch.setattr(fits, "fit_isolated", lambda *given: fit(*given[:4]))
    method = parse_method(f"{OWN}:WorksAndRaises")
    federation = fits.make(fits.federation_of(SMALL), np.random.default_rng(0))
    values, reason = fits.one_fit(method, federation, 0, 600.0)
    assert reason == "ValueError: in vain"
    assert values["failed"] == 1.0
    assert values["cpu"] >= 0.03


def test_the_check_before_a_run_says_what_is_missing(tmp_path):
    def refused(text, match, metric="error"):
        with pytest.raises(InvalidParameter, match=match) as found:
            check_own(parse_method(text), SMALL, 60.0, metric)
        assert "\n" not in str(found.value)

    refused(f"{OWN}:NoPredict", r"must have a method predict\(X, clients\)")
    refused(f"{OWN}:Nothing", "has no 'Nothing'; it has")
    refused(f"{OWN}:Raises", "ValueError: no luck")
    refused(f"{OWN}:Mean(depth=3)", "cannot be made")
    refused(f"{OWN}:Ends", r"the process of the fit ended \(7\)")
    refused(f"{OWN}:Leaves", "SystemExit: no data")
    refused(f"{OWN}:Infinite", "predict returns inf")
    refused(f"{OWN}:Halves", r"labels_ must be whole numbers, and they are \[0.5, 0.5, 0.5\]")
    refused(f"{OWN}:Named", "labels_ must be whole numbers")
    refused(f"{OWN}:Narrow", "models_ has 1 columns: it must have 2")
    for metric, reads in (
        ("error", "models_ and labels_"),
        ("recovered", "labels_"),
        ("rounds", "n_rounds_"),
        ("floats-down", "floats_down_"),
    ):
        refused(f"{OWN}:Predicts", f"has no {reads} after fit", metric)
    check_own(parse_method(f"{OWN}:Predicts"), SMALL, 60.0, "held-out")
    check_own(parse_method(f"{OWN}:Narrow"), {"data": "rows.csv"}, 60.0, "held-out")
    with pytest.raises(InvalidParameter, match="cannot be read"):
        parse_method(f"{tmp_path}/none.py:A").digest()


def test_a_method_for_classes_alone_is_checked_with_classes(monkeypatch):
    """Digits and glyphs are classes, although their cells do not say so."""
    monkeypatch.setattr(checking, "fit_isolated", lambda *given: fit(*given[:4]))
    method = parse_method(f"{OWN}:Classes")
    for cell in (
        federation_of({"data": "digits"}),
        federation_of({"data": "glyphs"}),
        federation_of({"response": "logistic"}),
    ):
        check_own(method, cell, 60.0, "wrong")
    with pytest.raises(ValueError, match="no classes"):
        check_own(method, federation_of({"data": "diabetes"}), 60.0, "held-out")


def test_candidates_are_tuned_on_training_rows_and_all_fits_are_counted():
    method = parse_method(f"{OWN}:Ridge(penalty=1e-6|1e6)")
    federation = fits.make(fits.federation_of({**SMALL, "k": 1}), np.random.default_rng(0))
    tuned, _ = fits.one_fit(method, federation, 0, 600.0)
    best, _ = fits.one_fit(parse_method(f"{OWN}:Ridge(penalty=1e-6)"), federation, 0, 600.0)
    assert tuned["rounds"] == 3
    assert tuned["error"] == pytest.approx(best["error"])


def test_names_are_taken_apart():
    spelled = [m.text for m in parse_methods("a.py:F(x=1, y=b|c) , local,ifca")]
    assert spelled == ["a.py:F(x=1, y=b|c)", "local", "ifca"]
    for text, match in (
        ("nobody", "unknown method 'nobody'; known: "),
        ("local(3)", "must read option=value"),
        ("local, local", "named twice"),
        ("ifca(n_init=1, n_rounds=3, n_init=10)", "n_init is given twice: join its values with |"),
        ("local)(", "must read name"),
    ):
        with pytest.raises(InvalidParameter, match=match):
            parse_methods(text)


def test_the_rand_index_is_that_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for k in (1, 2, 5, 30):
        a, b = rng.integers(0, k, 30), rng.integers(0, 3, 30)
        assert rand_index(contingency(a, b)) == pytest.approx(sklearn.adjusted_rand_score(a, b))
    assert recovered(contingency(np.array([2, 2, 0]), np.array([0, 0, 1]))) == 1.0
    assert recovered(contingency(np.array([2, 1, 0]), np.array([0, 0, 1]))) == 0.0


def test_clusters_are_recovered_where_every_pair_of_clients_is_told_apart_or_not_alike():
    """Split, merged and crossed clusters are not, and other names are."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = rng.integers(0, rng.integers(1, 4), 5), rng.integers(0, rng.integers(1, 4), 5)
        same = np.array_equal(a[:, None] == a, b[:, None] == b)
        assert recovered(contingency(a, b)) == float(same)
    assert recovered(contingency(np.zeros(4, int), np.array([0, 0, 1, 1]))) == 0.0


def test_stored_fits_do_not_depend_on_claims_and_reports():
    """A change of a claim must not make the fits of a benchmark those of other code."""
    parts = code_of(FIT).parts
    assert "verify.estimators.ifca" in parts
    assert not [
        name for name in parts if name.startswith(("verify.claims", "verify.cli", "bounds"))
    ]


def test_the_methods_of_a_block_share_one_drawn_federation_and_its_oracle(monkeypatch):
    drawn = []
    monkeypatch.setattr(fits, "_last", LastBlocks())
    monkeypatch.setattr(fits, "make", lambda c, s: drawn.append(1) or draw(c, s))
    told = fits.federation_of(SMALL)
    first = fits._block(told, 3, 0, 2).trial(1)
    assert fits._block(told, 3, 0, 2).trial(1) is first
    assert len(drawn) == 1
    for other in ((told, 4, 0), (told, 3, 1), ({**told, "k_told": 3}, 3, 0)):
        assert fits._block(*other, 2).trial(1) is not first


def test_blocks_that_were_not_used_last_are_forgotten():
    kept = LastBlocks()
    for key in range(2 * MOST_BLOCKS):
        kept.get(key, list)
    assert list(kept._kept) == list(range(MOST_BLOCKS, 2 * MOST_BLOCKS))


def test_the_first_clients_of_a_federation_are_a_federation():
    whole = fits.make(fits.federation_of({**SMALL, "m": 9}), np.random.default_rng(0))
    part = first_clients(whole, 4)
    assert part.n_clients == 4
    np.testing.assert_array_equal(part.models, whole.models[:4])
    np.testing.assert_array_equal(part.test_features, whole.test_features[:40])
    np.testing.assert_array_equal(first_clients(whole, 99).features, whole.features)


def test_accuracies_are_counted_client_by_client():
    rng = np.random.default_rng(0)
    clients = np.repeat(np.arange(25), rng.integers(1, 9, 25))
    scores = rng.standard_normal(len(clients))
    classes = rng.choice([-1.0, 1.0], len(clients))
    right = [(s > 0) == (c > 0) for s, c in zip(scores, classes, strict=True)]
    each = sorted(np.mean([r for r, i in zip(right, clients, strict=True) if i == j])
                  for j in range(25))  # fmt: skip
    found = accuracies(scores, classes, clients)
    assert found == pytest.approx((np.mean(right), np.mean(each[:2])))


def test_classes_have_an_accuracy_and_linear_responses_have_none():
    pytest.importorskip("sklearn")
    for response, low, high in (("logistic", 0.0, 1.0), ("linear", -1.0, -1.0)):
        cell = fits.federation_of({"m": 6, "n": 30, "d": 3, "response": response})
        drawn = fits.make(cell, np.random.default_rng(0))
        values, _ = fits.one_fit(parse_method("global"), drawn, 0, 60.0)
        assert low <= values["worst-decile"] <= values["accuracy"] <= high
        right = 1.0 - values["accuracy"] if response == "logistic" else -1.0
        assert values["wrong"] == right


def test_a_client_has_the_model_of_its_label_also_where_a_label_is_not_given():
    """Nobody has label 1."""
    three = SimpleNamespace(n_clients=3, models=None)
    table = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    labels, models = _models(SimpleNamespace(labels_=[2, 0, 2], models_=table), three)
    assert labels.tolist() == [2, 0, 2]
    assert models.tolist() == [table[2], table[0], table[2]]
    labels, models = _models(SimpleNamespace(labels_=[2, 0, 2]), three)
    assert labels.tolist() == [2, 0, 2]
    assert models is None
    assert _models(SimpleNamespace(models_=table), three) == (None, None)
    for wrong in ([3, 0, 2], [-1, 0, 2]):
        with pytest.raises(ValueError, match="with labels_ below k"):
            _models(SimpleNamespace(labels_=wrong, models_=table), three)
    with pytest.raises(ValueError, match="one a client"):
        _models(SimpleNamespace(labels_=[0, 1], models_=table), three)


@pytest.mark.parametrize("labels", [[3, 3, 3], [0, 1, 2]])
def test_one_cluster_and_single_clients_that_agree_have_the_index_one(labels):
    """Both are as large as by chance, so that the index is 0/0 and one by agreement."""
    names = {3: 7, 0: 2, 1: 0, 2: 1}
    found = np.array([names[label] for label in labels])
    assert rand_index(contingency(found, np.array(labels))) == 1.0


def test_an_option_that_is_given_takes_the_place_of_the_one_of_the_name():
    pytest.importorskip("sklearn")
    context = Context(k=2, response="linear", seed=0)
    assert shipped("ifca-10", {}, context).n_init == 10
    assert shipped("ifca-10", {"n_init": 3}, context).n_init == 3


@pytest.mark.parametrize(
    ("response", "score"), [("logistic", np.nan), ("linear", 1e200), ("linear", np.inf)]
)
def test_a_fit_that_diverged_is_a_row_and_no_warning(response, score):
    """NumPy warned of the loss on the terminal, above a table that says the same."""
    cell = federation_of({"m": 4, "n": 5, "d": 2, "k": 2, "response": response})
    made = draw(cell, np.random.default_rng(0))
    found = Fitted(
        scores=np.full(made.test_responses.shape, score), labels=None, models=None,
        counts=(1.0, 0.0, 0.0), losses=np.empty(0), seconds=0.25,
    )  # fmt: skip
    with np.errstate(all="raise"):
        row = measure(found, made, 60.0)
    assert (row["failed"], row["cpu"]) == (DIVERGED, 0.25)
    assert np.isnan(row["held-out"])
