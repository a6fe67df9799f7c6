"""Every IFCA claim: its cells are possible, inside the theorem, and cover its domain."""

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy
import sympy as sp

from bounds.ifca import neurips, strangers
from bounds.ifca.whole_run import COROLLARY_1
from bounds.statement import OutsideTheorem
from trials.checks import InvalidParameter
from trials.experiments.ifca.geometry import sizes_of
from trials.experiments.ifca.labels import LABELS
from trials.experiments.ifca.step import N_STEPS, STEP, STRANGERS, TRAJECTORY
from trials.experiments.ifca.step_sizes import STEP_SIZES
from trials.run.block import Task, simulate_block
from trials.run.store import Table
from verify.claims.ifca import cells, identity, one_step, random_starts, tails, whole_run
from verify.claims.ifca import neurips as neurips_claims
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.procedures.base import PROFILES, Observed, Presentation, Profile
from verify.procedures.comparison import Comparison, Monotone
from verify.procedures.constants import Constants
from verify.procedures.invented import invent_trials
from verify.procedures.mean_bound import MeanBound
from verify.procedures.probability import Probability
from verify.procedures.rate import Contraction, Rate
from verify.procedures.search import Search

IFCA = {name: claim for name, claim in catalogue().items() if name.startswith("ifca.")}
#: The profile at which a search is decided here.
SMALL = Profile(name="test", max_trials=256, searches=300)


@cache
def quick(name):
    """The procedure of a claim at the profile quick, built when it is first asked for."""
    return IFCA[name].build(PROFILES["quick"])


def cells_of(procedure):
    if isinstance(procedure, Search):
        return ()
    if isinstance(procedure, Constants):
        return (*procedure.calibration, *procedure.held_out, *procedure.elsewhere)
    return procedure.cells


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
def test_every_claim_builds_checks_and_describes_itself_under_every_profile(profile):
    for name, claim in IFCA.items():
        procedure = claim.build(profile)
        procedure.check()
        assert len(procedure.describe()) > 40, name
        kind = (Search, Constants, Probability, Rate, Contraction, MeanBound)
        assert isinstance(procedure, (*kind, Comparison, Monotone)), name


def test_cells_and_constants_do_not_depend_on_the_profile():
    """A larger profile draws more trials of the same cells, so extension keeps what was drawn."""
    for name, claim in IFCA.items():
        full = claim.build(PROFILES["full"])
        assert cells_of(full) == cells_of(quick(name)), name
        if isinstance(full, Constants):
            assert full.choices == quick(name).choices
            assert full.drift == quick(name).drift


def known(assumption, values):
    """Whether a cell's own symbols decide the assumption (a step size comes from its rule)."""
    symbols = assumption.left.free_symbols | assumption.right.free_symbols
    return {s.name for s in symbols} <= set(values)


def cells_of_a_theorem_meet_its_assumptions(name):
    statement = IFCA[name].statement
    for cell in cells_of(quick(name)):
        if statement.assumptions and {"m", "n", "alpha", "profile"} <= set(cell):
            values = cells.values(cell)
            own = [a for a in statement.assumptions if known(a, values)]
            margins = {a.name: a.margin(values) for a in own}
            for assumption in own:
                needed = values.get(str(assumption.constant), 1.0)
                assert margins[assumption.name] >= needed * (1 - 1e-12), (assumption.name, cell)


def symbols_of(params):
    """A cell in the statements' symbols.  A cell without clients may have optima all the same."""
    if "m" in params:
        return cells.values(params)
    if "Delta" in params:
        return {**params, "theta_max": cells.largest_norm({"centers": "simplex", **params})}
    return params


def every_hidden_constant_is_printed_and_met_by_every_cell(name):
    claim, procedure = IFCA[name], quick(name)
    told = claim.document(procedure)
    for assumption, shown in zip(claim.statement.assumptions, told["assumptions"], strict=True):
        if assumption.constant is None:
            continue
        symbol = assumption.constant.name
        if isinstance(procedure, Search):
            assert symbol in procedure.constants
            continue
        assert f"={claim.hidden[symbol]:g}$" in shown["note"]
        for params in cells_of(procedure):
            if {"m", "profile"} <= set(
                params
            ) or "m" not in params:  # others have their own letters
                assert assumption.margin(symbols_of(params)) >= claim.hidden[symbol]


