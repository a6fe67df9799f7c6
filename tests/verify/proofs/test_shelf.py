"""The certificates of the package prove the claims' own statements, and no changed ones."""

import json
import random
import time
from dataclasses import replace
from functools import cache
from itertools import combinations, islice

import flint
import numpy as np
import pytest
import sympy as sp

from bounds.statement import Assumption
from bounds.statement import Term as Summand
from tests.verify.proofs.comparing import n_compared
from trials.checks import InvalidParameter
from trials.run.store.limits import MAX_DEPTH
from verify.claims.searching import search as searched
from verify.decisions.domain import Interval, LogInterval, as_domain
from verify.evidence import Verdict, proof_mark
from verify.papers import catalogue
from verify.procedures import search
from verify.procedures.base import PROFILES
from verify.proofs import handelman, prover, shelf
from verify.proofs.arrays import Arrays
from verify.proofs.checker import Rejected, check, enclose, goal_of, minus
from verify.proofs.coq import asked
from verify.proofs.flattened import is_flat
from verify.proofs.propositions import POSITIVE, Everywhere, Proposition, Reduction, Sizes
from verify.proofs.prover import fails_at, find, points_of
from verify.proofs.shelf import SHELF, path_of, prove, stored

FILES = sorted(SHELF.glob("*.json"))


@cache
def document(path):
    """The claim, the statement and the certificate of a file."""
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def search_of(claim):
    """The search that tries a claim.  Three tests ask for it."""
    return catalogue()[claim].build(PROFILES["quick"])


@cache
def proposition_of(path):
    """The proposition that a file proves, of those of its claim."""
    built = search_of(document(path)["claim"])
    (found,) = (
        each
        for each in built.instances or (built.proposition,)
        if path == path_of(each.statement())
    )
    return found


def false_forms(statement):
    """The statement with a side changed, where that is false at some point."""
    relation, left, right = statement["claim"]
    own = goal_of(statement)
    shared = list(points_of(own))

    def is_false(changed):
        goal = goal_of(changed)
        same = (goal.variables, goal.given) == (own.variables, own.given)
        return any(fails_at(goal, point) for point in (shared if same else points_of(goal)))

    for factor in ("1/100", "1/2", "9/10", "11/10", "2", "100"):
        for claim in (
            [relation, left, ["*", factor, right]],
            [relation, ["+", left, factor], right],
        ):
            changed = {**statement, "claim": claim}
            if is_false(changed):
                yield changed
    swapped = {**statement, "claim": [relation, right, left]}
    if relation == ">=" and is_false(swapped):
        yield swapped


def tampered(certificate, draw):
    """The certificate with one of its texts replaced by another, or one of its steps left out."""
    copy = json.loads(json.dumps(certificate))
    places = []

    def collect(part):
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            places.append((part, key, value))
            if isinstance(value, dict | list):
                collect(value)

    collect(copy)
    part, key, value = draw.choice(places)
    texts = [v for _, _, v in places if isinstance(v, str)] + ["0", "1", "2", "-1", ">=", ">"]
    if isinstance(value, list) and value and draw.random() < 0.3:
        value.pop(draw.randrange(len(value)))
    else:
        part[key] = draw.choice(texts)
    return copy


def accepted(statement, certificate):
    """Whether the checker accepts a certificate."""
    try:
        check(statement, certificate)
    except Rejected:
        return False
    return True


@pytest.mark.parametrize(("chord", "is_true"), [("2", True), ("21/10", False)])
def test_a_logarithm_lies_above_its_chord_and_above_no_other(chord, is_true):
    """log(1 + y) >= 2y/(2 + y) at y = x z.  The tactics before this one take too long."""
    y = ["*", "x", "z"]
    low = over(["*", chord, *y[1:]], ["+", "2", y])
    goal = stated([[">", "x", "0"], [">", "z", "0"]], [">=", ["log", ["+", "1", y]], low])
    prover._LEFT.set(10**5)
    prover._END.set(time.process_time() + 5.0)
    if is_true:
        check(goal, prover.by_concave_log(goal_of(goal), 1))
    else:
        with pytest.raises(Rejected):
            prover.by_concave_log(goal_of(goal), 1)


