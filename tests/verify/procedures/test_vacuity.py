"""Where a statement bites: thresholds in closed form, overflow, never, and what a paper claims."""

import math
from dataclasses import replace

import pytest
import sympy as sp

from bounds.statement import Assumption, Constant, Statement, Term
from tests.stated import NOBODY
from tests.verify.toys import tried
from trials.checks import InvalidParameter
from verify.decisions.vacuity import Condition, Onset, conditions, onset
from verify.evidence import Verdict
from verify.procedures.vacuity import Vacuity

n, d, D, C = sp.symbols("n d D C")
LARGE = 30 * math.log(10)


def stated(right, *, failure=None, terms=(), constants=()):
    return Statement(
        id="toy.vacuity",
        title="A toy",
        publication=NOBODY,
        source="Theorem 1",
        kind="vacuity",
        quantifiers="",
        observed="S",
        terms=terms,
        failure=failure,
        constants=constants,
        assumptions=(Assumption(name="samples", left=n, right=right, constant=C),),
    )


def claim(statement, settings=((400, 20),), *, constant=1.0, **more):
    return Vacuity(
        statement=statement,
        settings={
            f"experiment {i}": {"n": float(a), "d": float(b), "D": 2.0, "C": constant}
            for i, (a, b) in enumerate(settings, 1)
        },
        along="n",
        **more,
    )


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        (100 * d, 2000),
        (d**2 + sp.Rational(1, 2), 401),
        (sp.Integer(1), 1),
        (sp.log(n) * 100, 648),
    ],
)
def test_the_onset_is_the_smallest_whole_size(right, expected):
    condition = Condition(name="samples", left=n, right=right)
    found = onset(condition, {"d": 20.0, "n": 1.0}, "n", 1.0, LARGE)
    size = max(math.exp(found.log_size), 1.0)
    assert round(size) == expected
    for k in range(expected, expected + 50):
        assert condition.holds({"d": 20.0, "n": float(k)})
    if expected > 1:
        assert not condition.holds({"d": 20.0, "n": expected - 1.0})


def test_onsets_beyond_floating_point_and_never():
    condition = Condition(name="samples", left=n, right=sp.exp(d**2))
    found = onset(condition, {"d": 1000.0}, "n", 1.0, 1e9)
    assert found.log_size == pytest.approx(1e6)
    assert found.text(1e9).startswith("from $")
    never = onset(condition, {"d": 1000.0}, "n", 1.0, LARGE)
    assert never.never
    assert never.text(LARGE) == "never up to $10^{30}$"
    assert onset(Condition(name="", left=n, right=sp.Integer(0)), {}, "n", 1.0, 9.0).text(9.0) == (
        "at every size"
    )


def test_a_condition_that_holds_early_and_late_says_so():
    # n - 40 log n is positive at 1 and 2 is not.  It grows again from about 220 on
    condition = Condition(name="", left=n + 1, right=40 * sp.log(n))
    found = onset(condition, {}, "n", 1.0, LARGE)
    assert found.earlier
    assert "at some sizes before" in found.text(LARGE)
    assert condition.holds({"n": 1.0})
    assert not condition.holds({"n": 10.0})


def test_vacuous_at_every_experiment_with_the_size_that_would_do(tmp_path):
    evidence, rounds = tried(claim(stated(100 * d), ((400, 20), (900, 10))), tmp_path)
    assert evidence.verdict is Verdict.VACUOUS
    assert rounds == []
    assert evidence.n_trials == 0
    assert r"from $1\,000$ on" in evidence.summary
    assert [cell.bound for cell in evidence.cells] == pytest.approx([2000.0, 1000.0])
    assert evidence.cells[0].ratio == pytest.approx(5.0)
    assert all("samples" in cell.note for cell in evidence.cells)


def test_the_statements_own_conditions_decide(tmp_path):
    assert tried(claim(stated(d)), tmp_path)[0].verdict is Verdict.SUPPORTED
    assert tried(claim(stated(d), constant=21.0), tmp_path, seed=1)[0].verdict is Verdict.VACUOUS
    failing = stated(d, failure=d * sp.exp(-n / 1000))
    evidence, _ = tried(claim(failing), tmp_path, seed=2)
    assert evidence.verdict is Verdict.VACUOUS
    assert "failure probability below one" in evidence.cells[0].note
    assert round(evidence.cells[0].bound) == math.ceil(1000 * math.log(20))


