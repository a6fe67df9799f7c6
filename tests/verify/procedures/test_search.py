"""A search finds what is there, takes rounding back, and keeps to its domain."""

import math
from dataclasses import replace

import mpmath
import pytest
import sympy as sp

from trials.checks import InvalidParameter
from verify.decisions.measures import LOG_RATIO, log_ratio
from verify.decisions.search import Choice, Interval, IntRange, LogInterval
from verify.evidence import Verdict
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.search import Search
from verify.proofs.propositions import Proposition
from verify.proofs.shelf import domain_of, formula_of

DOMAIN = {
    "x": Interval(-1.0, 1.0),
    "scale": LogInterval(1e-3, 1e3),
    "n": IntRange(1, 100, log=True),
    "form": Choice(("plain", "squared")),
}


def statement(threshold, **more):
    """x <= threshold over [-1, 1].  The other parameters have no effect."""
    return Search(
        name="toy.search",
        violation=lambda point: point["x"] - threshold,
        domain=DOMAIN,
        budget=200,
        sides=lambda point: (point["x"], threshold),
        unit="excess of x",
        **more,
    )


def test_a_true_statement_is_supported_with_its_margin():
    evidence = statement(1.25).decide(None, 0.05)
    assert evidence.verdict is Verdict.SUPPORTED
    assert evidence.witness is None
    assert "no counterexample" in evidence.summary
    assert "-0.25" in evidence.tables[0].note
    assert evidence.n_trials >= 100
    assert evidence.level == 0.05


def test_the_conditions_that_no_point_breaks_are_named():
    """A weaker form of them would be decided at the same points."""
    conditions = {
        "x below 1/2": lambda point: point["x"] < 0.5,  # a quarter of the points break it
        "x below 2": lambda point: point["x"] < 2.0,
        "a positive scale": lambda point: point["scale"] > 0.0,
    }
    supported = statement(1.25, conditions=conditions)
    assert supported.never_broken() == ["x below 2", "a positive scale"]
    (note,) = (note for note in supported.decide(None, 0.05).notes if "breaks" in note)
    assert "these conditions: x below 2, a positive scale." in note
    broken = {"x below 1/2": conditions["x below 1/2"]}
    for procedure in (statement(1.25, conditions=broken), statement(0.5, conditions=conditions)):
        assert not any("breaks" in note for note in procedure.decide(None, 0.05).notes)


def test_a_counterexample_is_shrunk_and_both_sides_are_reported():
    evidence = statement(0.5).decide(None, 0.05)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness.observed > evidence.witness.bound == 0.5
    assert evidence.witness.params["form"] == "plain"
    assert evidence.witness.trial is None


@pytest.mark.parametrize(
    ("sides", "told"),
    [
        ((2.0, 0.5), "1.38629"),  # log 4
        ((1.0, 0.0), "none, because they are not both positive"),
        ((1e-12, -6e-5), "none, because they are not both positive"),
    ],
)
def test_a_ratio_without_a_logarithm_has_none(sides, told):
    """The page of (9) of ODCL gave 990.259 as the log of 1e-12 over -6e-5."""
    search = replace(
        statement(0.5),
        sides=lambda point: sides,
        violation=lambda point: log_ratio(*sides),
        unit=LOG_RATIO.unit,
    )
    assert search.decide(None, 0.05).witness.description == f"{LOG_RATIO.unit}: {told}"


def test_the_domain_of_a_proof_names_each_condition_once_as_a_formula():
    root = ["^", ["*", "a", ["^", "b", "-1"]], "1/2"]
    given = [[">", "a", "0"], [">=", root, "c"], [">", "a", "0"], ["<=", ["^", "c", "2"], "1"]]
    assert domain_of({"given": given}) == r"$a > 0$, $\sqrt{\frac{a}{b}} \ge c$, $c^{2} \le 1$"