def cells_are_distinct(name):
    spelled = [repr(sorted(c.items())) for c in cells_of(quick(name))]
    assert len(set(spelled)) == len(spelled)


def a_procedure_with_cells_lists_its_parameters_beside_an_unknown_one(name):
    if not isinstance(quick(name), Search):
        with pytest.raises(InvalidParameter, match=r"no parameter 'zzz'; its parameters: \w+"):
            quick(name).override({"zzz": 1})


def a_search_finds_what_the_catalogue_expects(name):
    search = IFCA[name].build(SMALL)
    if isinstance(search, Search):
        evidence = replace(search, present=lambda _result: Presentation()).decide(None, 0.05)
        assert evidence.verdict is IFCA[name].expected
        if evidence.verdict is Verdict.REFUTED:
            assert evidence.witness.observed > evidence.witness.bound
            assert search.violation(evidence.witness.params) > 0


@pytest.mark.parametrize("name", IFCA)
def test_a_claim_of_ifca(name):
    """Each function says by its name what holds.  One test asks all, as each takes little."""
    cells_of_a_theorem_meet_its_assumptions(name)
    every_hidden_constant_is_printed_and_met_by_every_cell(name)
    cells_are_distinct(name)
    a_procedure_with_cells_lists_its_parameters_beside_an_unknown_one(name)
    a_search_finds_what_the_catalogue_expects(name)


@pytest.mark.parametrize("name", ["ifca.thm1", "ifca.thm1-own-step"])
def test_theorem_1_is_tried_over_its_whole_domain(name):
    """Decades of every parameter that the statement names."""
    values = [cells.values(c) for c in cells_of(quick(name))]

    def reach(symbol):
        found = [v[symbol] for v in values]
        return min(found), max(found)

    assert reach("m")[0] <= (10 if name == "ifca.thm1" else 500)
    assert reach("m")[1] == 10**7
    assert reach("d")[1] >= 10_000
    assert reach("k") == (2, 16)
    assert reach("rho")[0] <= 1e-2
    assert reach("rho")[1] >= 1e3 * (1 - 1e-9)
    assert reach("alpha")[0] <= 0.02
    assert reach("alpha")[1] >= 0.49
    if name == "ifca.thm1-own-step":
        assert min(v["p"] * v["k"] for v in values) <= 1 / 50 * (1 + 1e-9)
    else:
        assert max(v["p_max"] / v["p"] for v in values) > 1.8
        assert all(v["p_max"] <= 2 * v["p"] for v in values)
    starts = {c["init"] for c in cells_of(quick("ifca.thm1"))}
    assert starts >= {"random", "adversarial", "orthogonal"}


def test_values_are_those_of_whole_clients():
    cell = cells.cell(m=10, n=100, d=3, k=3, rho=4.0, alpha=0.25)
    values = cells.values(cell)
    assert list(sizes_of(cell)) in ([3, 3, 4], [4, 3, 3], [3, 4, 3])
    assert values["p"] == 0.3
    assert values["p_max"] == 0.4
    assert values["rho"] == pytest.approx(4.0)
    assert values["Delta"] == 1.0
    quiet = cells.values(cells.cell(m=10, n=100, d=3, k=2, rho=0.01, alpha=0.25))
    assert quiet["Delta"] == pytest.approx(0.1)  # Delta and sigma are at most one
    assert quiet["sigma"] == pytest.approx(1.0)


def test_the_floor_of_a_cell_is_the_papers():
    cell = cells.cell(m=400, n=100, d=16, k=2, rho=4.0, alpha=0.25)
    assert cells.floor(cell) == pytest.approx(0.5 / 0.5 * math.sqrt(16 / (400 * 100)))


def test_an_instance_keeps_to_the_named_values():
    procedure = quick("ifca.thm1").override({"m": 400, "d": 100})
    procedure.check()
    assert procedure.held_out
    assert {(c["m"], c["d"]) for c in procedure.held_out} == {(400, 100)}
    assert procedure.calibration == quick("ifca.thm1").calibration


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ifca.thm1", {"n": 0}),
        ("ifca.thm1", {"sigma": math.nan}),
        ("ifca.cor1", {"alpha": 0.5}),
        ("ifca.thm1-floor", {"d": 1}),
        ("ifca.thm1-contraction", {"n": 1}),
        ("ifca.k2-slightly-better", {"n": 10}),
        ("ifca.thm1-as-printed", {"sigma": -1.0}),
    ],
)
def test_impossible_instances_are_refused(name, values):
    with pytest.raises((InvalidParameter, OutsideTheorem)):
        quick(name).override(values)