def test_the_summary_says_what_was_compared_and_where_it_begins(tmp_path):
    """Without a trivial bound none is compared.  Of several settings one has the earliest size."""
    conditions_alone, _ = tried(claim(stated(100 * d), ((400, 20),)), tmp_path)
    assert conditions_alone.summary == (
        r"the conditions hold at 0 of 1 settings; they do so for $n$ from $2\,000$ on"
    )
    bounded = stated(d, terms=(Term(name="b", expr=10 * D / sp.sqrt(n)),))
    settings = ((400, 20), (50, 200))
    both, _ = tried(claim(bounded, settings, trivial=D), tmp_path, seed=1)
    assert both.summary == (
        "the conditions hold and the bound is below the trivial one at 1 of 2 settings; where it "
        "is earliest, they do so for $n$ from $101$ on"
    )


def test_a_bound_above_the_trivial_one_is_vacuous(tmp_path):
    bounded = stated(d, terms=(Term(name="b", expr=1e6 * D / sp.sqrt(n)),))
    evidence, _ = tried(claim(bounded, trivial=D), tmp_path)
    assert evidence.verdict is Verdict.VACUOUS
    assert evidence.cells[0].bound == pytest.approx(1e12, rel=1e-6)
    evidence, _ = tried(claim(bounded, trivial=D, largest_power=10.0), tmp_path, seed=1)
    assert "they do so at no" in evidence.summary


def test_a_paper_that_claims_its_conditions_is_refuted_by_one_experiment(tmp_path):
    mixed = ((400, 20), (4000, 20))
    assert tried(claim(stated(100 * d), mixed), tmp_path)[0].verdict is Verdict.SUPPORTED
    evidence, _ = tried(claim(stated(100 * d), mixed, claimed=True), tmp_path, seed=1)
    assert evidence.verdict is Verdict.REFUTED
    assert (evidence.witness.observed, evidence.witness.bound) == pytest.approx((400.0, 2000.0))
    met = claim(stated(10 * d), mixed, claimed=True)
    assert tried(met, tmp_path, seed=2)[0].verdict is Verdict.SUPPORTED


def test_checks_overrides_and_description():
    build = claim(stated(100 * d))
    build.check()
    assert build.override({"n": 5000}).examined()[0].bites
    assert not build.statistical
    for part in ("samples", "experiment 1", "10^{30}", "without trials"):
        assert part in build.describe()
    with pytest.raises(InvalidParameter, match="no parameter 'zzz'; its parameters: C, D, d, n"):
        build.override({"zzz": 1})
    with pytest.raises(InvalidParameter, match=r"no value for M \(samples\)"):
        claim(stated(sp.Symbol("M") * d)).check()
    with pytest.raises(InvalidParameter, match="no setting"):
        Vacuity(statement=stated(d), settings={}, along="n").check()
    unconditional = Statement(
        id="toy.free",
        title="",
        publication=NOBODY,
        source="",
        kind="vacuity",
        quantifiers="",
        observed="",
        constants=(Constant(symbol=C, low=0, high=1, generous="low", meaning=""),),
    )
    with pytest.raises(InvalidParameter, match="give a trivial bound"):
        conditions(unconditional)


def test_a_size_of_one_is_tried_by_default():
    assert claim(stated(sp.Integer(1))).smallest == 1.0


def test_the_map_shows_the_onset_at_every_value_and_the_settings(tmp_path):
    built = claim(stated(100 * d / D**2), across={"D": (1.0, 2.0, 1e-30, 1e6)}, largest_power=20)
    (drawn,) = tried(built, tmp_path)[0].figures
    needed, has = drawn.series
    assert needed.y[:2] == pytest.approx([2000.0, 500.0], rel=0.01)
    assert needed.y[0] >= 2000.0  # from a line on upwards all conditions hold
    assert needed.y[1] >= 500.0
    assert needed.y[2] is None  # no size up to the largest is enough
    assert needed.y[3] == pytest.approx(1.0, rel=0.01)  # the smallest size is
    assert (has.x, has.y) == ([2.0], [400.0])


@pytest.mark.parametrize(("smallest", "largest_power"), [(0.0, 30.0), (100.0, 2.0), (1e300, 400.0)])
def test_a_smallest_size_that_is_not_below_the_largest_is_refused(smallest, largest_power):
    sizes = {"smallest": smallest, "largest_power": largest_power}
    with pytest.raises(InvalidParameter, match="must be > 0 and below the largest size"):
        claim(stated(sp.Integer(1)), **sizes).check()
    claim(stated(sp.Integer(1)), smallest=99.0, largest_power=2.0).check()