@pytest.mark.parametrize(
    ("term", "formula"),
    [
        ("lam", r"\lambda"), ("sigma_hat", r"\hat{\sigma}"), ("alpha_0", r"\alpha_{0}"),
        ("C_Delta", r"C_{\Delta}"), ("size_min", r"\text{size min}"), ("err", r"\text{err}"),
        ("1/1" + "0" * 290, "10^{-290}"), ("1" + "0" * 9, "10^{9}"), ("1000", "1000"),
        ("-3/4", r"- \frac{3}{4}"), (["sum", "F", "1"], r"\operatorname{sum}{\left(F,1 \right)}"),
    ],
)  # fmt: skip
def test_the_names_and_numbers_of_a_proof_are_those_of_print(term, formula):
    """Notes had "lam > 0", "size_min" and numbers of three hundred digits."""
    assert formula_of([">", term, "0"]) == f"${formula} > 0$"


def test_a_small_budget_gives_the_verdict_and_proves_nothing():
    def certify(point):
        raise AssertionError(f"a proof at {point} was asked for")

    def present(result):
        raise AssertionError(f"a page of {result} was asked for")

    shown = {"certify": certify, "present": present, "conditions": {"any": lambda _point: True}}
    refuted = statement(0.5, **shown).with_budget(50).decide(None, 0.05)
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.witness.observed > 0.5
    assert refuted.proof is None
    assert refuted.n_trials < 50
    supported = statement(1.25, **shown).with_budget(50)
    found = supported.decide(None, 0.05)
    assert found.verdict is Verdict.SUPPORTED
    assert found.notes == ()
    assert "these conditions: any." in " ".join(
        replace(supported, first=False).decide(None, 0.05).notes
    )


def test_rounding_is_not_mistaken_for_refutation():
    """sqrt(x)^2 - x is rounding noise: positive in floating point, zero in mpmath."""

    def noise(point):
        return math.sqrt(point["x"]) ** 2 - point["x"]

    search = Search(
        name="toy.rounding",
        violation=noise,
        recheck=lambda p: mpmath.sqrt(mpmath.mpf(p["x"])) ** 2 - p["x"] - mpmath.mpf("1e-40"),
        domain={"x": Interval(1.0, 2.0)},
        budget=200,
        sides=lambda p: (math.sqrt(p["x"]) ** 2, p["x"]),
        unit="difference",
    )
    evidence = search.decide(None, 0.05)
    assert evidence.verdict is Verdict.SUPPORTED
    rows = dict(evidence.tables[0].rows)
    assert rows["taken back as rounding"] > 0


def test_an_override_fixes_a_parameter_and_decides_the_verdict():
    assert statement(0.5).override({"x": 0.25}).decide(None, 0.05).verdict is Verdict.SUPPORTED
    fixed = statement(0.5).override({"x": 0.75}).decide(None, 0.05)
    assert fixed.witness.params["x"] == 0.75


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"y": 1}, "toy.search has no parameter 'y'; its parameters: form, n, scale, x"),
        ({"x": 2.0}, r"x=2\.0 must be from -1 to 1"),
        ({"x": math.nan}, "x=nan must be"),
        ({"x": "large"}, "x='large' must be"),
        ({"scale": 0}, r"scale=0 must be from 0\.001 to 1000"),
        ({"n": 0}, "n=0 must be an integer from 1 to 100"),
        ({"n": 1.5}, r"n=1\.5 must be an integer"),
        ({"n": math.inf}, "n=inf must be an integer"),
        ({"form": "cubed"}, "form='cubed' must be in {plain, squared}"),
    ],
)
def test_overrides_outside_the_domain_are_refused_by_name(values, message):
    with pytest.raises(InvalidParameter, match=message):
        statement(0.5).override(values)


def test_the_description_names_budget_ranges_and_constants():
    text = statement(0.5, constants={"c_1": 2.0}).describe()
    for part in ("200", "x from -1 to 1", "n from 1 to 100", "{plain, squared}", "$c_1=2$"):
        assert part in text
    assert statement(0.5).demands(None, 0.05) == []