@pytest.mark.parametrize(
    ("name", "floors", "violations"),
    [
        ("ifca.alpha-increases-as-printed", (0.0, 0.5, 3.0), [False, True, True]),
        ("ifca.alpha-increases", (0.0, 1.9, 2.1), [False, False, True]),
    ],
)
def test_one_cluster_that_moves_away_violates_monotony_though_the_largest_error_falls(
    name, floors, violations
):
    """The error from which some cluster's error grew, in floors, while the largest only falls."""
    procedure = quick(name)
    params = procedure.cells[0]
    errors = np.geomspace(0.2, 1e-3, N_STEPS)
    columns = (*(f"err_{t}" for t in range(1, N_STEPS + 1)), "grew_from")
    rows = np.array([[*errors, x * cells.floor(params)] for x in floors])
    table = Table(columns=columns, values=rows, failed=np.zeros(3, dtype=bool), reasons=())
    assert procedure.bad(table, params).tolist() == violations


# -- what is said beside a verdict follows from the trials ----------------------------------------


def constant_table(columns, **columns_of):
    """Two trials, zero but for the named columns."""
    values = np.zeros((2, len(columns)))
    for name, value in columns_of.items():
        values[:, columns.index(name)] = value
    return Table(columns=columns, values=values, failed=np.zeros(2, dtype=bool), reasons=())


def test_the_third_term_is_called_superfluous_only_where_nobody_was_misidentified():
    params = quick("ifca.thm1").calibration[0]
    unit = cells.floor(params) * math.sqrt(cells.values(params)["p"])
    for n_strangers in (0, 3):
        table = constant_table(STEP.columns, n_misidentified=n_strangers, err_after_max=0.7 * unit)
        lines = one_step.strangers_seen([Observed(params=params, table=table)]).sharpness
        assert lines[0].endswith(f" {2 * n_strangers}.")
        assert ("not needed" in " ".join(lines)) is (n_strangers == 0)
        assert "leaves 0.70 to 0.70 times" in lines[-1]


def test_step_sizes_are_said_to_serve_where_they_did():
    chosen = quick("ifca.thm1-as-printed").cells[:5]  # ratios 1, 1.5, 2, 2.5, 3.5
    served = [
        Observed(params=params, table=constant_table(STEP_SIZES.columns, none=float(i >= 2)))
        for i, params in enumerate(chosen)
    ]
    (line,) = one_step._ratios_served(served)
    assert "every trial up to $p_{\\max}=1.5p$" in line
    assert "in any trial from $p_{\\max}=2p$" in line
    assert one_step._ratios_served(served[:2]) == ()


def test_the_printed_ratio_to_the_minimax_rate_is_evaluated_after_the_stated_steps():
    """The ratio of one cell, recomputed: c6 = 2 and T = 2 + log(Delta/(4 epsilon)) rounded up."""
    procedure = quick("ifca.near-optimal")
    params = procedure.cells[0]
    v = cells.values(params)
    signal = math.exp(-math.log(2) / 4 * (v["rho"] / (v["rho"] + 1)) ** 2 * v["n"])
    epsilon = 2 * cells.floor(params) + signal
    steps = math.ceil(2 + math.log(v["Delta"] / (4 * epsilon)))
    rate = v["sigma"] * math.sqrt(v["d"] / (2 * v["p"] * v["m"] * v["n"] * steps))
    assert procedure.bound(params) == pytest.approx(2 * math.sqrt(2 * steps / v["p"]) * rate)
    table = constant_table(TRAJECTORY.columns, **{f"err_{steps}": 3.5 * rate})
    (line,) = procedure.present([Observed(params=params, table=table)]).sharpness
    assert f"number of steps, {steps} to {steps}," in line
    assert "is 3.50 to 3.50 times the minimax" in line
    stated = {one_step.values(c)["sigma"] for c in procedure.cells if c["m"] == params["m"]}
    assert max(stated) / min(stated) > 100