@pytest.mark.parametrize(
    "name",
    [
        "ifca.eq16",  # by a tangent at y/(1 - y)
        "ifca.eq17",  # by a tangent at y
        "odcl.footnote3-upper",  # by a sum of products that is a further multiple of the claim
        "odcl.eq13-sharp",
        "odcl.lemma10-own",
        "odcl.gradient-clustering",
        # with their hints the search takes at most 0.2 CPU seconds
        "ifca.cor1-burn-in",
        "ifca.cor1-recursion",
        "ifca.cor2-rates",
        "ifca.eq20",
        "ifca.lemma3-rate",
        "odcl.coarsening-interval",
        "odcl.def2-fixed-point",
        "odcl.eq24",
        "odcl.eq24-one",
        "odcl.eq7",
        "odcl.eq7-attained",
        "odcl.eq7-sharp",
        "odcl.lemma10-any-centers-sharp",
        "odcl.lemma10-attained",
        "odcl.lemma10-foreign",
        "odcl.lemma10-foreign-sharp",
        "odcl.lemma10-own-sharp",
        "odcl.lemma4-beta",
        "odcl.lemma9",
        "odcl.lemma9-floor",
        "sxy.chi2-identity",
        "sxy.kappa-one-row",
        "sxy.lemma15-line",
        "sxy.no-saving",
        "sxy.p-spectrum-lower",
        "sxy.telescope",
        "sxy.thm1-rounds",
        "sxy.thm3-rounds",
        "sxy.vertex",
    ],
)
def test_a_claim_is_proved_anew_with_its_hints(name):
    """Its stored certificate would stand without them, and the next change of it would not."""
    own = search_of(name).proposition
    statement = own.statement()
    certificate = find(statement, hints=own.steps())
    assert certificate is not None
    check(statement, certificate)


@pytest.mark.parametrize("path", FILES, ids=lambda path: document(path)["claim"])
def test_a_certificate_proves_the_statement_of_its_claim(path):
    found = document(path)
    proposition = proposition_of(path)
    proved = stored(proposition)
    assert proved["statement"] == found["statement"]
    assert proved["certificate"] == found["certificate"]
    declared = proposition.statement()["given"]
    assert all(each in declared for each in found["statement"]["given"])


def _depth(value):
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inside), default=0) if isinstance(value, dict | list) else 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: document(path)["claim"])
def test_a_run_can_hold_the_certificate(path):
    """A claim's document holds it some levels below its own top."""
    assert _depth(document(path)) + 8 <= MAX_DEPTH


#: Points at which the two sides are compared.
ENOUGH = 24


@pytest.mark.parametrize("path", FILES, ids=lambda path: document(path)["claim"])
def test_the_domain_of_a_proof_holds_the_points_of_the_search(path):
    """At these points the two sides are those of the search."""
    statement = document(path)["statement"]
    built = search_of(document(path)["claim"])
    proposition = proposition_of(path)
    points = as_domain(built.domain).sample(np.random.default_rng(1), 256)
    inside = list(islice(filter(built.is_inside, points), 64))
    assert len(inside) >= 16
    if not is_flat(statement):  # the checker has no balls for vectors and sums
        assert n_compared(built, proposition, inside, ENOUGH) >= 8
        return
    for point in inside[:ENOUGH]:
        values = proposition.at(point, built.symbols(point))
        if values is None:
            continue
        balls = {name: flint.arb(float(values[name])) for name in statement["variables"]}
        for _, left, right in statement["given"]:
            with flint.ctx.workprec(128):  # 1 - h loses digits for a small h
                size = abs(float(enclose(left, balls))) + abs(float(enclose(right, balls)))
                assert float(enclose(minus(left, right), balls)) >= -1e-9 * size
        with flint.ctx.workprec(256):  # a polynomial of degree twenty loses digits
            sides = [float(enclose(side, balls)) for side in statement["claim"][1:]]
        own = proposition.sides(values)
        computed = None if proposition.reduction is None else proposition.reduction.computed
        assert proposition.covers(own, (computed or built.compared or built.sides)(point))
        if not proposition.logs:
            assert sorted(sides) == pytest.approx(sorted(own), rel=1e-9)