def test_the_same_search_gives_the_same_evidence():
    assert statement(0.5).decide(None, 0.05) == statement(0.5).decide(None, 0.05)


def test_a_structured_witness_is_stored_as_lists(tmp_path):
    import json

    import numpy as np

    from verify.decisions.structured import LabelledPoints

    search = Search(
        name="toy.norm",
        violation=lambda p: float(np.linalg.norm(p["A"], 2) - 1.001 * np.abs(p["A"]).max()),
        domain=LabelledPoints(
            name="A", labels="j", clusters=(1, 2), points=(1, 3), dimensions=(1, 3)
        ),
        budget=200,
        sides=lambda p: (float(np.linalg.norm(p["A"], 2)), float(np.abs(p["A"]).max())),
        unit="norm minus the largest entry",
    )
    evidence = search.decide(None, 0.05)
    assert evidence.verdict is Verdict.REFUTED
    assert isinstance(evidence.witness.params["A"], list)
    assert "array" not in evidence.summary
    json.dumps(evidence.as_dict())


def test_a_search_names_the_conditions_that_no_point_breaks():
    conditions = {
        "x below 2": lambda point: point["x"] < 2.0,
        "x above 0": lambda point: point["x"] > 0.0,
    }
    search = statement(1.25, conditions=conditions)
    assert search.never_broken() == ["x below 2"]
    (note,) = search.decide(None, 0.05).notes
    assert "breaks these conditions: x below 2." in note
    assert statement(1.25).decide(None, 0.05).notes == ()


def test_a_proof_of_a_narrower_range_is_no_proof_of_the_search():
    x = sp.Symbol("x")
    proof = Proposition(
        ranges={"x": Interval(0.0, 1.0)}, assumptions=(), left=x, relation="=", right=x
    )
    assert proof.is_narrower({"x": 1.5}, {})
    assert not proof.is_narrower({"x": 1.0}, {})


def test_a_search_whose_side_is_infinite_or_no_number_has_no_formula_as_its_proof():
    """Nothing was refused where the search computed infinity: it took all for rounding."""
    x = sp.Symbol("x")
    proof = Proposition(ranges=DOMAIN, assumptions=(), left=x, relation=r"\le", right=sp.Integer(2))
    point = {"x": 0.5, "scale": 1.0, "n": 1, "form": "plain"}

    def compared(observed, bound):
        build = replace(statement(2.0), sides=lambda _point: (observed, bound))
        return build.compare(proof, [point, {**point, "n": 2}])

    assert compared(0.5, 2.0) == 2
    for other in (math.inf, -math.inf, math.nan):
        for sides in ((other, 2.0), (0.5, other), (other, other)):
            with pytest.raises(InvalidParameter, match="make them agree"):
                compared(*sides)


def test_a_point_without_a_value_is_no_simpler_counterexample():
    """1/x has none at the simplest value of x, zero."""
    search = Search(
        name="toy.inverse",
        violation=lambda point: 1.0 / point["x"],
        domain={"x": Interval(-1.0, 3.0)},
        budget=200,
        sides=lambda point: (1.0 / point["x"], 0.0),
        unit="inverse",
    )
    evidence = search.decide(None, 0.05)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.witness.params["x"] > 0