@pytest.mark.parametrize("name", ["ifca.eq8", "ifca.eq9"])
def test_the_limit_on_the_strangers_part_depends_on_how_the_bound_grows_with_their_number(name):
    """A bound in proportion to the square root of their number allows each of many less."""
    claim = IFCA[name]
    (term,) = claim.statement.terms
    slower = replace(term, expr=term.expr / sp.sqrt(strangers.STRANGERS))
    changed = replace(claim, statement=replace(claim.statement, terms=(slower,)))
    original, other = quick(name), changed.build(PROFILES["quick"])
    checked = [STRANGERS.check(cell) for cell in original.cells]
    assert all(original.log_limit(cell) < -math.log(cell["m"]) for cell in checked)
    assert all(other.log_limit(cell) >= original.log_limit(cell) for cell in checked)
    assert any(other.log_limit(cell) > 0.5 * original.log_limit(cell) for cell in checked)
    if name == "ifca.eq8":  # (9) has room for that: its step size over m is small
        assert max(other.log_limit(cell) for cell in checked) == 0.0


def test_a_small_cluster_refutes_a_bound_in_the_root_of_the_number_of_strangers():
    """40 clients and millions of strangers, and three cells of (9) that do not refute it."""
    cells = quick("ifca.eq9").cells
    (cell,) = (c for c in cells if c.get("p_min") == 4e-6)
    size = 17.5 / (6 * math.log(100))

    def seen(params):
        block = simulate_block(Task(STRANGERS, STRANGERS.check(params), 0, 0)).values
        return {name: block[:, j] for j, name in enumerate(STRANGERS.columns)}

    found = seen(cell)
    assert (found["n_strangers"] > 3e6).all()
    assert (found["t2_norm"] > 3 * size * np.sqrt(found["n_strangers"])).all()
    assert (found["t2_norm"] < size * found["n_strangers"]).all()
    for other in cells[:3]:
        found = seen(other)
        assert (found["t2_norm"] < size * np.sqrt(found["n_strangers"])).all()


# -- the numbers that the claims compute themselves ------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("init", ["adversarial", "orthogonal"])
@pytest.mark.parametrize(("n", "alpha", "rho"), [(1, 0.1, 4.0), (8, 0.05, 100.0)])
def test_the_pairwise_probability_is_that_of_a_client_drawn_in_the_plane(init, n, alpha, rho):
    """The rival is at distance one.  The own model is displaced towards it, or at a right angle."""
    rng = np.random.default_rng(4)
    radius, trials = 0.5 - alpha, 40_000
    own = np.array([radius, 0.0]) if init == "adversarial" else np.array([0.0, radius])
    rival = np.array([1.0 - radius, 0.0])
    x = rng.standard_normal((trials, n, 2))
    noise = rng.standard_normal((trials, n)) / math.sqrt(rho)
    losses = [np.sum((x @ u - noise) ** 2, axis=1) for u in (own, rival)]
    cell = {"Delta": 1.0, "sigma": 1 / math.sqrt(rho), "alpha": alpha, "n": n, "init": init}
    wrong = int(np.sum(losses[1] < losses[0]))
    p = identity.pairwise_probability(cell)
    # false alarm 1e-6 for each of four
    assert scipy.stats.binomtest(wrong, trials, p).pvalue > 1e-6


def test_the_pairwise_probability_is_the_one_that_the_experiment_records():
    for cell in cells_of(quick("ifca.lemma1-law")):
        rows = LABELS.simulate(LABELS.check(cell), np.random.default_rng(0), 4)
        np.testing.assert_allclose(rows[:, 2], identity.pairwise_probability(cell), rtol=1e-6)


@pytest.mark.parametrize("name", ["ifca.cor1", "ifca.cor1-own-step", "ifca.k2-slightly-better"])
def test_cells_shown_along_the_run_have_labels_of_their_own(name):
    empty = Table(columns=(), values=np.empty((0, 0)), failed=np.zeros(0, dtype=bool), reasons=())
    observed = [Observed(params=c, table=empty) for c in quick(name).cells]
    shown = whole_run.unlike(observed, 4)
    labels = [label for label, _ in shown]
    assert len(set(labels)) == len(labels) == 4
    assert all(1 <= label.count("=") <= 3 for label in labels)