def test_the_rows_and_cells_name_the_conditions_that_fail_and_each_has_its_own_size(tmp_path):
    """n >= 100 d, and a bound d/n below one: at (400, 20) the first fails, at (5, 20) both do."""
    bound = Term(name="b", expr=d / n)
    both = stated(100 * d, terms=(bound,), failure=sp.Float(0.1))
    build = claim(both, ((400, 20), (5000, 20), (5, 20)), trivial=1.0, largest_power=9)
    evidence, _ = tried(build, tmp_path)
    names = [c.name for c in conditions(both, 1.0)]
    fails = {"experiment 1": names[:1], "experiment 2": [], "experiment 3": [*names]}
    (table,) = evidence.tables
    onsets = {names[0]: 2000}
    for setting, missing in fails.items():
        (cell,) = [c for c in evidence.cells if c.params["setting"] == setting]
        rows = [r for r in table.rows if r[0] == setting]
        failing = [r[1] for r in rows if r[2] == "fails"]
        assert [r[1] for r in rows] == names
        assert set(failing) <= set(missing)
        assert names[0] in failing or not missing
        assert cell.note == (f"fails: {', '.join(failing)}" if failing else "")
        assert cell.verdict == ("VACUOUS" if failing else "")
        assert cell.bound == pytest.approx(onsets[names[0]], rel=1e-6)
        assert cell.ratio == pytest.approx(onsets[names[0]] / cell.observed)
    assert "at 1 of 3 settings" in evidence.summary


@pytest.mark.parametrize(("power", "known"), [(304.0, True), (304.1, False)])
def test_a_size_that_no_float_holds_has_no_number(power, known):
    """exp(700) is 10^304.006."""
    found = claim(stated(sp.Integer(10) ** sp.Rational(str(power))), largest_power=400)
    (cell,) = (found._cell(setting) for setting in found.examined())
    assert (cell.bound is not None) is known
    assert (cell.ratio is not None) is known


def test_a_condition_that_is_no_real_number_fails_and_its_witness_has_no_sides(tmp_path):
    """The logarithm of d - 30 at d = 20.  At d = 40 the condition holds."""
    settings = ((400, 40), (400, 20))
    build = claim(stated(sp.log(d - 30)), settings, claimed=True)
    evidence, _ = tried(build, tmp_path)
    assert evidence.verdict is Verdict.REFUTED
    assert "at 1 of 2 settings" in evidence.summary
    assert evidence.witness.description == "samples fails at experiment 2"
    assert evidence.witness.params["d"] == 20.0
    assert math.isnan(evidence.witness.observed)
    assert math.isnan(evidence.witness.bound)
    rows = [row for row in evidence.tables[0].rows if row[0] == "experiment 2"]
    assert [row[2:] for row in rows] == [("fails", "never up to $10^{30}$")]
    assert evidence.cells[1].bound is None
    fine, _ = tried(claim(stated(sp.log(d - 30)), settings[:1], claimed=True), tmp_path, seed=1)
    assert fine.verdict is Verdict.SUPPORTED


def test_the_size_that_is_varied_must_be_a_symbol_of_every_setting():
    """No condition needs it, and nobody could say from which size on they hold."""
    build = replace(claim(stated(d)), along="m")
    with pytest.raises(InvalidParameter, match="setting 'experiment 1' has no m"):
        build.check()
    with pytest.raises(InvalidParameter, match="setting 'experiment 1' has no m; it has n, d"):
        build.examined()


@pytest.mark.parametrize("log_size", [6.9999, 6.99786, 9.9990, 12.5, 13.0, 7.0])
def test_a_printed_size_has_a_mantissa_from_one_to_ten(log_size):
    """9.996e6 rounds to 10.00 times 10^6, which is written 10^7."""
    text = Onset(log_size=log_size * math.log(10)).text(LARGE)
    mantissa, _, power = text.removeprefix("from $").removesuffix("$ on").rpartition(r"10^{")
    head = float(mantissa.removesuffix(r"\times") or 1.0)
    assert 1.0 <= head < 10.0
    assert head * 10 ** int(power.removesuffix("}")) == pytest.approx(10**log_size, rel=6e-3)


@pytest.mark.parametrize("smallest", [1.0, 50.0])
def test_a_condition_of_every_size_needs_the_smallest_one(smallest, tmp_path):
    """The second setting has no number of samples at which it is enough."""
    build = claim(stated(n * d / 10), ((400, 2), (400, 20)), smallest=smallest)
    every, never = tried(build, tmp_path)[0].cells
    assert (every.observed, every.bound) == (400.0, smallest)
    assert every.ratio == pytest.approx(smallest / 400.0)
    assert (never.bound, never.ratio) == (None, None)
