"""NumPy twins, written with loops, of what a benchmark measures, compares, splits and draws."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from verify.benchmark import phase, running, tables
from verify.benchmark.blocks import LastBlocks
from verify.benchmark.contrasts import n_limits
from verify.benchmark.curves import _series
from verify.benchmark.design import Benchmark
from verify.benchmark.federation import FEDERATION, Federation, centres, draw
from verify.benchmark.fits import BLOCK
from verify.benchmark.fitting import DIVERGED, TOO_LONG, Fitted, measure
from verify.benchmark.marks import MISSING
from verify.benchmark.metrics import METRICS, metric
from verify.benchmark.tuning import Tuned, put_aside
from verify.decisions.sequences import confidence_sequence

sklearn_metrics = pytest.importorskip("sklearn.metrics")
FEDERATIONS = ({"m": 6, "n": 8, "d": 2, "k": 2}, {"m": 6, "n": 9, "d": 2, "k": 2})
METHODS = ("local", "global", "oracle", "odcl-km")


# -- the table -----------------------------------------------------------------------------------


class Stored:
    """Made-up fits: (federation's n, method) -> metric -> values, in whole blocks."""

    root_seed = 5

    def __init__(self, columns):
        self.columns = columns

    def _of(self, cell):
        return self.columns[cell["n"], cell["method"]]

    def blocks(self, _experiment, cell):
        return set(range(self._of(cell)["failed"].size // BLOCK))

    def table(self, _experiment, cell, n_blocks):
        return {name: values[: n_blocks * BLOCK] for name, values in self._of(cell).items()}


def fits(rng, n, scale, name):
    """Random fits of one method: some failed, some without the metric, some equal."""
    columns = {each: np.full(n, MISSING) for each in METRICS}
    columns["failed"] = rng.choice([0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0], n)
    columns["cpu"] = rng.uniform(0.1, 0.2, n)
    values = scale * rng.lognormal(0.0, 0.3, n).round(1)
    if metric(name).scale == "difference":
        values = np.clip(1.0 - values, metric(name).low, 1.0)
    columns[name] = np.where(rng.random(n) < 0.1, MISSING, values)
    for each in METRICS:
        if each not in ("cpu", "failed"):
            columns[each][columns["failed"] > 0] = np.nan
    return columns


def benchmark_of(name, **changed):
    response = "logistic" if name in ("wrong", "accuracy") else "linear"
    return Benchmark(
        name="x", question="?", methods=", ".join(METHODS), vary="n", metric=name,
        federations=tuple({**each, "response": response} for each in FEDERATIONS), **changed,
    ).checked()  # fmt: skip


@pytest.mark.parametrize("name", ["error", "ari", "wrong", "accuracy"])
@pytest.mark.parametrize("seed", range(4))
def test_a_table_is_that_of_loops_over_its_trials(monkeypatch, name, seed):
    rng = np.random.default_rng(seed)
    benchmark = benchmark_of(name)
    counts = rng.integers(1, 9, len(METHODS)) * BLOCK
    stored = Stored({
        (n, m): fits(rng, int(size), scale, name)
        for n in (8, 9)
        for m, size, scale in zip(METHODS, counts, (0.2, 0.9, 0.05, 0.2), strict=True)
    })  # fmt: skip
    monkeypatch.setattr(running, "why_failed", lambda cell, root, trial: (cell, root, trial))
    found = running.result(stored, benchmark, "stopped")
    n = int(counts.min())
    smaller = metric(name).scale == "ratio"
    spent = 0.0
    for federation, made in zip(benchmark.federations, found.federations, strict=True):
        columns = {m: stored.table(None, {**federation, "method": m}, n // BLOCK) for m in METHODS}
        spent += sum(sum(c["cpu"].tolist()) for c in columns.values())
        values = {}
        for m, c in columns.items():
            lowest = min(0.0, metric(name).low)
            values[m] = np.array([x if x >= lowest else np.nan for x in c[name].tolist()])
        assert made.n_trials == n
        rule = benchmark.comparing()
        for c in made.contrasts:
            assert c == rule.contrast(c.first, c.second, values[c.first], values[c.second])
        pairs = [(c.first, c.second) for c in made.contrasts]
        assert pairs == list(itertools.combinations(METHODS, 2))
        winners = {(c.better, *({c.first, c.second} - {c.better})) for c in made.contrasts
                   if c.better}  # fmt: skip
        for row in made.methods:
            m, c = row.method, columns[row.method]
            bad = [i for i in range(n) if c["failed"][i] != 0]
            assert (row.n_trials, row.n_failed) == (n, len(bad))
            if bad:
                cell, root, trial = row.failure
                assert (cell["method"], root, trial) == (m, 5, bad[0])
                assert cell["n"] == federation["n"]
            else:
                assert row.failure == ""
            worst = math.inf if smaller else -math.inf
            ranked = sorted((worst if math.isnan(x) else x for x in values[m].tolist()),
                            reverse=not smaller)  # fmt: skip
            assert row.median.value == ranked[(n - 1) // 2]
            assert row.median.lower <= row.median.value <= row.median.upper
            for each in METRICS:
                told = [c[each][i] for i in range(n) if i not in bad and c[each][i] != MISSING]
                good = [value for value in told if math.isfinite(value)]
                mean = sum(good) / len(good) if good else None
                assert row.means[each] == (None if mean is None else pytest.approx(mean))
            assert row.oracle == (m == "oracle")
            beaten = any(winner != "oracle" and loser == m for winner, loser in winners)
            assert row.best == (m != "oracle" and not beaten and len(bad) < n)
            assert row.best_rank == 1 + sum(o == m for _, o in winners)
            assert row.worst_rank == len(METHODS) - sum(w == m for w, _ in winners)
        sign = 1.0 if smaller else -1.0
        keys = [(r.best_rank, r.worst_rank, sign * r.median.value, r.method) for r in made.methods]
        assert keys == sorted(keys)
    assert found.cpu_seconds == pytest.approx(spent)


def test_a_tables_limits_share_its_level():
    """Six pairs and four methods in each of two federations, two ends of each."""
    rule = benchmark_of("error", level=0.08).comparing()
    assert rule.n_limits == n_limits(4, 2) == 20
    assert rule._each == pytest.approx(0.08 / 40)
    assert (rule.low, rule.high) == (0.0, 1.0)
    assert benchmark_of("ari", max_trials=64).comparing().low == -0.5
    assert benchmark_of("ari", max_trials=64).comparing().horizon == 64


@pytest.mark.parametrize(("cpu", "budget", "trials"),
                         [(0.0, 30.0, 64), (0.0, 30.0, 30), (0.5, 60.0, 1000), (1.0, 9.0, 64),
                          (0.25, 100.0, 90)])  # fmt: skip
@pytest.mark.parametrize("decided", [False, True])
def test_looks_grow_by_half_within_the_budget_and_decided_federations_stay(
    monkeypatch, cpu, budget, trials, decided
):
    rng = np.random.default_rng(0)
    size = 4096
    columns = {}
    for n, m in itertools.product((8, 9), METHODS):
        made = fits(rng, size, 1.0, "error")
        made["failed"][:] = 0.0
        made["cpu"][:] = cpu
        made["error"][:] = rng.lognormal(0.0, 1.0, size)
        if decided and n == 9:
            made["error"][:] = 1.0  # equal values: a narrow contrast
        columns[n, m] = made
    stored, asked = Stored(columns), []
    n_now = {}
    monkeypatch.setattr(stored, "blocks", lambda _e, cell: set(range(n_now.get(cell["n"], 0))))

    def ensure(_store, demands, _executor, _on_block, blockwise):
        assert blockwise
        for demand in demands:
            n_now[demand.params["n"]] = demand.n_blocks
        assert len(demands) == 2 * len(METHODS)
        asked.append((n_now[8], n_now[9]))

    monkeypatch.setattr(running, "ensure", ensure)
    benchmark = benchmark_of("error", width=1e-9, level=1e-9, max_trials=trials, cpu_seconds=budget)
    looks = []
    result = running.run(stored, benchmark, None, on_look=lambda *told: looks.append(told))

    last = -(-trials // BLOCK)
    now, expected = [1, 1], []
    while True:
        expected.append(tuple(now))
        spent = cpu * len(METHODS) * BLOCK * sum(now)
        growing = [i for i in ((0,) if decided and expected_narrow(now[1]) else (0, 1))
                   if now[i] < last]  # fmt: skip
        if not growing:
            break
        wanted = {i: min(max(now[i] + 1, (3 * now[i] + 1) // 2), last) for i in growing}
        cost = sum((wanted[i] - now[i]) * cpu * len(METHODS) * BLOCK for i in growing)
        share = 1.0 if cost == 0 else min(1.0, (budget - spent) / cost)
        more = {i: int((wanted[i] - now[i]) * max(0.0, share)) for i in growing}
        if not any(more.values()):
            break
        for i in growing:
            now[i] += more[i]
    assert asked == expected
    assert [told[0] for told in looks] == [BLOCK * max(each) for each in expected]
    assert looks[-1][3] == pytest.approx(cpu * len(METHODS) * BLOCK * sum(expected[-1]))
    assert all(told[2] == 12 for told in looks)
    used = "CPU seconds" if max(expected[-1]) < last else "trials"
    assert used in result.stopped


def expected_narrow(n_blocks):
    """Whether the limits of a median of equal numbers are finite, so that they are the number."""
    n = n_blocks * BLOCK
    low, high = confidence_sequence(n, n, 1e-9 / (2 * n_limits(4, 2)))
    return low > 0.5 and high > 0.5


# -- one fit -------------------------------------------------------------------------------------


def federation_of(rng, response, m=23, outliers=True):
    sizes, judged = rng.integers(2, 5, m), rng.integers(1, 4, m)
    labels = rng.permutation(np.arange(m) % 3)
    if outliers:
        labels[rng.choice(m, 3, replace=False)] = -1

    def rows(counts):
        clients = np.repeat(np.arange(m), counts)
        y = rng.standard_normal(clients.size)
        return rng.standard_normal((clients.size, 2)), (
            np.sign(y) if response == "logistic" else y
        ), clients  # fmt: skip

    x, y, clients = rows(sizes)
    x_test, y_test, test = rows(judged)
    return Federation(
        features=x, responses=y, clients=clients, test_features=x_test, test_responses=y_test,
        test_clients=test, response=response, k=3, labels=labels,
        models=rng.standard_normal((m, 2)),
    )  # fmt: skip


def fitted_to(rng, data, **changed):
    n = data.test_responses.size
    scores = rng.standard_normal(n)
    scores[::5] = 0.0  # log odds of nothing: the first class
    return Fitted(**{
        "scores": scores, "labels": rng.integers(0, 3, data.n_clients),
        "models": rng.standard_normal((data.n_clients, 2)), "counts": (3.0, 5.0, MISSING),
        "losses": np.empty(0), "seconds": 0.25,
    } | changed)  # fmt: skip


@pytest.mark.parametrize("response", ["linear", "logistic"])
@pytest.mark.parametrize("seed", range(6))
def test_the_metrics_of_a_fit_are_those_of_loops_over_clients(response, seed):
    rng = np.random.default_rng(seed)
    data = federation_of(rng, response, m=[9, 10, 23, 31, 19, 20][seed])
    fit = fitted_to(rng, data)
    values = measure(fit, data, 60.0)
    regular = [i for i in range(data.n_clients) if data.labels[i] >= 0]
    gaps = {i: sum((fit.models[i] - data.models[i]) ** 2) for i in regular}
    scale = sum(sum(data.models[i] ** 2) for i in regular) / len(regular)
    assert values["error"] == pytest.approx(sum(gaps.values()) / len(regular) / scale)
    assert values["worst"] == pytest.approx(max(gaps.values()) / scale)
    truth, said = data.labels[regular], fit.labels[regular]
    assert values["ari"] == pytest.approx(sklearn_metrics.adjusted_rand_score(truth, said))
    pairs = list(zip(data.test_responses.tolist(), fit.scores.tolist(), strict=True))
    if response == "linear":
        assert values["held-out"] == pytest.approx(sum((y - s) ** 2 for y, s in pairs) / len(pairs))
        assert values["accuracy"] == values["wrong"] == values["worst-decile"] == MISSING
    else:
        loss = sum(math.log1p(math.exp(-y * s)) for y, s in pairs) / len(pairs)
        assert values["held-out"] == pytest.approx(loss)
        right = [(s > 0) == (y > 0) for y, s in pairs]
        assert values["accuracy"] == pytest.approx(sum(right) / len(right))
        assert values["wrong"] == pytest.approx(1 - sum(right) / len(right))
        each = sorted(
            np.mean([r for r, c in zip(right, data.test_clients, strict=True) if c == i])
            for i in range(data.n_clients)
        )
        worst = each[: max(1, data.n_clients // 10)]
        assert values["worst-decile"] == pytest.approx(sum(worst) / len(worst))
    assert (values["rounds"], values["floats-up"], values["floats-down"]) == (3.0, 5.0, MISSING)
    assert (values["cpu"], values["failed"]) == (0.25, 0.0)


def test_clusters_are_recovered_when_a_renaming_makes_them_equal():
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(60):
        data = federation_of(rng, "linear", m=6)
        said = rng.integers(0, 3, 6)
        if rng.random() < 0.5:
            said = np.where(data.labels >= 0, rng.permutation(3)[data.labels], said)
        inside = data.labels >= 0
        same = any(
            all(names[s] == t for s, t in zip(said[inside], data.labels[inside], strict=True))
            for names in itertools.permutations(range(3))
        )
        seen.add(same)
        assert measure(fitted_to(rng, data, labels=said), data, 60.0)["recovered"] == same
    assert seen == {False, True}


def test_what_a_fit_lacks_is_missing_and_what_fails_has_its_reason():
    rng = np.random.default_rng(3)
    data = federation_of(rng, "linear")
    bare = measure(fitted_to(rng, data, labels=None, models=None), data, 60.0)
    assert {bare[m] for m in ("error", "worst", "ari", "recovered")} == {MISSING}
    assert measure(fitted_to(rng, data, seconds=60.0), data, 60.0)["failed"] == 0.0
    late = measure(fitted_to(rng, data, seconds=60.5), data, 60.0)
    assert (late["failed"], late["cpu"]) == (TOO_LONG, 60.5)
    assert np.isnan(late["error"])
    scores = np.zeros(data.test_responses.size)
    scores[0] = np.inf
    diverged = measure(fitted_to(rng, data, scores=scores, seconds=61.0), data, 60.0)
    assert (diverged["failed"], diverged["cpu"]) == (DIVERGED, 61.0)
    still = np.zeros((data.n_clients, 2))
    zero = Federation(**{**data.__dict__, "models": still})
    assert measure(fitted_to(rng, zero, models=still), zero, 60.0)["error"] == 0.0


@pytest.mark.parametrize("wanted", [1.0, 2.0, 0.2])
def test_rounds_to_the_oracle_are_counted_from_one(monkeypatch, wanted):
    monkeypatch.setattr("verify.benchmark.fitting.oracle_loss", lambda _data: wanted)
    rng = np.random.default_rng(4)
    data = federation_of(rng, "linear")
    losses = np.array([4.0, 2.2, 1.1, 1.0])
    first = next((i for i, x in enumerate(losses, 1) if x <= 1.1 * wanted), 5)
    values = measure(fitted_to(rng, data, losses=losses), data, 60.0)
    assert values["rounds-to-oracle"] == first
    one = measure(fitted_to(rng, data, losses=losses[:1]), data, 60.0)
    assert one["rounds-to-oracle"] == MISSING
    unknown = Federation(**{**data.__dict__, "labels": None})
    assert (
        measure(fitted_to(rng, data, losses=losses), unknown, 60.0)["rounds-to-oracle"] == MISSING
    )


@pytest.mark.parametrize("response", ["linear", "logistic"])
def test_tuning_is_the_loop_over_candidates_and_counts_every_fit(response):
    rng = np.random.default_rng(5)
    x, clients = rng.standard_normal((41, 1)), np.repeat(np.arange(8), [1, 2, 3, 4, 5, 6, 9, 11])
    y = np.sign(x[:, 0]) if response == "logistic" else x[:, 0]
    aside = put_aside(clients)
    fits = []

    def make(options):
        def fit(x, y, clients):
            fits.append((options["factor"], len(x), len(y), len(clients)))
            return SimpleNamespace(
                factor=options["factor"], n_rounds_=2, floats_up_=len(x), floats_down_=1
            )

        return SimpleNamespace(fit=fit)

    def score(fit, x, _clients):
        return fit.factor * x[:, 0]

    factors = [np.nan, 0.5, 3.0, 1.0, 1.0 + 1e-12, 0.0]
    tuned = Tuned(make, [{"factor": f} for f in factors], response, score).fit(x, y, clients)
    losses = [
        np.inf if np.isnan(f) else np.mean(
            np.log1p(np.exp(-f * x[aside, 0] * y[aside])) if response == "logistic"
            else (f * x[aside, 0] - y[aside]) ** 2
        )
        for f in factors
    ]  # fmt: skip
    assert tuned.chosen_["factor"] == factors[int(np.argmin(losses))]
    n_aside = int(aside.sum())
    assert [f[1] for f in fits] == [41 - n_aside] * 6 + [41]
    assert (tuned.n_rounds_, tuned.floats_down_) == (14, 7)
    assert tuned.floats_up_ == 6 * (41 - n_aside) + 41
    alone = Tuned(make, [{"factor": 2.0}, {"factor": 1.0}], response, score)
    alone.fit(x[:3], y[:3], np.arange(3))  # no client can put a row aside
    assert (alone.chosen_, alone.n_rounds_) == ({"factor": 2.0}, 2)


# -- data of one's own ---------------------------------------------------------------------------


@pytest.mark.parametrize("response", ["linear", "logistic"])
def test_a_split_is_scaled_by_the_rows_to_fit_alone(tmp_path, response):
    rng = np.random.default_rng(6)
    lines, flag = ["who,flat,size,target"], 0
    for i in range(30):
        target = 3 + 4 * (i % 2) if response == "logistic" else round(rng.normal(5, 3), 3)
        flag = 1 if i == 7 else 0  # constant in the rows to fit where row 7 is held out
        lines.append(f"c{i % 4},{flag},{round(rng.normal(2, 9), 3)},{target}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    cell = tables.check({"data": str(path), "client": "who", "target": "target",
                         "response": response, "held_share": 0.35})  # fmt: skip
    raw = [line.split(",") for line in lines[1:]]
    raw.sort(key=lambda r: r[0])
    widths = set()
    for seed in range(12):
        found = tables.split(cell, np.random.default_rng(seed))
        assert np.bincount(found.test_clients).tolist() == [3, 3, 2, 2]  # .35 of 8, 8, 7, 7
        kept = {}
        columns = list(np.array([[float(r[1]), float(r[2])] for r in raw]).T)
        y = np.array([float(r[3]) for r in raw])
        who = np.array([int(r[0][1:]) for r in raw])
        judged = tables._held_out(who, 0.35, np.random.default_rng(seed))
        for j, column in enumerate(columns):
            fit = [v for v, out in zip(column, judged, strict=True) if not out]
            mean = sum(fit) / len(fit)
            spread = math.sqrt(sum((v - mean) ** 2 for v in fit) / len(fit))
            if spread > 0:
                kept[j] = (column - mean) / spread
        widths.add(len(kept))
        wanted = np.column_stack([*kept.values(), np.ones(30)])
        np.testing.assert_allclose(found.features, wanted[~judged], atol=1e-12)
        np.testing.assert_allclose(found.test_features, wanted[judged], atol=1e-12)
        if response == "logistic":
            y = np.where(y == 7, 1.0, -1.0)
        else:
            y = (y - y[~judged].mean()) / y[~judged].std()
        np.testing.assert_allclose(found.responses, y[~judged])
        np.testing.assert_allclose(found.test_responses, y[judged])
        assert found.response == response
    assert widths == {1, 2}


def test_digits_are_answers_to_the_questions_of_their_cluster():
    cell = tables.check({"data": "digits", "m": 12, "n": 30, "k": 4, "held_share": 0.2})
    rng = np.random.default_rng(7)
    table, labels = tables._digits(cell, rng)
    images, digits = tables._sklearn("digits")
    number = {image.tobytes(): digit for image, digit in zip(images, digits, strict=True)}
    questions = (lambda z: z >= 5, lambda z: z % 2 == 1, lambda z: z in (2, 3, 5, 7),
                 lambda z: z in (0, 6, 8, 9))  # fmt: skip
    assert sorted(labels.tolist()) == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    for i in range(12):
        own = table.clients == i
        assert len({image.tobytes() for image in table.features[own]}) == 30
        said = [questions[labels[i]](number[image.tobytes()]) for image in table.features[own]]
        assert table.target[own].tolist() == [1.0 if yes else -1.0 for yes in said]


def test_clients_of_diabetes_have_one_sex_and_one_quarter_of_the_mass_index():
    table = tables._diabetes()
    index = table.features[:, 2]
    ends = np.quantile(index, [0.25, 0.5, 0.75])
    kinds = [(int(sex > 0), sum(bmi > e for e in ends))
             for sex, bmi in zip(table.features[:, 1], index, strict=True)]  # fmt: skip
    assert (np.diff(table.clients) >= 0).all()
    for i in range(8):
        assert {kind for kind, c in zip(kinds, table.clients, strict=True) if c == i} == {
            (i // 4, i % 4)
        }


# -- drawn federations ---------------------------------------------------------------------------


def test_an_outlier_is_twice_as_far_as_the_farthest_model_with_the_noise_of_the_first_cluster():
    cell = FEDERATION.check({"m": 40, "n": 400, "d": 3, "k": 3, "separation": 0.8, "held_out": 200,
                             "outliers": 0.2, "noises": [0.0, 0.5, 2.0], "drift": 0.5})  # fmt: skip
    found = draw(cell, np.random.default_rng(8))
    theta = found.models[found.labels >= 0]
    radius = max(np.linalg.norm(theta, axis=1).max(), 0.8)
    strange = np.flatnonzero(found.labels < 0)
    assert strange.size == 8
    np.testing.assert_allclose(np.linalg.norm(found.models[strange], axis=1), 2.0 * radius)
    assert len(np.unique(found.models[strange].round(9), axis=0)) == 8
    rest = found.responses - np.einsum("nd,nd->n", found.features, found.models[found.clients])
    judged = found.test_responses - np.einsum(
        "nd,nd->n", found.test_features, found.models[found.test_clients]
    )
    for i in range(40):
        level = [0.0, 0.5, 2.0][max(found.labels[i], 0)]
        assert np.std(judged[found.test_clients == i]) == pytest.approx(level, rel=0.25, abs=1e-12)
        if i in strange:
            assert np.abs(rest[found.clients == i]).max() < 1e-12  # no outlier drifts


@pytest.mark.parametrize(("m", "drift", "n_moved"), [(10, 0.25, 3), (10, 0.5, 5), (10, 0.04, 0)])
def test_half_of_the_rows_of_the_declared_share_drift_to_another_cluster(m, drift, n_moved):
    """Rounded half up: a quarter of ten clients are three."""
    sizes = list(range(1, m + 1))
    cell = FEDERATION.check({"m": m, "d": 2, "k": 3, "sigma": 0.0, "drift": drift,
                             "row_counts": sizes})  # fmt: skip
    moved_rows, moved_clients = [], []
    for seed in range(6):
        found = draw(cell, np.random.default_rng(seed))
        assert np.bincount(found.clients).tolist() == sizes
        products = found.features @ np.unique(found.models.round(12), axis=0).T
        own = np.einsum("nd,nd->n", found.features, found.models[found.clients])
        away = ~np.isclose(own, found.responses)
        hits = np.isclose(products, found.responses[:, None]).any(axis=1)
        assert hits.all()  # a drifting row has the model of some cluster
        for i in range(m):
            mine = away[found.clients == i]
            assert mine.sum() in (0, sizes[i] // 2)
            assert not mine[sizes[i] // 2 :].any()
        moved_clients.append(len({*found.clients[away].tolist()}))
        moved_rows.append(away.sum())
    # a client of one row has no first half, so that its drift is not seen
    assert max(moved_clients) == n_moved
    assert min(moved_clients) >= max(n_moved - 1, 0)


@pytest.mark.parametrize("skew", [0.3, 0.9])
def test_label_skew_keeps_the_declared_share_of_the_other_class(skew):
    """Of classes alike, of which 1 - s of the other are kept, the other has (1 - s) / (2 - s).

    Kept rows were asked again, eight times in all, so that s = .9 left .4 % and not 9.1 %.
    """
    cell = FEDERATION.check({"response": "logistic", "label_skew": skew, "m": 400, "n": 1000,
                             "d": 2, "held_out": 1000, "separation": 1e-9, "k": 2})  # fmt: skip
    found = draw(cell, np.random.default_rng(9))
    other = (1.0 - skew) / (2.0 - skew)
    for y, who, n in (
        (found.responses, found.clients, 400_000),
        (found.test_responses, found.test_clients, 400_000),
    ):
        means = np.bincount(who, weights=y) / np.bincount(who)
        unusual = np.sum(y != np.sign(means)[who])
        # six standard deviations: 2e-9
        assert abs(unusual - n * other) < 6.0 * math.sqrt(n * other)
    train = np.sign(np.bincount(found.clients, weights=found.responses))
    test = np.sign(np.bincount(found.test_clients, weights=found.test_responses))
    assert np.mean(train == test) > 0.97  # the class that a client prefers is the same
    assert 0.35 < np.mean(train > 0) < 0.65


def test_elliptical_rows_share_one_factor_and_have_variance_one():
    cell = FEDERATION.check({"features": "elliptical", "degrees": 8.0, "m": 50, "n": 1000, "d": 4})
    x = draw(cell, np.random.default_rng(10)).features
    squares = (x**2).mean(axis=1)
    # E x^2 = 1; Var of the mean of four squares: (3 (nu-2)/(nu-4) + 9...)/..., below 2
    assert squares.mean() == pytest.approx(1.0, abs=6 * math.sqrt(2 / x.shape[0]))
    products = (x[:, 0] ** 2 * x[:, 1] ** 2).mean()
    assert products == pytest.approx(6.0 / 4.0, rel=0.25)  # (nu - 2) / (nu - 4)


def test_covariances_have_the_condition_number_and_responses_use_the_turned_rows():
    cell = FEDERATION.check({"condition": 25.0, "m": 4, "n": 60_000, "d": 3, "k": 2, "sigma": 0.0})
    found = draw(cell, np.random.default_rng(11))
    own = np.einsum("nd,nd->n", found.features, found.models[found.clients])
    np.testing.assert_allclose(found.responses, own, atol=1e-9)
    seen = []
    for j in range(2):
        rows = np.isin(found.clients, np.flatnonzero(found.labels == j))
        spectrum = np.linalg.eigvalsh(np.cov(found.features[rows].T))
        seen.append(np.cov(found.features[rows].T))
        assert spectrum[-1] / spectrum[0] == pytest.approx(25.0, rel=0.05)
    assert not np.allclose(*seen, rtol=0.1, atol=0.1)  # each cluster has its own


def test_models_that_do_not_fit_into_a_simplex_keep_their_closest_distance():
    for given in ({"k": 5, "d": 2, "layout": "close-pair"}, {"k": 4, "d": 1, "layout": "random"},
                  {"k": 4, "d": 1, "layout": "close-pair"}):  # fmt: skip
        cell = FEDERATION.check({"separation": 0.6, **given})
        theta = centres(cell, np.random.default_rng(12))
        gaps = np.linalg.norm(theta[:, None] - theta[None], axis=2)[np.triu_indices(len(theta), 1)]
        assert gaps.min() == pytest.approx(0.6)
    one = centres(FEDERATION.check({"k": 1, "d": 3, "separation": 0.6}), np.random.default_rng(13))
    assert np.linalg.norm(one) == pytest.approx(0.6)


# -- phase diagrams and curves -------------------------------------------------------------------


def explored(board):
    """The recursion in words: a rectangle whose corners agree is inferred, else it is cut."""
    tried, inferred = {}, {}

    def visit(a, b, c, e):
        corners = {(i, j) for i in (a, b) for j in (c, e)}
        tried.update({p: board[p] for p in corners})
        letters = {board[p] for p in corners}
        if letters in ({"S"}, {"F"}):
            for i in range(a, b + 1):
                for j in range(c, e + 1):
                    inferred[i, j] = next(iter(letters)).lower()
            return
        wide, high = b - a, e - c
        if wide > 1 and wide >= high:
            visit(a, (a + b) // 2, c, e), visit((a + b) // 2, b, c, e)
        elif high > 1:
            visit(a, b, c, (c + e) // 2), visit(a, b, (c + e) // 2, e)

    visit(0, board.shape[0] - 1, 0, board.shape[1] - 1)
    return tried, {p: s for p, s in inferred.items() if p not in tried}


@pytest.mark.parametrize("seed", range(30))
def test_a_grid_is_explored_as_its_recursion_says(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 9, 2))
    board = rng.choice(["S", "F", "?"], shape, p=[0.6, 0.35, 0.05])
    if seed % 3:
        i, j = np.indices(shape)
        board = np.where(i + 2 * j > sum(shape) / 2, "S", board)
    asked = []

    def decide(places):
        asked.extend(places)
        return {p: board[p] for p in places}

    tried, inferred = phase.explore(shape, decide)
    assert (tried, inferred) == explored(board)
    assert len(asked) == len(set(asked)) == len(tried)


def test_a_cell_of_a_diagram_gets_trials_until_half_is_excluded_or_its_budget_ends(monkeypatch):
    across, up = phase.axis("n=8..64", 4), phase.axis("separation=.5..2", 3)
    grid = phase.Grid(methods="odcl-km", fixed={"m": 4, "d": 2, "k": 2}, across=across, up=up,
                      level=0.1, max_trials=128)  # fmt: skip
    chance = {8: 0.0, 16: 0.3, 32: 0.55, 64: 1.0}
    rng, stored, asked = np.random.default_rng(0), {}, {}

    def outcomes(cell):
        key = cell["n"], cell["separation"]
        return stored.setdefault(key, (rng.random(4096) < chance[cell["n"]]).astype(float))

    def ensure(_store, demands, _executor):
        for demand in demands:
            key = demand.params["n"], demand.params["separation"]
            asked.setdefault(key, []).append(demand.n_blocks)

    def n_first(_store, cell):
        return asked[cell["n"], cell["separation"]][-1]

    monkeypatch.setattr(phase, "ensure", ensure)
    monkeypatch.setattr(phase, "n_stored", n_first)
    store = SimpleNamespace(
        table=lambda _e, cell, n_blocks: {"recovered": outcomes(cell)[: n_blocks * BLOCK]}
    )
    (found,) = phase.diagrams(store, grid, None)
    for (n, separation), demanded in asked.items():
        i, j = across.values.index(n), up.values.index(separation)
        blocks = 4
        while True:
            won = int(stored[n, separation][: blocks * BLOCK].sum())
            low, high = confidence_sequence(won, blocks * BLOCK, 0.1 / 12)
            letter = "S" if low > 0.5 else "F" if high < 0.5 else "?"
            if letter != "?" or blocks * BLOCK >= 128:
                break
            blocks *= 2
        assert found.cells[i][j] == letter
        assert found.trials[i][j] == blocks * BLOCK
        assert found.shares[i][j] == won / (blocks * BLOCK)
        assert demanded == [4 * 2**t for t in range(len(demanded))]
        assert demanded[-1] == blocks
    assert {found.cells[0][0], found.cells[3][0]} == {"F", "S"}
    assert found.tried == len(asked)


def test_the_cells_of_all_diagrams_share_the_level(monkeypatch):
    """Two methods on twelve cells: 24 limits."""
    across, up = phase.axis("n=8..64", 4), phase.axis("separation=.5..2", 3)
    grid = phase.Grid(methods="odcl-km, odcl-spectral", fixed={"m": 4, "d": 2, "k": 2},
                      across=across, up=up, level=0.1, max_trials=16)  # fmt: skip
    levels = []

    def limits(successes, n, level):
        levels.append(level)
        return confidence_sequence(successes, n, level)

    monkeypatch.setattr(phase, "ensure", lambda *_: None)
    monkeypatch.setattr(phase, "n_stored", lambda *_: 4)
    monkeypatch.setattr(phase, "confidence_sequence", limits)
    store = SimpleNamespace(table=lambda _e, _cell, n: {"recovered": np.ones(n * BLOCK)})
    assert len(phase.diagrams(store, grid, None)) == 2
    assert set(levels) == {0.1 / 24}


def test_a_curve_has_medians_between_the_least_and_the_largest_trial():
    rng = np.random.default_rng(14)
    lines = rng.lognormal(0.0, 1.0, (5, 300))
    series = _series("ifca", lines)
    assert series.x[0] == 1.0
    assert series.x[-1] == 300.0
    assert len(series.x) <= 60
    for t, y, low, high in zip(series.x, series.y, series.lower, series.upper, strict=True):
        column = sorted(lines[:, int(t) - 1])
        assert (low, y, high) == (column[0], column[2], column[-1])


# -- blocks --------------------------------------------------------------------------------------


def test_the_blocks_used_last_are_kept_up_to_their_number_and_bytes():
    made, kept = [], LastBlocks()

    def get(key, n_bytes=0):
        def draws():
            made.append(key)
            array = SimpleNamespace(nbytes=n_bytes // 2)
            return [lambda: SimpleNamespace(features=array, test_features=array)]

        block = kept.get(key, draws)
        block.trial(0)
        block.trial(0)
        return block

    for key in "abcd":
        get(key)
    get("a")  # used again: b is the oldest now
    get("e")
    get("a")
    assert made == list("abcde")
    get("b")
    assert made == [*"abcde", "b"]
    large = LastBlocks()
    kept = large
    made.clear()
    half = 1 << 27
    for key in "xyxyx":  # together they have exactly the limit
        get(key, half)
    assert made == ["x", "y"]
    get("w", 4)  # what a block holds is known when it is drawn, and counts at the next look
    get("w", 4)  # four bytes too many: y is the oldest
    get("x", half)
    assert made == ["x", "y", "w"]
    get("y", half)
    assert made == ["x", "y", "w", "y"]
    get("z", 1 << 29)  # too large, and in use
    assert get("z", 1 << 29) is kept.get("z", list)
    get("x", half)
    assert made == ["x", "y", "w", "y", "z", "x"]