@pytest.mark.parametrize("n_points", [1, 2, 7, 10, 40])
def test_visited_points_are_half_the_closest_and_half_of_every_rank(n_points):
    """Ranked here once more from all points of the search.  Points without a value are left out."""
    seen = []

    def violation(point):
        value = math.nan if point["x"] > 0.9 else point["x"] - 2.0
        seen.append((value, point["x"]))
        return value

    build = replace(statement(2.0), violation=violation)
    found = [point["x"] for point in build.visited(n_points)]
    ranked = sorted((x for value, x in seen if not math.isnan(value)), reverse=True)
    half = n_points // 2
    assert found[:half] == ranked[:half]
    rest = ranked[half:]
    step = max(1, len(rest) // max(1, half))
    assert found[half:] == rest[::step]
    assert half <= len(found) <= len(ranked)
    assert len(found) <= 2 * half + max(1, half)


def test_what_is_never_near_its_bound_says_by_how_much():
    for sides, words in (
        ((1.0, 1e9), "never closer than 1/1e+09 of the bound"),
        ((-1.0, 1e9), "never closer than 1/1e+09 of the bound"),
        ((0.0, 1e9), ""),
        ((1.0, math.inf), ""),
        ((1.0, 1.5), ""),
    ):
        build = replace(statement(1.25), sides=lambda _point, both=sides: both)
        summary = build.decide(None, 0.05).summary
        assert (words in summary) if words else "never closer" not in summary


def test_a_smaller_budget_never_becomes_a_larger_one():
    build = statement(0.5)
    assert build.with_budget(50).budget == 50
    assert build.with_budget(10_000).budget == build.budget
    assert build.with_budget(50).first
    again = build.repeated(3)
    assert (again.budget, again.seed) == (3 * build.budget, build.seed + 1)


def test_constants_of_value_zero_and_one_are_named_with_the_others():
    """A constant zero says that its term is left out, which a reader must see."""
    text = statement(0.5, constants={"c_1": 0.0, "c_2": 1.0, "c_3": 12345.678}).describe()
    assert text.startswith(
        "Constants exhibited before the search: $c_1=0$, $c_2=1$, $c_3=1.235e+04$. 200 evaluations"
    )
    assert statement(0.5).describe().startswith("200 evaluations over ")


def test_a_repeated_search_begins_elsewhere_with_more_evaluations():
    """A search of one rank higher asks other points, not the same ones again."""
    once = statement(1.25)
    twice = once.repeated(3)
    assert (twice.budget, twice.seed) == (600, once.seed + 1)
    assert twice.repeated(2).seed == once.seed + 2
    first, second = ({point["x"] for point in one.visited(8)} for one in (once, twice))
    assert first != second
    assert once.with_budget(50).budget == 50
    assert once.with_budget(5000).budget == 200  # no budget grows


def test_visited_points_meet_the_constraints():
    """The closest points to a counterexample lie beyond them."""
    below = statement(2.0, constraints=lambda point: point["x"] < 0.25)
    free = {point["x"] for point in statement(2.0).visited(20)}
    found = [point["x"] for point in below.visited(20)]
    assert max(free) > 0.9
    assert 0.2 < max(found) < 0.25
    assert len(found) >= 20


def test_a_proof_takes_the_place_of_a_search_only_where_it_is_enough():
    claim = catalogue([])["sxy.eq35"]
    proved = replace(claim.build(PROFILES["quick"]), budget=64)
    assert proved.proof_is_enough
    assert not claim.build(PROFILES["standard"]).proof_is_enough
    alone = proved.decide(None, 0.05)
    beside = replace(proved, proof_is_enough=False).decide(None, 0.05)
    assert alone.proved is not None
    assert (alone.n_trials, alone.verdict) == (0, Verdict.SUPPORTED)
    assert alone.summary == "proved; the certificate was checked instead of a search"
    assert beside.n_trials > 0
    assert beside.summary.startswith("proved; no counterexample at ")
    assert beside.proved == alone.proved


def test_a_constants_index_is_a_letter_and_no_word():
    built = catalogue()["ifca.cor1-condition-b"].build(PROFILES["quick"])
    assert "$C_{\\Delta}=20$" in replace(built, constants={"C_Delta": 20.0}).describe()


def test_a_certificate_of_one_step_has_no_steps():
    evidence = catalogue([])["ifca.eq10"].build(PROFILES["quick"]).decide(None, 0.05)
    assert evidence.notes[0].endswith(", by a certificate that a checker of its own has verified.")
    assert evidence.notes[1].startswith("The certificate has one step and ")