def test_the_number_of_steps_is_the_papers_rounded_up():
    cell = cells.cell(m=1000, n=4000, d=64, k=2, rho=16, alpha=0.25)
    epsilon = whole_run.accuracy(COROLLARY_1, cell, whole_run.ACCURACY)
    floor = 2 * cells.floor(cell)
    exponential = math.exp(-math.log(2) / 4 * (16 / 17) ** 2 * 4000)
    assert epsilon == pytest.approx(floor + exponential)
    steps = math.log(1.0 / (4 * epsilon))
    assert whole_run.n_rounds(COROLLARY_1, cell, whole_run.ACCURACY) == math.ceil(2 + steps)
    conference = whole_run.n_rounds(neurips.COROLLARY_1, cell, neurips_claims.ACCURACY)
    assert conference == math.ceil(1 + steps / math.log(2))
    natural = neurips.COROLLARY_1_AS_PRINTED
    assert whole_run.n_rounds(natural, cell, neurips_claims.ACCURACY) == math.ceil(steps)


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("ifca.cor1", 2),
        ("ifca.neurips-cor1", 2),
        ("ifca.neurips-cor1-more-samples", 30),
    ],
)
def test_what_holds_leaves_no_room_for_misidentification(name, floor):
    """An error is bad beyond the accuracy, here by hand in every cell."""
    procedure, columns = quick(name), TRAJECTORY.columns
    first, second = ("c_6", "c_7") if name == "ifca.cor1" else ("c_5", "c_6")
    assert f"with ${first}={floor}$, ${second}=0$" in procedure.event
    for cell in procedure.cells:
        epsilon = floor * cells.floor(cell)
        rows = epsilon * np.array([[1 - 1e-9], [1 + 1e-9]]) * np.ones(len(columns))
        table = Table(columns=columns, values=rows, failed=np.zeros(2, dtype=bool), reasons=())
        assert procedure.bad(table, cell).tolist() == [False, True]


@pytest.mark.parametrize(
    ("statement", "constants", "chosen"),
    [
        (COROLLARY_1, whole_run.ACCURACY, whole_run.at_edge),
        (neurips.COROLLARY_1, neurips_claims.ACCURACY, neurips_claims.at_edge),
        (
            neurips.COROLLARY_1_MORE_SAMPLES,
            neurips_claims.WITH_MORE_SAMPLES,
            neurips_claims.with_more_samples,
        ),
    ],
)
def test_edge_cells_gain_nothing_by_rounding_their_steps_up(statement, constants, chosen):
    for cell in chosen():
        stated = whole_run.stated_rounds(statement, cell, constants)
        assert 0 < whole_run.n_rounds(statement, cell, constants) - stated < 1e-6
    # pmn' = 64 d, the least that Assumption 2 allows, in some of them
    per_cluster = [cells.values(c)["p"] * c["m"] * c["n"] / c["d"] for c in chosen()]
    least = 10_000 if "more" in statement.id else 64
    assert min(per_cluster) < 1.25 * least


@pytest.mark.statistical
@pytest.mark.parametrize(
    "constants", [neurips_claims.ACCURACY, neurips_claims.WITH_MORE_SAMPLES], ids=["c5=2", "c5=30"]
)
def test_at_one_stated_step_the_conference_version_fails_with_few_samples(constants):
    """The printed T is one step at Delta = 4 e epsilon.  The mean factor 1/3 is below 1/e by 9 %.

    The Gram matrix fluctuates by more where pmn' = 64 d.
    """
    statement = neurips.COROLLARY_1_MORE_SAMPLES.variant(
        "few-samples", "The same with few samples", "", assumptions=neurips.COROLLARY_1.assumptions
    )
    base = cells.cell(m=30, n=118, d=26, k=2, rho=1.0, alpha=0.25)
    params = whole_run.at_whole_rounds(statement, constants, 1, base)
    statement.require(cells.values(params))
    with pytest.raises(OutsideTheorem, match="many samples per cluster"):
        neurips.COROLLARY_1_MORE_SAMPLES.require(cells.values(params))
    cell = TRAJECTORY.check({**params, "c1": cells.C_1})
    assert whole_run.n_rounds(statement, cell, constants) == 1
    errors = TRAJECTORY.simulate(cell, np.random.default_rng(0), 8192)[:, 0]
    n_bad = int(np.sum(errors > whole_run.accuracy(statement, cell, constants)))
    # The stated probability is 1/30.  False-alarm probability 1e-6 if it held.
    assert scipy.stats.binomtest(n_bad, 8192, 1 / 30, alternative="greater").pvalue < 1e-6