def n_refused(files, n_forms, n_tampered):
    """How many certificates of false forms of proved statements are refused, all that are tried."""
    draw, n_tried = random.Random(0), 0
    for path in files:
        certificate = document(path)["certificate"]
        for changed in islice(false_forms(document(path)["statement"]), n_forms):
            for attempt in (certificate, *(tampered(certificate, draw) for _ in range(n_tampered))):
                n_tried += 1
                assert not accepted(changed, attempt), (path, changed["claim"], attempt)
    return n_tried


def test_no_false_form_of_a_proved_statement_is_proved():
    """Neither by the certificate nor by one that was tampered with."""
    assert n_refused(FILES[::2], n_forms=1, n_tampered=1) >= 100


@pytest.mark.slow
def test_no_false_form_is_proved_by_thousands_of_certificates():
    assert n_refused(FILES, n_forms=4, n_tampered=24) >= 2_000


def test_the_search_for_proofs_finds_none_of_a_false_statement(monkeypatch):
    """Programs of fewer products than usual: one of 1,500 takes 18 CPU seconds, one of 200 up to 9.

    The task false tries thousands of statements with all products.
    """
    monkeypatch.setattr(handelman, "_PRODUCTS", 40)
    n_tried = 0
    for path in FILES[4::8]:
        for changed in islice(false_forms(document(path)["statement"]), 1):
            n_tried += 1
            assert find(changed, effort=2, steps=10, unchecked=True) is None, document(path)
    assert n_tried >= 15


def test_a_proof_is_found_stored_and_found_again(tmp_path):
    proposition = catalogue()["odcl.remark19-own"].build(PROFILES["quick"]).proposition
    assert stored(proposition, [tmp_path]) is None
    path = prove("odcl.remark19-own", proposition, tmp_path)
    assert path.parent == tmp_path
    assert stored(proposition, [tmp_path])["certificate"]["step"]


def test_a_certificate_that_proves_nothing_is_refused(tmp_path):
    proposition = catalogue()["odcl.remark19-own"].build(PROFILES["quick"]).proposition
    path = prove("odcl.remark19-own", proposition, tmp_path)
    broken = json.loads(path.read_text()) | {"certificate": {"step": "sum"}}
    path.write_text(json.dumps(broken))
    with pytest.raises(Rejected):
        stored(proposition, [tmp_path])


def test_a_certificate_of_another_statement_is_refused(tmp_path):
    """Neither one that gives more, nor one of another claim, stands for a statement."""
    proposition = catalogue()["odcl.remark19-own"].build(PROFILES["quick"]).proposition
    path = prove("odcl.remark19-own", proposition, tmp_path)
    own = json.loads(path.read_text())
    trivial = {**own["statement"], "claim": [">=", "1", "0"]}
    narrow = {**own["statement"], "given": [*own["statement"]["given"], [">=", "-1", "0"]]}
    for statement in (trivial, narrow):
        path.write_text(json.dumps({**own, "statement": statement, "certificate": {"step": "sum"}}))
        with pytest.raises(Rejected, match="another statement"):
            stored(proposition, [tmp_path])


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("{", "holds no certificate"),
        ("{}", "holds no certificate: 'statement'"),
        ("[1]", "holds no certificate"),
        ("[" * 100_000, "holds no certificate"),
        ('{"statement": "x", "certificate": {}}', "holds no certificate"),
        ('{"statement": {"claim": [], "given": []}, "certificate": {}}', "proves another"),
    ],
)
def test_a_damaged_file_is_named_with_what_to_do(damage, told, tmp_path, monkeypatch):
    """By a run and by the file for Coq, which reads the certificate without checking it."""
    monkeypatch.setattr(shelf, "_OWN", {})
    shelf.add_shelf(tmp_path)
    proposition = proposed(1e-3, 1e6)
    path = path_of(proposition.statement(), tmp_path.resolve())
    path.write_text(damage)
    for reading in (lambda: stored(proposition), lambda: list(asked.statements(proposition))):
        with pytest.raises(shelf.Damaged, match=told) as caught:
            reading()
        assert str(caught.value).startswith(f"{path} ")
        assert "delete it, or write it anew" in str(caught.value)
    assert prove("toy.sum", proposition, tmp_path) == tmp_path / path.name
    assert stored(proposition)["certificate"]


