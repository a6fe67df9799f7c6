"""The page on networks: its claims are possible, and a run of a few clients gives every column."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.trials.networks.image_files import write_mnist
from trials.checks import InvalidParameter
from trials.run.engine import Demand, ensure
from verify.decisions.comparisons import ContrastTest
from verify.decisions.familywise import PAPER_SHARE
from verify.decisions.means import SHARE
from verify.procedures.base import PROFILES

pytest.importorskip("torch", reason="PyTorch is not installed: extra networks")

PATH = Path(__file__).parents[1] / "docs" / "networks.py"


@pytest.fixture(scope="module")
def page():
    """The page as a module of its own."""
    spec = importlib.util.spec_from_file_location("networks_page", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["networks_page"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["networks_page"]


def row(page, **given):
    cell = page.ROTATED.check({"m": 8, "n": 10, "rounds": 2, **given})
    values = page.ROTATED.simulate(cell, np.random.default_rng(0), 1)[0]
    return cell, dict(zip(page.ROTATED.columns, values, strict=True))


def test_every_claim_is_possible_and_its_contrasts_are_known(page):
    for claim in page.PAPER.claims:
        for profile in ("quick", "standard", "full"):
            assert not claim.not_run_at(profile)
            procedure = claim.build(PROFILES[profile])
            procedure.check()
            assert procedure.describe()


def test_one_order_with_every_seed_of_quick_decides_at_a_claims_level(page):
    """Of the ten claims' share of a run's level: nine seeds of nine would leave them open."""
    level = 0.05 * PAPER_SHARE / len(page.PAPER.claims)
    claim = next(c for c in page.PAPER.claims if c.id == "networks.spare-models")
    seeds = claim.build(PROFILES["quick"]).sampling.max_trials

    def decided(n_seeds):
        (contrast,) = claim.statement.contrasts
        test = ContrastTest(
            contrast=contrast, knowledge=SHARE, horizon=n_seeds, scale="sign",
            refute_level=level, support_level=level,
        )  # fmt: skip
        high, low = np.full(n_seeds, 0.9), np.full(n_seeds, 0.1)
        return [test.decide(*pair, n_failed=0).status for pair in ((low, high), (high, low))]

    assert decided(seeds) == ["holds", "fails"]
    assert decided(seeds - 1) == ["open", "open"]


def test_one_start_needs_the_seeds_that_its_claim_names(page):
    """The probability that all three cells are supported, by the share p of seeds with success."""
    level = 0.05 * PAPER_SHARE / len(page.PAPER.claims)
    claim = next(c for c in page.PAPER.claims if c.id == "networks.table-1-identities")
    contrast = claim.statement.contrasts[0]

    def enough(n):
        test = ContrastTest(
            contrast=contrast, knowledge=SHARE, horizon=n, scale="sign", refute_level=level,
            support_level=level,
        )  # fmt: skip
        low, found = np.full(n, 0.5), np.arange(n)
        return next(
            r for r in range(n // 2, n + 1)
            if test.decide(low, np.where(found < r, 0.9, 0.1), limits=False).status == "holds"
        )  # fmt: skip

    def power(n, p):
        return stats.binom.sf(enough(n) - 1, n, p) ** 3

    for p, n in ((0.9, 40), (0.8, 74), (0.7, 180)):
        assert power(n, p) >= 0.8 > power(n - 12, p)
        assert f" {n} " in claim.statement.reading
    assert [round(float(power(n, 0.9)), 2) for n in (18, 48)] == [0.09, 0.98]
    assert [enough(n) for n in (10, 12, 18)] == [10, 12, 17]


def test_all_claims_at_standard_take_at_most_two_cpu_hours(page):
    """By the declared cost of every seed, were all claims to take all of their seeds."""
    declared = {}
    for claim in page.PAPER.claims:
        built = claim.build(PROFILES["standard"])
        experiment, seeds = built.sampling.experiment, built.sampling.max_trials
        for cell in map(experiment.check, built.cells):
            declared[experiment.name, str(cell)] = seeds * experiment.cost(cell)
    assert 3600 < sum(declared.values()) <= 7200


def test_a_claim_shows_its_trials_beside_the_printed_values(page, tmp_path):
    """The whole way from stored trials to a verdict and its table, on six clients."""
    from trials.run.executors import make_executor
    from trials.run.store import RunStore

    claim = next(c for c in page.PAPER.claims if c.id == "networks.table-1-order")
    cell = page.ROTATED.check({"m": 8, "n": 10, "rounds": 1})
    whole = claim.build(PROFILES["quick"])
    small = replace(whole, cells=(cell,), sampling=replace(whole.sampling, max_trials=2, first=2))
    store = RunStore.create(tmp_path / "store.sqlite", root_seed=1, config={}, code={})
    with store, make_executor("serial") as executor:
        ensure(store, [Demand(page.ROTATED, cell, 2)], executor)
        found = small.decide(store, 0.05)
    assert found.verdict.name == "INCONCLUSIVE"
    table = next(t for t in found.tables if t.title.endswith("glyphs: comparison"))
    assert [row[0] for row in table.rows[:2]] == ["IFCA", "one global model"]
    assert not any(row[1] == "94.20 ± 0.03" for row in table.rows), "n = 10 is not in the paper"


def test_full_takes_the_files_that_are_there_and_drawn_images_otherwise(page, monkeypatch):
    monkeypatch.delenv("CFL_MNIST", raising=False)
    assert {cell["data"] for cell in page.digit_cells("full")} == {"glyphs"}
    monkeypatch.setenv("CFL_MNIST", "somewhere")
    assert {cell["data"] for cell in page.digit_cells("full")} == {"mnist"}
    assert {cell["data"] for cell in page.digit_cells("standard")} == {"glyphs"}
    for profile, share in (("full", 1), ("standard", 10), ("quick", 20)):
        sizes = {(cell["m"], cell["n"]) for cell in page.digit_cells(profile)}
        assert sizes == {(4800 // share, 50), (2400 // share, 100), (1200 // share, 200)}
    assert [(c["m"], c["n"]) for c in page.photo_cells("full")] == [(200, 500)]


def test_several_starts_keep_the_least_loss_and_spare_models_are_counted(page):
    _, found = row(page, starts=2, spare=1)
    assert found["best_floats"] == 2 * found["ifca_floats"]
    assert 0.8 <= found["used"] <= 1.0
    assert all(0.0 <= found[name] <= 1.0 for name in ("best", "wide", "best_identities"))
    _, alone = row(page)
    assert alone["best"] == alone["ifca"] == alone["wide"] == found["ifca"]
    assert alone["best_identities"] == alone["identities"]
    assert alone["used"] == 1.0


def test_a_round_of_writers_has_every_method_and_counts_shared_floats_once(page):
    cell = page.WRITERS.check({"m": 4, "n": 5, "classes": 10, "rounds": 1})
    values = page.WRITERS.simulate(cell, np.random.default_rng(0), 1)[0]
    found = dict(zip(page.WRITERS.columns, values, strict=True))
    assert all(0.0 <= found[name] <= 1.0 for name in page.FEMNIST)
    assert found["ifca2_clusters"] <= 2
    private = 64 * 10 + 10
    common = found["global_floats"] / (2 * 4) - private
    assert found["ifca2_floats"] == 4 * (2 * private + common) + 4 * (private + common + 2)
    with pytest.raises(InvalidParameter, match="classes=11 must be 10 or 62"):
        page.WRITERS.check({"m": 4, "n": 5, "classes": 11})


def test_writers_in_groups_have_an_oracle_and_those_without_are_drawn_as_before(page):
    small = {"m": 6, "n": 5, "classes": 10, "rounds": 1}
    found = page.one_of_writers(page.STYLES.check(small), np.random.default_rng(0))
    assert 0.0 <= found["oracle"] <= 1.0
    assert found["oracle_clusters"] == 3
    assert 1 / 3 <= found["identities"] <= 1.0
    clients, test = page.writers(page.STYLES.check(small), np.random.default_rng(0))
    assert clients.clusters.tolist() == test.clusters.tolist() == [0, 0, 1, 1, 2, 2]
    plain = page.WRITERS.check(small)
    assert set(plain) == {"m", "n", "classes", "rounds", "data"}, "the cells of stored runs"
    assert set(page.writers(plain, np.random.default_rng(0))[0].clusters) == {-1}
    (cell,) = page.style_cells("quick")
    cell = page.STYLES.check(cell)
    assert (cell["styles"], cell["distinct"], cell["habits"]) == (3, 0.5, "own")
    with pytest.raises(InvalidParameter, match="styles=4 must be at most m=3"):
        page.STYLES.check({**small, "m": 3, "styles": 4})


def test_files_by_path_are_a_reproduction_only_with_the_published_checksums(
    page, monkeypatch, tmp_path
):
    with pytest.raises(InvalidParameter, match="CFL_MNIST must name"):
        page.ROTATED.check({"data": "mnist", "m": 8, "n": 10, "rounds": 2})
    rng = np.random.default_rng(1)
    pixels, labels = rng.integers(0, 256, (20, 28, 28)), np.arange(20) % 10
    write_mnist(tmp_path, pixels, labels, pixels[:10], labels[:10])
    monkeypatch.setenv("CFL_MNIST", str(tmp_path))
    page.files.cache_clear()
    cell, found = row(page, data="mnist")
    page.files.cache_clear()
    assert found["original"] == 0.0
    assert all(0.0 <= found[name] <= 1.0 for name in page.METHODS)
    assert 0.25 <= found["identities"] <= 1.0
    d = 784 * 200 + 200 + 200 * 10 + 10
    assert found["ifca_floats"] == 2 * 8 * (4 * d + d + 4)
    assert found["global_floats"] == 2 * 8 * 2 * d
    table = {name: np.repeat(value, 2) for name, value in found.items()}
    shown = page.beside("Table I", page.PRINTED[4800, 50], cell, table)
    assert shown.title.endswith("mnist: comparison")
    assert shown.rows[0][:2] == ("IFCA", "94.20 ± 0.03")
    assert len(shown.columns) == 3
    table |= {
        "original": np.ones(2),
        "ifca": np.array([0.93, 0.95]),
        "global": np.array([0.7, 0.8]),
    }
    shown = page.beside("Table I", page.PRINTED[4800, 50], cell, table)
    assert shown.title.endswith("mnist: reproduction")
    assert shown.rows[0][3].startswith("-0.20 [-12.9")
    rows = {row[0]: row[1:] for row in shown.rows}
    gain = rows["IFCA - one global model, paired"]
    assert gain[:2] == ("+7.46", "+19.00 [-31.82, +69.82]")
    assert rows["IFCA - oracle, known clusters, paired"][0] == "not printed"
    assert rows["sent by IFCA (floats)"][2] == ""
    spare = {page.WORDS[name] for name in ("best", "best_identities", "wide", "used")}
    assert not spare & set(rows), "one start, no spare model"
    several = page.beside("Table I", {}, {**cell, "starts": 2, "spare": 1}, table)
    assert spare <= {row[0] for row in several.rows}
    assert {len(row) for row in shown.rows} == {len(shown.columns)} == {4}


def test_every_column_of_an_experiment_has_words_for_a_report(page):
    """All but the share that a majority is compared with, and the mark of original files."""
    columns = {*page.ROTATED.columns, *page.WRITERS.columns, *page.STYLES.columns}
    assert columns - set(page.WORDS) == {"most", "original"}
    assert len(set(page.WORDS.values())) == len(page.WORDS)


def test_limits_of_what_is_measured_less_what_is_printed_are_those_of_welch(page):
    rng = np.random.default_rng(4)
    mine, theirs = rng.normal(94.0, 0.4, 12), rng.normal(94.2, 0.9, page.PRINTED_SEEDS)
    found = page.less_printed(mine, theirs.mean(), theirs.std(ddof=1))
    wanted = stats.ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(found, [mine.mean() - theirs.mean(), wanted.low, wanted.high])


def test_a_seed_that_is_stopped_goes_on_after_the_rounds_that_are_done(page, monkeypatch, tmp_path):
    """With CFL_STATES.  A finished seed leaves nothing, so that a replay trains again."""
    from trials.networks import training

    _, whole = row(page)
    monkeypatch.setenv("CFL_STATES", str(tmp_path))
    real, rounds = training._round, []

    def counted(*arguments):
        rounds.append(arguments[4])
        if len(rounds) == 4:  # the second round of the global model
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(training, "_round", counted)
    with pytest.raises(KeyboardInterrupt):
        row(page)
    assert len(list(tmp_path.rglob("*.npz"))) == 2
    _, again = row(page)
    assert rounds == [0, 1, 0, 1, 1, 0, 1]
    assert again == whole
    assert list(tmp_path.iterdir()) == []


def test_hard_textures_are_a_set_of_the_command_and_of_no_claim(page):
    _, found = row(page, data="hard-textures", m=4, n=10, rounds=1)
    assert all(0.0 <= found[name] <= 1.0 for name in page.METHODS)
    built = [c.build(PROFILES[name]) for c in page.PAPER.claims for name in PROFILES]
    assert "hard-textures" not in {cell.get("data") for each in built for cell in each.cells}


def test_the_worst_decile_is_the_mean_of_the_worst_tenth(page):
    assert page.worst_decile(np.arange(20.0)) == 0.5
    assert page.worst_decile(np.array([0.3, 0.2])) == 0.2


def test_watched_identities_are_those_of_all_clients_and_warm_models_know_their_rotation(page):
    """Warm models have seen one rotation each, so nearly every client finds its own."""
    small = {"data": "glyphs", "m": 16, "n": 40, "rounds": 2, "starts": 1, "spare": 0}
    (cold, groups), (warm, _) = (page.watch(small, 0, rounds) for rounds in (0, 10))
    assert len(cold) == len(groups) == 2
    assert 0 <= min(groups) <= max(groups) <= 4
    assert warm[-1] > 0.9
    assert warm[-1] > cold[0]


def test_paired_limits_are_those_of_students_t(page):
    rng = np.random.default_rng(0)
    a, b = rng.random(7), rng.random(7)
    mean, low, high = page.paired(a - b)
    wanted = stats.ttest_rel(a, b).confidence_interval(0.95)
    np.testing.assert_allclose([mean, low, high], [np.mean(a - b), wanted.low, wanted.high])


def test_the_command_prints_means_beside_the_printed_values_and_paired_differences(page, capsys):
    cell = {"data": "textures", "n": 500}
    row = dict.fromkeys(page.ROTATED.columns, 0.5)
    page.show(page.ROTATED, cell, [row | {"ifca": 0.75}, row | {"ifca": 0.85}])
    text = capsys.readouterr().out
    assert "ifca           0.8 ± 0.0707   printed 81.51 ± 1.37 %" in text
    assert "ifca - global: +30.0 [-33.5, +93.5] points" in text
    page.show(page.ROTATED, cell, [row])
    assert " - " not in capsys.readouterr().out