def test_at_ratio_three_one_refuting_cell_has_a_hundred_times_the_samples_of_another():
    """Two clusters of shares 1/4 and 3/4: p m n'/d is m n'/(4 d)."""
    two = [c for c in cells_of(quick("ifca.thm1-factor-three-as-printed")) if c["k"] == 2]
    samples = [c["m"] * c["n"] / (4 * c["d"]) for c in two]
    assert samples == pytest.approx([64.516, 6451.6], rel=1e-4)


def test_refuting_cells_carry_the_bounds_generous_slack():
    """factor 1/2 and the last two terms of (1) with the largest c2, c3 and the smallest c4."""
    for cell in cells_of(quick("ifca.thm1-as-printed")):
        v = cells.values(cell)
        signal = (v["alpha"] * v["rho"] / (v["rho"] + 1)) ** 2 * v["n"]
        floor = v["sigma"] / v["p"] * math.sqrt(v["d"] / (v["m"] * v["n"]))
        assert cell["slack"] == pytest.approx(100 * floor + 100 * math.exp(-1e-3 * signal))
        assert cell["slack"] < 0.25 * (0.5 - v["alpha"]) * v["Delta"], "the bound still binds"


def test_scattered_cells_are_fixed_and_spread():
    one = cells.scattered(16, cells.COLUMNS, (1e-3, 0.49))
    assert one == cells.scattered(16, cells.COLUMNS, (1e-3, 0.49))
    assert len(one) == 16
    for symbol, decades in (("m", 3), ("rho", 2), ("d", 1)):
        logs = [math.log10(cells.values(c)[symbol]) for c in one]
        assert max(logs) - min(logs) > decades


def test_rate_claims_vary_every_regressor_over_a_decade():
    for name in ("ifca.thm1-floor", "ifca.near-optimal"):
        procedure = quick(name)
        rows = [procedure.regressors(c) for c in procedure.cells]
        for symbol in procedure.stated:
            found = sorted({r[symbol] for r in rows})
            assert found[-1] / found[0] >= 10, (name, symbol)
            assert all(a < b for a, b in pairwise(found))


def test_a_run_that_failed_has_found_the_clusters_from_no_start():
    procedure = random_starts.restarts_in_k.build(PROFILES["quick"])
    experiment = procedure.sampling.experiment
    table = invent_trials(experiment, 4)
    values = table.values.copy()
    values[[0, 2], experiment.columns.index("found")] = 0.0, 7.0  # of ten starts
    failed = np.array([False, True, False, True])
    seen = Observed(
        params=procedure.cells[0], table=replace(table, values=values, failed=failed, reasons=())
    )
    (group,) = procedure._groups([seen])
    assert group[1] == group[3] == group[0] == 0.0
    assert np.abs(group[2]) == 0.7


def test_half_of_the_conference_versions_steps_leave_more_than_its_accuracy():
    """15 = 1 + log2(Delta/4 epsilon) steps: eight thirds of Delta/4 are 2.5 times epsilon."""
    constants = neurips_claims.ACCURACY
    longest = [
        cell
        for cell in cells_of(quick("ifca.neurips-cor1"))
        if whole_run.n_rounds(neurips.COROLLARY_1, cell, constants) == 15 and cell["alpha"] == 0.25
    ]
    assert longest
    for cell in longest:
        accuracy = whole_run.accuracy(neurips.COROLLARY_1, cell, constants)
        assert cell["Delta"] / 4 / accuracy == pytest.approx(2**14, rel=1e-6)
        assert cell["Delta"] / 4 / 3**8 > 2.4 * accuracy


def test_a_failure_probability_above_one_is_tried_as_one():
    """A changed statement may state one.  Its law was refused, as if the cell were wrong."""
    (cell, *_) = cells_of(quick("ifca.neurips-cor1"))
    full = TRAJECTORY.check(cell)
    above = tails.log_run_limit(full, 5, 1e-3, 0.4)
    assert above == tails.log_run_limit(full, 5, 1e-3, 0.0)