def proposed(low, high, by="", left=None):
    """x + 1/x >= 2 with a range of x."""
    x = sp.Symbol("x")
    ranges = {"x": LogInterval(low, high)}
    return Proposition(
        ranges=ranges,
        assumptions=(),
        left=x + 1 / x if left is None else left,
        relation=r"\ge",
        right=sp.Integer(2),
        by=by,
    )


def test_an_end_that_the_proof_can_spare_is_left_out(tmp_path):
    proposition = proposed(1e-3, 1e6)
    prove("toy.sum", proposition, tmp_path)
    proved = stored(proposition, [tmp_path])
    assert proved["statement"]["given"] == [[">", "x", "0"]]
    assert not proved["narrowed"]
    assert proof_mark(proved) == "PROVED"


def test_an_end_that_the_proof_needs_is_told_and_the_other_is_not(tmp_path):
    proposition = proposed(3.0, 1000.0, left=sp.Symbol("x"))
    prove("toy.end", proposition, tmp_path)
    proved = stored(proposition, [tmp_path])
    assert proved["narrowed"] == [[">=", "x", "3"]]
    assert proof_mark(proved) == "PROVED ON PART"


def test_an_argument_outside_the_proof_is_in_the_mark(tmp_path):
    proposition = proposed(1e-3, 1e6, by="Markov's inequality.")
    prove("toy.lemma", proposition, tmp_path)
    assert proof_mark(stored(proposition, [tmp_path])) == "PROVED UP TO A LEMMA"


def test_a_quick_run_checks_a_certificate_instead_of_searching(monkeypatch):
    claim = catalogue()["odcl.remark19-own"]
    quick = claim.build(PROFILES["quick"])
    monkeypatch.setattr(search, "search_counterexample", None)  # a search would raise an error
    evidence = quick.decide(None, 1e-3)
    assert evidence.mark == "PROVED"
    assert evidence.n_trials == 0
    with pytest.raises(TypeError):
        replace(quick, proof_is_enough=False).decide(None, 1e-3)


def test_what_is_proved_everywhere_is_proved_at_the_users_values(monkeypatch):
    """They are a part of the domain."""
    quick = catalogue()["sxy.eq35"].build(PROFILES["quick"])
    whole = quick.decide(None, 1e-3)
    monkeypatch.setattr(search, "search_counterexample", None)  # a search would raise an error
    points = as_domain(quick.domain).sample(np.random.default_rng(0), 64)
    point = next(filter(quick.is_inside, points))
    for chosen in (*combinations(point, 1), tuple(point)):
        held = quick.override({key: point[key] for key in chosen})
        evidence = held.decide(None, 1e-3)
        assert (evidence.mark, evidence.n_trials) == ("PROVED", 0)
        assert evidence.proved == whole.proved


def test_a_changed_statement_falls_back_to_the_search():
    quick = catalogue()["odcl.remark19-own"].build(PROFILES["quick"])
    changed = replace(quick.proposition, right=sp.Rational(1, 2))
    evidence = replace(quick, proposition=changed, budget=50).decide(None, 1e-3)
    assert evidence.mark == "SUPPORTED"
    assert evidence.n_trials > 0


def test_formulas_that_are_not_those_of_the_search_are_refused():
    quick = catalogue()["odcl.remark19-own"].build(PROFILES["quick"])
    with pytest.raises(InvalidParameter, match="make them agree"):
        replace(quick, sides=lambda _point: (0.5, 0.25), compared=None).decide(None, 1e-3)


W, X, Y, Z = ([">", name, "0"] for name in "wxyz")
LIMIT = [">", "8", "x"]


@pytest.mark.parametrize(
    ("needed", "harmful", "kept"),
    [
        ([], [], []),
        ([Y], [], [Y]),
        ([X, Z], [], [X, Z]),
        ([W, X, Y, Z], [], [W, X, Y, Z]),
        ([W, Z], [], [W, Z]),  # two are spared, one after the other
        ([], [LIMIT], []),
        ([Y], [Z], [Y]),  # the narrowest form leads the search astray
    ],
)
def test_a_proof_keeps_the_optional_relations_that_it_needs_and_no_other(
    needed, harmful, kept, monkeypatch
):
    """The search finds a proof where it is given all that is needed and nothing that is harmful."""
    asked = []

    def search(statement, hints):
        asked.append(hints)
        given = statement["given"]
        good = all(each in given for each in needed) and not any(h in given for h in harmful)
        return {"step": "by hand", "given": given} if good else None

    monkeypatch.setattr(shelf, "search", search)
    own = {"variables": [*"wxyz"], "given": [LIMIT, W, X, Y, Z], "claim": [">=", "x", "y"]}
    statement, certificate = shelf.widest(own, [W, X, Y, Z], [["hint"]])
    assert statement["given"] == [*([LIMIT] if LIMIT not in harmful else []), *kept]
    assert certificate == {"step": "by hand", "given": statement["given"]}
    assert {**statement, "given": own["given"]} == own
    assert all(hints == [["hint"]] for hints in asked)


def test_nothing_is_proved_where_no_form_of_a_statement_is(monkeypatch, tmp_path):
    monkeypatch.setattr(shelf, "search", lambda _statement, hints: None)
    own = {"variables": ["x"], "given": [LIMIT, X], "claim": [">=", "x", "9"]}
    for optional in ([], [X]):
        assert shelf.widest(own, optional) == (own, None)
    x = sp.Symbol("x")
    ranges = {"x": LogInterval(0.5, 8.0)}
    proposition = Proposition(ranges=ranges, assumptions=(), left=x, relation=r"\ge", right=x / 2)
    assert shelf.prove("toy.claim", proposition, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("relation", "limit"),
    [
        ([">", "x", "0"], False),
        ([">=", "x", "0/3"], False),
        ([">", "x", "y"], False),
        ([">", "1/2", "x"], True),
        ([">=", "x", "-3"], True),
    ],
)
def test_a_limit_is_a_number_other_than_zero(relation, limit):
    assert shelf.is_limit(relation) is limit


# -- the search, tactic by tactic ------------------------------------------------------------------


def less(term):
    return ["*", "-1", term]


def squared(term):
    return ["^", term, "2"]


def over(top, bottom):
    return ["*", top, ["^", bottom, "-1"]]


def stated(given_, claim, **more):
    variables = sorted({x for relation in (*given_, claim) for x in "xyz" if x in str(relation)})
    return {"variables": variables, "given": given_, "claim": claim, **more}


COUNTED = {"T": {"numbers": ["x"], "later": ["y"], "start": [["=", "x", "0"]],
                 "steps": [["=", "y", ["+", "x", "1"]]]}}  # fmt: skip
AHEAD = ["induct", "T", ["+", "x", less("T")]]
BEHIND = ["induct", "T", ["+", "T", less("x")]]
DOUBLED = ["+", ["exp", "Y"], "-1", less("Y")]
UNIT = [[">=", "x", "0"], [">=", "1", "x"]]

#: What a tactic or a hint proves, the hints, and a false claim of the same form.
FOUND = {
    "the sign of a logarithm above one": (
        stated([[">=", "x", "1"], [">=", "y", "0"]], [">=", ["*", "y", ["log", "x"]], "0"]), (),
        [">=", "0", ["*", "y", ["log", "x"]]]),
    "the sign of a logarithm below one": (
        stated([[">=", "1", "x"], X, [">=", "y", "0"]], [">=", "0", ["*", "y", ["log", "x"]]]), (),
        [">=", ["*", "y", ["log", "x"]], "0"]),
    "a constant logarithm": (
        stated([], [">=", "7/10", ["log", "2"]]), (), [">=", "69/100", ["log", "2"]]),
    "a constant logarithm below zero": (
        stated([], [">=", ["log", "1/2"], "-7/10"]), (), [">=", ["log", "1/2"], "-69/100"]),
    "an exponential above its tangent": (
        stated([X, Y], [">=", ["*", "y", ["exp", squared("x")]],
                        ["*", "y", ["+", "1", squared("x")]]]), (),
        [">=", ["*", "y", ["exp", squared("x")]], ["*", "y", ["+", "2", squared("x")]]]),
    "a denominator below zero": (
        stated([[">=", "-1", "x"]], [">=", ["+", squared("x"), over("1", "x")], "0"]), (),
        [">=", ["+", squared("x"), over("2", "x")], "0"]),
    "a root as a power": (
        stated([X], [">=", ["+", "x", "2"], ["*", "3", ["^", "x", "1/3"]]]), (),
        [">=", ["+", "x", "19/10"], ["*", "3", ["^", "x", "1/3"]]]),
    "a run, both ways": (
        stated([], ["=", "x", "T"], runs=COUNTED, variables=[]), [["both", AHEAD], BEHIND],
        ["=", "x", ["+", "T", "1"]]),
    "a fact at a term": (
        stated([X], [">=", ["exp", ["*", "2", "x"]], ["+", "1", ["*", "2", "x"]]]),
        [["fact", ["*", "2", "x"], DOUBLED, ["exp", "Y"]]],
        [">=", ["exp", ["*", "2", "x"]], ["+", "2", ["*", "2", "x"]]]),
    "a lemma": (
        stated([X], [">=", ["+", "x", "-1"], ["log", "x"]]), [["log", "x"]],
        [">=", ["+", "x", "-2"], ["log", "x"]]),
    "a variable above zero that is given to be zero or more": (
        stated([[">=", "x", "0"], [">=", "x", "y"], Y], [">=", ["+", "x", "-1"], ["log", "x"]]), (),
        [">=", ["+", "x", "-2"], ["log", "x"]]),
    "a cover by boxes": (
        stated(UNIT, [">=", ["exp", "x"], ["+", "99/100", less("x")]]), [["boxes"]],
        [">=", ["exp", "x"], ["+", "101/100", less("x")]]),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_a_tactic_proves_what_is_true_and_nothing_that_is_false(name):
    """The checker, which does not trust the search, takes the certificate and not for the other."""
    statement, hints, false = FOUND[name]
    certificate = find(statement, hints=hints)
    check(statement, certificate)
    assert not accepted({**statement, "claim": false}, certificate)
    assert find({**statement, "claim": false}, effort=2, steps=30, hints=hints) is None


@pytest.mark.parametrize(
    "hint",
    [["foo", "x"], ["let", "x", "y", "foo", "2"], ["name", ["+", "x", "1"]], [">=", "x"], ["exp"],
     ["induct", "T", "x"], ["log", "q"], ["sum", "1"], []],
)  # fmt: skip
def test_a_hint_that_cannot_be_used_is_named(hint):
    """A user writes hints (`docs/your-own-paper.md`), and one may have a wrong word."""
    statement = {"variables": ["x"], "given": [X], "claim": [">=", squared("x"), "0"]}
    for hints in ([hint], [[">=", "x", "0"], hint]):
        with pytest.raises(InvalidParameter) as caught:
            find(statement, hints=hints)
        assert str(caught.value).startswith(f"the hint {hint!r} cannot be used: ")


UNIT = {"x": Interval(0.0, 1.0)}
x, y = sp.symbols("x y")
HALF = sp.Rational(1, 2)


def _seven(_point):
    return 7.0


def _above(left, right, **known):
    """A statement that left <= right, tried by a search whose proof says less."""
    domain = known.pop("domain", UNIT)
    where = {k: known.pop(k) for k in ("at", "at_the_edge", "where") if k in known}
    assumed = tuple(
        Assumption(name=f"a{i}", left=sp.sympify(a), right=sp.sympify(b))
        for i, (a, b) in enumerate(known.pop("assumed", ()))
    )
    statement = replace(
        catalogue()["odcl.remark19-own"].statement, id="toy.less", relation=r"\le", constants=(),
        terms=(Summand(name="bound", expr=sp.sympify(right)),), assumptions=assumed,
    )  # fmt: skip
    return searched(statement, PROFILES["quick"], left, domain, everywhere=known.get("by"), **where)


def _reduced(of):
    return Reduction(idea="It is so.", ranges=UNIT, left=x, of=of)


LESS = {
    "given that nothing meets": lambda: _above(x, 0, by=Everywhere(UNIT, given=((0, 1),))),
    "given that few points meet": lambda: _above(HALF, x, by=Everywhere(UNIT, given=((x, HALF),))),
    "another condition than the search's": lambda: _above(
        HALF, x, where=lambda p: p["x"] < 0.9, by=Everywhere(UNIT, given=((x, HALF),))
    ),
    "given of a symbol without a value": lambda: _above(
        x, 0, by=Everywhere({**UNIT, "z": UNIT["x"]}, given=((sp.Symbol("z"), 1 - x), (0, 1)))
    ),
    "all but an end": lambda: _above(
        sp.Rational(1, 1000), x, by=Everywhere({"x": Interval(1e-3, 1.0)})
    ),
    "all but zero": lambda: _above(
        lambda p: 0.0 if p["x"] else 9.0, x, by=Everywhere({"x": POSITIVE}, left=sp.Integer(0))
    ),
    "no point": lambda: _above(_seven, x, by=_reduced(lambda _p: False)),
    "no size": lambda: _above(
        _seven, x, by=Sizes(up_to="d <= 1", each=(_reduced(lambda _p: False),))
    ),
    "no data": lambda: _above(
        _seven, x, by=Everywhere(UNIT, left=x, arrays=Arrays(values=lambda _p: None, vectors="u"))
    ),
    "assumptions that the points do not meet": lambda: _above(
        x, 0, assumed=((-1, x),), at_the_edge=True
    ),
    "terms that cancel": lambda: _above(
        x / y, 1, at=lambda p: {"x": p["x"], "y": p["x"]}
    ),
    "terms that cancel inside": lambda: _above(
        x / y, 1, domain={"a": UNIT["x"], "b": UNIT["x"]},
        at=lambda p: {"x": p["a"] - p["b"], "y": p["a"] - p["b"]},
    ),
    "a factor of zero": lambda: _above(x / y, 0, at=lambda p: {"x": 0, "y": p["x"]}),
    "a power zero": lambda: _above(y**x, 1, at=lambda p: {"x": 0, "y": 1 / p["x"]}),
    "another value at an end": lambda: _above(
        lambda p: p["x"] or 7.0, x, by=Everywhere(UNIT, left=x)
    ),
    "the one point that meets an assumption": lambda: _above(
        _seven, x, assumed=((x, 1),), by=Everywhere(UNIT, left=x)
    ),
    "a domain without order": lambda: _above(x, 0, domain={"x": Interval(1.0, 0.0)}),
}  # fmt: skip


@pytest.mark.parametrize("said", LESS)
def test_a_proof_that_says_less_than_the_search_does_not_prove(said, tmp_path, monkeypatch):
    """Each has a certificate, and each statement fails, or has no value, at a point."""
    monkeypatch.setattr(shelf, "_OWN", {tmp_path: None})
    made = LESS[said]()
    for each in made.instances or (made.proposition,):
        assert prove("toy.less", each, tmp_path) is not None
        assert stored(each) is not None
    try:
        found = made.decide(None, 0.05)
    except (InvalidParameter, ZeroDivisionError):
        return  # told as a mistake of the claim
    assert found.verdict is Verdict.REFUTED
    assert found.proved is None


def test_a_proof_that_says_as_much_proves(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf, "_OWN", {tmp_path: None})
    for made in (
        _above(x / 2, x, by=Everywhere(UNIT, given=((1, x),))),
        _above(x, HALF, assumed=((HALF, x),), at_the_edge=False),
        _above(x, 1, assumed=((1, x),), at_the_edge=True),
        _above(x, 1, by=_reduced(lambda p: p["x"] > 0.5)),
    ):
        assert prove("toy.less", made.proposition, tmp_path) is not None
        assert made.decide(None, 0.05).proved is not None
