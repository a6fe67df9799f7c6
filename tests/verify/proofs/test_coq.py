"""Theorems for Coq are the registered statements, and Coq refuses what is false."""

import math
import re
import resource
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import flint
import pytest
import sympy as sp

from bounds.statement import Term
from trials.checks import InvalidParameter
from verify.evidence import Evidence, Verdict, with_record
from verify.papers import catalogue
from verify.plan import plan
from verify.procedures.base import PROFILES
from verify.proofs.checker import Rejected, check, enclose
from verify.proofs.coq import __main__ as task_of_coq
from verify.proofs.coq import asked, records, scripts, theorems
from verify.proofs.coq.compiler import AXIOMS, Compiled, Coq, axioms_of, refuse_commands
from verify.proofs.coq.gallina import definedness, identifier, relation, text_of
from verify.proofs.coq.theorems import Theorem
from verify.proofs.failures import Failure, registered
from verify.proofs.refuting import check_failure

needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="coqc is not on the path (apt-get install coq)"
)


@cache
def planned(name):
    """A claim with its procedure at the quick profile."""
    return plan(catalogue([]), [name], PROFILES["quick"]).claims[0]


def theorems_of(name, statement=None):
    """What Coq is asked about a claim, or about the claim with another statement."""
    claim = planned(name).claim
    claim = claim if statement is None else replace(claim, statement=statement)
    return list(asked.of(claim.build(PROFILES["quick"]), claim, {}))


def changed(name, by):
    """A claim's statement with its right-hand side times a factor."""
    statement = planned(name).claim.statement
    terms = tuple(Term(name=t.name, expr=t.expr * by) for t in statement.terms)
    return replace(statement, terms=terms)


# -- Terms and statements --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (["^", "x", "-1/2"], "/ sqrt x"),
        (["^", ["+", "x", "1"], "3/2"], "sqrt (x + 1) ^ 3"),
        (["^", "x", "2/5"], "Rpower x (2 / 5)"),
        (["*", "-1", "x", ["^", "y", "-1"]], "- x / y"),
        (["+", "x", ["*", "-2", "y"]], "x - (2 * y)"),
        (["*", "x", ["+", "1", ["*", "-1", "y"]]], "x * (1 - y)"),
        (["log", ["*", "2", "R"]], "ln (2 * R_)"),
        (["max", "x", ["^", "y", "2"]], "Rmax x (y ^ 2)"),
        (["^", ["*", "-1", "x"], "2"], "(- x) ^ 2"),
        (["*", ["^", "x", "-2"], ["^", "y", "-1"]], "1 / x ^ 2 / y"),
        (["^", ["^", "x", "2"], "3"], "(x ^ 2) ^ 3"),
        (["^", ["^", ["+", "x", "1"], "-1"], "2"], "(/ (x + 1)) ^ 2"),
        (["^", ["^", "x", "1/2"], "3"], "sqrt x ^ 3"),
    ],
)
def test_terms_are_written_as_a_person_writes_them(term, text):
    assert text_of(term) == text


def test_no_two_variables_of_a_theorem_are_one():
    """R is a type of Coq.  With one name for R and R_ the theorem would be about R = R_ alone."""
    names = ["R", "R_", "R__", "x", "x_", "S", "S_"]
    assert len({identifier(name) for name in names}) == len(names)
    of = {"variables": ["R", "R_"], "given": [], "claim": ["=", "R", "R_"]}
    (own,) = [line for line in theorems.whole(of, "").text.splitlines() if "forall" in line]
    _, first, second, *_ = own.split()
    assert first != second
    assert f"{first} = {second}" in theorems.whole(of, "").text


@pytest.mark.parametrize("name", ["for", "mod", "where", "return", "Rmax", "Rpower", "Rabs"])
def test_words_and_functions_of_coq_are_no_variables(name):
    """``forall for : R`` is refused, and a variable Rmax hides the function."""
    of = {"variables": [name], "given": [], "claim": [">=", ["max", name, "1"], "1"]}
    assert f"Rmax {name}_ 1" in theorems.whole(of, "").text


def test_a_comment_holds_no_text_that_does_not_end():
    """Coq reads double quotes in a comment too."""
    document = Theorem(kind="identity", text="True", about='a " (* b *) c').document("easy.")
    comment, _, _ = document.partition("\n\n")
    assert '"' not in comment
    assert (comment.count("(*"), comment.count("*)")) == (1, 1)


def test_the_larger_side_stands_on_the_right():
    assert relation([">=", "x", "0"]) == "0 <= x"
    assert relation([">", "0", "x"]) == "x < 0"
    assert relation(["=", "x", "y"]) == "x = y"


def test_what_coq_defines_at_every_number_is_stated_where_the_paper_divides():
    term = ["*", ["log", "x"], ["^", ["+", "y", "1"], "-1"], ["^", "z", "1/2"], ["^", "w", "1/3"]]
    assert definedness(term) == ["0 < x", "y + 1 <> 0", "0 <= z", "0 < w"]


def in_python(text):
    """A text of Coq as one of Python."""
    text = text.replace("^", "**").replace("<>", "!=").replace(" = ", " == ")
    text = re.sub(r"\b(sqrt|ln) (\w+)", r"\1(\2)", text.replace("/\\", " and "))
    return re.sub(r"(^|[<(*] ?)/ ", r"\g<1>1 / ", text)


def is_so(text, **values):
    """Whether a relation of Coq holds at values of its variables."""
    return bool(eval(f"({in_python(text)})", {"sqrt": math.sqrt, "ln": math.log} | values))


EXPONENTS = ["-2", "-3/2", "-1", "-1/2", "-1/3", "1/2", "1", "3/2", "2"]
SHIFTED = ["+", "x", "-1"]
PARTLY_DEFINED = [
    *(["^", base, e] for base in ("x", SHIFTED, ["^", "x", "2"]) for e in EXPONENTS),
    *(["^", base, e] for base in ("-2", "0", "1/2") for e in EXPONENTS),
    *(["log", term] for term in ("x", SHIFTED, "-1", "0", "1/3", "2", ["^", "x", "-1/2"])),
    ["^", ["log", "x"], "-1"],
    ["*", "0", ["^", "x", "-1"], ["log", SHIFTED]],
    ["exp", ["^", SHIFTED, "-1/2"]],
    ["max", "x", ["^", "x", "1/2"]],
    ["^", "x", ["*", "2", "x"]],
]


@pytest.mark.parametrize("term", PARTLY_DEFINED, ids=str)
def test_a_term_is_defined_where_its_conditions_hold_and_nowhere_else(term):
    """Ball arithmetic has no number for an undefined term, for which Coq has one.

    The conditions of inner parts come first, and the others mean nothing where one fails.
    """
    for x in (-2, -1, 0, 1, 2):
        is_defined = enclose(term, {"x": flint.arb(x)}).is_finite()
        assert all(is_so(each, x=x) for each in definedness(term)) == is_defined, x


@pytest.mark.parametrize(
    ("exponent", "given", "has_form"),
    [
        ("1/3", [], False),  # the statement has x = 0, and a theorem with 0 < x leaves it out
        ("1/3", [[">=", "x", "0"]], False),
        ("1/3", [[">", "x", "0"]], True),
        ("1/2", [], True),
        ("-1/3", [], True),  # undefined at zero in the statement too
    ],
)
def test_a_theorem_leaves_no_point_of_the_statement_out(exponent, given, has_form):
    """At zero x^(1/3) is 0 in the statement, and Rpower 0 (1 / 3) = exp (1 / 3 * ln 0) is 1."""
    given = [*given, [">=", ["*", "0", ["^", "x", exponent]], "0"]]
    of = {"variables": ["x"], "given": given, "claim": [">", "x", "0"]}
    if has_form:
        hypotheses = theorems.whole(of, "").text.split(" ->\n")
        assert any("x" in each and ("0 < x" in each or "0 <= x" in each) for each in hypotheses)
    else:
        check_failure({**of, "given": given}, {"x": "0"})  # what is given holds there
        with pytest.raises(InvalidParameter, match="order three or more"):
            theorems.whole(of, "")


@pytest.mark.parametrize(
    ("sign", "opposite"),
    [(">=", "ln x < / y"), (">", "ln x <= / y"), ("=", "ln x <> / y")],
)
def test_a_negation_says_that_both_sides_are_defined_and_that_the_relation_fails(sign, opposite):
    """Coq's ln (-1) is zero: without its sign a value of x below zero would refute ln x >= 1."""
    claim = [sign, ["log", "x"], ["^", "y", "-1"]]
    given = [[">=", ["^", "x", "1/2"], "y"]]
    text = theorems.negation({"variables": ["x", "y"], "given": given, "claim": claim}, "").text
    first, *parts = text.split("\n")
    assert first.strip() == "exists x y : R,"
    assert [part.strip().removesuffix(" /\\") for part in parts] == [
        "0 <= x",
        "y <= sqrt x",
        "0 < x",
        "y <> 0",
        opposite,
    ]


def test_the_theorem_is_the_registered_statement_with_its_domain():
    (first, *_) = theorems_of("sxy.eq35")
    assert first.theorem.kind == "inequality"
    assert first.theorem.text.splitlines()[0] == "  forall Delta alpha beta epsilon : R,"
    assert "  epsilon <= 1 / 3 * Delta * sqrt (alpha / beta) ->" in first.theorem.text.splitlines()
    assert first.theorem.text.endswith(
        "1 / 3 * alpha * Delta ^ 2 <= alpha * (Delta - epsilon) ^ 2 - (beta * epsilon ^ 2)"
    )
    assert "Proposition" not in first.theorem.text
    assert "sxy.eq35" in first.document("certificate").splitlines()[0]


@pytest.mark.parametrize(
    "name", ["sxy.eq35", "ifca.eq27", "odcl.cc-vs-km", "ifca.thm2-contraction"]
)
def test_another_statement_is_another_theorem_without_a_record(name):
    own, other = (theorems_of(name, s) for s in (None, changed(name, sp.Rational(11, 10))))
    assert records.recorded(own[0].theorem) is not None
    assert own[0].theorem.text != other[0].theorem.text
    assert all(records.recorded(each.theorem) is None for each in other)
    claim = replace(planned(name).claim, statement=changed(name, sp.Rational(11, 10)))
    assert asked.recorded(claim.build(PROFILES["quick"]), claim) is None


def test_the_comment_names_the_hypotheses_that_the_argument_gives():
    text = " ".join(theorems_of("odcl.remark14")[0].document("certificate").split())
    assert "It uses the triangle inequality" in text
    assert "It gives these hypotheses: distance <= 2 * R_." in text
    assert "hypotheses" not in theorems_of("sxy.eq35")[0].document("certificate")


def test_no_two_claims_have_one_file_of_coq():
    """The second of two ids that differ in '-' and '_' alone took the file of the first."""
    alike = ["a.b-c", "a.b_c", "a-b.c", "a_b.c", "a.b.c", "a.b[c=3]", "a.b[c=-3]", "3.d", "é.d"]
    names = [asked.file_name(name) for name in alike]
    assert len(set(names)) == 9
    assert all(re.fullmatch(r"[A-Za-z]\w*", name, flags=re.ASCII) for name in names)
    assert asked.file_name("sxy.eq35-sharp") == "sxy_eq35_sharp"


@pytest.mark.parametrize("name", ["ifca.more-general-as-printed", "ifca.eq2-as-printed"])
def test_a_false_statement_is_negated_with_rational_values(name):
    (first,) = theorems_of(name)
    assert first.theorem.kind == "negation"
    assert first.theorem.text.lstrip().startswith("exists ")
    for value in first.witness.values():
        sp.Rational(value)
    claim = planned(name).claim
    record = asked.recorded(claim.build(PROFILES["quick"]), claim)
    assert record is not None
    assert record["kind"] == "negation"
    other = replace(claim, statement=changed(name, sp.Rational(11, 10)))
    assert asked.recorded(other.build(PROFILES["quick"]), other) is None


# -- Records ---------------------------------------------------------------------------------------


def test_every_record_rests_on_the_axioms_of_the_reals_only():
    found = list(records.every())
    assert len(found) >= 60
    for path, document in found:
        assert set(document["axioms"]) <= AXIOMS
        assert path.stem == document["theorem"][:20]
        assert document["way"]


def test_a_record_with_another_axiom_or_of_another_theorem_is_refused(tmp_path):
    theorem = Theorem(kind="identity", text="  1 = 1", about="toy.one")
    fields = {"way": "nra", "registered": "", "by": "", "coq": "8.16.1"}
    path = records.write("toy.one", theorem, {**fields, "axioms": ["Mine.false"]}, tmp_path)
    with pytest.raises(InvalidParameter, match=r"Mine\.false"):
        records.recorded(theorem, tmp_path)
    path.write_text(path.read_text().replace(records.digest(theorem), "0" * 64))
    with pytest.raises(InvalidParameter, match="another theorem"):
        records.recorded(theorem, tmp_path)
    assert records.recorded(replace(theorem, text="  1 = 2"), tmp_path) is None


@pytest.mark.parametrize(
    ("verdict", "kind", "mark", "grade"),
    [
        (Verdict.SUPPORTED, "inequality", "PROVED", "checked by Coq 8.16.1"),
        (Verdict.REFUTED, "negation", "REFUTED", "proved, checked by Coq 8.16.1"),
        (Verdict.REFUTED, "inequality", "REFUTED", "in double precision"),
        (Verdict.SUPPORTED, "negation", "SUPPORTED", ""),
        (Verdict.INCONCLUSIVE, "inequality", "INCONCLUSIVE", ""),
    ],
)
def test_a_record_counts_for_the_verdict_that_it_proves(verdict, kind, mark, grade):
    record = {"kind": kind, "coq": "8.16.1", "axioms": ["Classical_Prop.classic"], "by": "",
              "narrowed": []}  # fmt: skip
    bare = Evidence(verdict=verdict, summary="", level=0.0, n_trials=0)
    found = with_record(bare, record)
    assert (found.mark, found.grade) == (mark, grade)
    assert ("classic" in " ".join(found.notes)) == (found.coq is not None)


def test_an_argument_beside_a_theorem_is_told_once():
    """The page of Lemma 3 gave one argument of six sentences twice."""
    record = {
        "kind": "negation",
        "coq": "8",
        "axioms": ["A.b"],
        "by": "Take $x=1$.",
        "narrowed": [],
    }
    bare = Evidence(verdict=Verdict.REFUTED, summary="", level=0.0, n_trials=0)
    told = with_record(replace(bare, notes=("Outside that check: Take $x=1$.",)), record).notes
    assert told[1].endswith("axioms, those of Coq's real numbers: b. The same argument stands "
                            "outside the theorem.")  # fmt: skip
    assert with_record(bare, record).notes[0].endswith("Outside the theorem: Take $x=1$.")


BINOMIAL = ["^", ["+", "x", "1"], "2"]
#: A given relation, a claim that a sum shows, and the parts of that sum.
SHOWN = {
    "=": ([">=", "x", "0"], ["=", BINOMIAL, ["+", ["^", "x", "2"], ["*", "2", "x"], "1"]],
          ["+", "x", ["*", "-1", "x"]]),
    ">=": ([">=", "x", "0"], [">=", BINOMIAL, ["+", ["^", "x", "2"], "1"]], ["*", "4", "x"]),
    ">": ([">", "x", "0"], [">", BINOMIAL, ["+", ["^", "x", "2"], "1"]], ["*", "4", "x"]),
}  # fmt: skip


def by_sum(sign, more):
    """A theorem that a sum shows, and the script from its certificate, which the checker takes."""
    given, claim, parts = SHOWN[sign]
    statement = {"variables": ["x"], "given": [given], "claim": claim}
    certificate = {"step": "sum"} | ({"factor": "2", "parts": parts} if more else {})
    check(statement, certificate)
    script = scripts.from_certificate(statement, certificate, ())
    return theorems.whole(statement, "toy.sum"), f"intros.\n{script}"


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize(("sign", "claim"), [("=", "t = 0"), (">=", "0 <= t"), (">", "0 < t")])
def test_a_sum_is_finished_by_the_lemma_that_says_what_is_claimed(sign, claim, more):
    library = (Path(scripts.__file__).parent / "CFL.v").read_text(encoding="utf-8")
    (lemma,) = re.findall(r"refine \((\w+)", by_sum(sign, more)[1])
    (text,) = re.findall(rf"Lemma {lemma} : ([^.]*)\.", library)
    assert text.split("->")[-1].strip() == claim


BELOW, ABOVE = ["+", "x", ["*", "-1", "y"]], ["+", "y", ["*", "-1", "x"]]
OPPOSITE = ["*", "-1", "w"]
#: Terms >= 0 where x < y, w < 0 and z > 0.
NOT_NEGATIVE = [
    ["*", ABOVE, "z"],
    ["*", BELOW, "w"],
    ["*", ["^", BELOW, "3"], "w", "z"],
    ["*", ["^", BELOW, "4"], OPPOSITE],
    ["*", "-1", "w", ["^", ["+", BELOW, "1"], "2"], ["+", "z", "1"]],
    ["*", ABOVE, ["^", "z", "-1"]],
    ["*", BELOW, ["^", "w", "-1"]],
    ["*", "-2", "z", ["^", "w", "-1"]],
    ["*", ["^", BELOW, "-3"], ["^", "w", "-1"], ["+", "z", "1"]],
    ["*", ["^", BELOW, "2"], ["^", "w", "-2"]],
    ["*", ["^", BELOW, "3"], ["^", "w", "-3"]],
]


def not_negative(term):
    """The statement that such a term is >= 0."""
    given = [[">", "y", "x"], [">", "0", "w"], [">", "z", "0"]]
    return {"variables": ["w", "x", "y", "z"], "given": given, "claim": [">=", term, "0"]}


@pytest.mark.parametrize("term", NOT_NEGATIVE, ids=str)
def test_the_parts_of_a_sum_are_the_claim_whatever_the_signs_of_its_factors(term):
    """The quotient of two factors below zero was written with one of them turned."""
    statement = not_negative(term)
    check(statement, {"step": "sum"})
    script = scripts.from_certificate(statement, {"step": "sum"}, theorems.conditions(statement))
    ((factor, parts),) = re.findall(r"refine \(by_sum\w* \((.*)\) _ \((.*)\) _ _ _\);", script)
    factor, parts, whole = (sp.sympify(in_python(text)) for text in (factor, parts, text_of(term)))
    assert sp.cancel(factor * whole - parts) == 0
    at = {"w": -2, "x": -3, "y": 5, "z": 7}
    for text in re.findall(r"assert \((.*?)\) by (?:first|lra)", script):
        assert is_so(text, **{x: sp.Integer(value) for x, value in at.items()})


@pytest.mark.parametrize("given", [">", ">="])
@pytest.mark.parametrize("by", ["2", "3", "3/2", "5/2", "4/3", "7/5"])
def test_a_power_has_a_form_where_it_is_a_whole_number(by, given):
    """The lemma takes a natural number q.  It asks of x what is known of it, and says it of y."""
    statement = {"variables": ["x"], "given": [[given, "x", "0"]], "claim": [">=", "x", "0"]}
    step = {"step": "let", "x": "x", "new": "y", "kind": "power", "by": by}
    certificate = {**step, "then": [{"step": "sum"}]}
    check(statement, certificate)
    if sp.Rational(by).q > 1:
        with pytest.raises(Rejected, match="no whole number"):
            scripts.from_certificate(statement, certificate, ())
        return
    script = scripts.from_certificate(statement, certificate, ())
    ((lemma, power),) = re.findall(r"destruct \((\w+) (\S+) x ", script)
    assert power == by
    library = (Path(scripts.__file__).parent / "CFL.v").read_text(encoding="utf-8")
    (text,) = re.findall(rf"Lemma {lemma} : ([^.]*)\.", library)
    sign = {">": "<", ">=": "<="}[given]
    assert text.endswith(f"-> 0 {sign} x -> exists y, 0 {sign} y /\\ x = y ^ q")


@pytest.mark.parametrize("relation_", [">=", ">", "="])
def test_a_fact_on_the_way_is_asserted_with_its_own_relation(relation_):
    """A fact > 0 that was kept as one >= 0 would be no denominator."""
    term = ["*", ["+", "x", "-1"], "0" if relation_ == "=" else "1"]
    given = [">=" if relation_ == "=" else relation_, "x", "1"]
    statement = {"variables": ["x"], "given": [given], "claim": [">=", ["*", "x", "x"], "0"]}
    cut = {"step": "cut", "relation": relation_, "term": term, "then": [{"step": "sum"}] * 2}
    check(statement, cut)
    (told,) = re.findall(r"assert \((.*)\)\. \{", scripts.from_certificate(statement, cut, ()))
    assert (" = " in told) == (relation_ == "=")
    for x in (0, 1, 2):
        assert is_so(told, x=x) == {">=": x >= 1, ">": x > 1, "=": True}[relation_]


LEAF = {"step": "sum"}
LET = {"step": "let", "x": "x", "new": "y", "kind": "scale", "by": "2", "then": [LEAF]}
CASES = {"step": "cases", "on": SHIFTED, "then": [LEAF, LEAF]}
CUT = {"step": "cut", "relation": ">", "term": ["+", "x", "1"], "then": [LEAF, LEAF]}
LEMMA = {"step": "lemma", "says": "log", "of": "x", "then": [LEAF]}


@pytest.mark.parametrize(
    ("certificate", "n_conclusions"),
    [(LEAF, 1), (LET, 1), (CASES, 2), (CUT, 1), (LEMMA, 1),
     ({**CUT, "then": [CASES, LEAF]}, 1),  # the fact is proved in two cases, and divides by nothing
     ({**CUT, "then": [LEAF, CASES]}, 2),
     ({**CASES, "then": [CUT, {**LEMMA, "then": [CASES]}]}, 3),
     ({**LEMMA, "then": [{**LET, "then": [{**CUT, "term": "y"}]}]}, 1)],
)  # fmt: skip
def test_a_theorem_shows_that_its_terms_are_defined_wherever_it_shows_its_claim(
    certificate, n_conclusions
):
    claim = [">=", ["^", ["+", "x", ["^", "x", "2"]], "-1"], "0"]
    statement = {"variables": ["x"], "given": [[">", "x", "0"]], "claim": claim}
    conditions = theorems.conditions(statement)
    assert conditions == ["x + x ^ 2 <> 0"]
    check(statement, certificate)
    script = scripts.from_certificate(statement, certificate, conditions)
    assert script.count("repeat split; defined]") == n_conclusions


@pytest.mark.parametrize("numbers", [("1/2", "3", "5"), ("7/2", "3", "5"), ("1/2", "3", "2"),
                                     ("7/2", "3", "2")])  # fmt: skip
@pytest.mark.parametrize("by", ["", "It is known."])
def test_a_failure_by_several_inequalities_is_true_where_all_of_them_are(numbers, by):
    """a < b and c > b are asked, with the argument that they belong to as a comment."""
    a, b, c = numbers
    inequalities = [{"says": "one", "left": a, "relation": "<", "right": b},
                    {"says": "two", "left": c, "relation": ">", "right": b}]  # fmt: skip
    failure = Failure(statement={}, values={}, by=by, inequalities=inequalities)
    found = asked._negated(failure, planned("sxy.eq35").claim, {})
    assert found.theorem.kind == "negation"
    assert is_so(found.theorem.text.strip()) == (sp.Rational(a) < 3 < sp.Rational(c))
    assert by in found.theorem.about
    assert found.by == by


# -- The compiler ----------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["Admitted", "admit", "Axiom", "Theorem", "Qed", "Unset", "Abort"])
def test_a_script_holds_tactics_only(word):
    with pytest.raises(InvalidParameter, match=word):
        refuse_commands(f"intros.\n{word}.")
    refuse_commands("intros. set (x := 1) in *. nra.")


def test_axioms_are_read_from_what_coq_prints():
    assert axioms_of("Closed under the global context\n") == ()
    printed = "Axioms:\nB.two\n  : forall x : nat,\n    x = x\nA.one : Set\n"
    assert axioms_of(printed) == ("A.one", "B.two")
    with pytest.raises(InvalidParameter):
        axioms_of("")


@cache
def coq(folder):
    """Coq with its compiled libraries."""
    return Coq(folder)


@pytest.fixture(scope="module")
def compiler(tmp_path_factory):
    """One folder for all tests that compile.  Coq without its packages is as good as none."""
    try:
        return coq(tmp_path_factory.mktemp("coq"))
    except InvalidParameter as error:
        if "Cannot find a physical path" not in str(error):
            raise  # a library of our own is wrong
        pytest.skip(str(error))


@needs_coq
def test_coq_compiles_true_statements_and_no_false_ones(compiler):
    (own, *_) = theorems_of("ifca.thm2-contraction")
    made = compiler.compile("own", own.document("certificate"))
    assert made.good, made.message
    for factor in (2, sp.Rational(1, 2)):
        for other in theorems_of("ifca.thm2-contraction", changed("ifca.thm2-contraction", factor)):
            for way in other.scripts:
                assert not compiler.compile("other", other.document(way)).good
        false = replace(own.theorem, text=other.theorem.text)
        assert not compiler.compile("same", false.document(own.scripts["certificate"])).good
    assert set(compiler.axioms({"own": own.theorem.text})) <= AXIOMS


@needs_coq
def test_coq_compiles_an_equation_whose_parts_are_named(compiler):
    theorem, script = by_sum("=", True)
    made = compiler.compile("named", theorem.document(script))
    assert made.good, made.message
    unlike = replace(theorem, text=theorem.text.replace("2 * x", "3 * x"))
    assert unlike != theorem
    assert not compiler.compile("unlike", unlike.document(script)).good


@needs_coq
@pytest.mark.parametrize(
    ("statement", "certificate"),
    [
        (not_negative(NOT_NEGATIVE[-1]), {"step": "sum"}),
        (not_negative(NOT_NEGATIVE[-2]), {"step": "sum"}),
        *(  # the value from which it grows is > 0 as well where the claim is
            ({"variables": ["x"], "given": [[">=", "x", "0"]],
              "claim": [relation_, ["+", ["^", "x", "2"], ["exp", "x"]], "0"]},
             {"step": "monotone", "x": "x", "start": "0", "then": [{"step": "sum"}] * 2})
            for relation_ in (">=", ">")
        ),
        (  # x > 0 by a fact on the way, which no linear arithmetic finds
            {"variables": ["x", "y"], "given": [[">=", "x", ["^", "y", "2"]], [">", "y", "0"]],
             "claim": [">=", ["^", "x", "-1"], "0"]},
            {"step": "cut", "relation": ">", "term": "x", "then": [
                {"step": "sum", "parts": ["+", ["+", "x", ["*", "-1", ["^", "y", "2"]]],
                                          ["^", "y", "2"]]},
                {"step": "sum"}]},
        ),
    ],
)  # fmt: skip
def test_coq_compiles_what_the_checker_takes(statement, certificate, compiler):
    check(statement, certificate)
    theorem = theorems.whole(statement, "toy.signs")
    script = scripts.from_certificate(statement, certificate, theorems.conditions(statement))
    made = compiler.compile("signs", theorem.document(f"intros.\n{script}"))
    assert made.good, made.message


def test_the_seconds_are_those_that_coq_took_for_itself_and_for_the_system(monkeypatch):
    """The process that waits for it takes none of them."""
    now = {resource.RUSAGE_CHILDREN: [10.0, 4.0], resource.RUSAGE_SELF: [7.0, 2.0]}

    def call(_file):
        now[resource.RUSAGE_CHILDREN] = [11.25, 4.5]
        now[resource.RUSAGE_SELF] = [20.0, 30.0]
        return SimpleNamespace(returncode=0, stderr="")

    def usage(who):
        user, system = now[who]
        return SimpleNamespace(ru_utime=user, ru_stime=system)

    coq_ = Coq.__new__(Coq)
    monkeypatch.setattr(coq_, "_call", call, raising=False)
    monkeypatch.setattr(resource, "getrusage", usage)
    assert coq_._run("own.v") == Compiled(good=True, message="", seconds=1.25 + 0.5)


@needs_coq
def test_coq_compiles_no_negation_at_values_where_the_statement_holds(compiler):
    (first,) = theorems_of("ifca.lemma1-init-as-printed")
    assert compiler.compile("fails", first.document("witness")).good
    script = theorems.proof_of_negation({"variables": ["alpha"]}, {"alpha": "1/3"})
    assert not compiler.compile("holds", first.theorem.document(script)).good


@needs_coq
def test_a_file_that_proves_another_theorem_or_assumes_it_is_found(compiler):
    easy = Theorem(kind="identity", text="  1 = 1", about="toy.one")
    assert compiler.compile("easy", easy.document("reflexivity.")).good
    with pytest.raises(InvalidParameter, match="not the one asked for"):
        compiler.axioms({"easy": "1 = 2"})
    document = easy.document("reflexivity.").replace("Theorem", "Axiom false : 1 = 2.\nTheorem")
    assumed = document.replace("1 = 1", "1 = 2").replace("reflexivity.", "exact false.")
    assert compiler.compile("assumed", assumed).good
    assert not set(compiler.axioms({"assumed": "1 = 2"})) <= AXIOMS


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", sorted(scripts._STEPS))
def test_a_claim_is_parted_from_what_it_divides_by_once(kind, whole, monkeypatch):
    """Steps that rewrite the claim part it first.  Below them the goal is the claim alone."""
    told = []

    def tactics(_goal, _step, _below, still):
        told.append(still)
        yield "tactic."

    monkeypatch.setitem(scripts._STEPS, kind, tactics)
    monkeypatch.setattr(scripts, "left_by", lambda *_: [])
    monkeypatch.setattr(scripts, "Terms", lambda _goal: None)
    monkeypatch.setattr(scripts, "_signs_of_parts", lambda *_: iter(["signs."]))
    lines = list(scripts._proof(SimpleNamespace(claim=("", "")), {"step": kind}, whole))
    passes_on = kind in {"let", "cases", "cut", "lemma"}  # they leave the claim as it is
    parted = ["signs.", "split; [| repeat split; defined]."] if whole and not passes_on else []
    assert lines == [*parted, "tactic."]
    assert told == [whole and passes_on]


# -- The task --------------------------------------------------------------------------------------


CLAIMS = ["sxy.eq35", "ifca.eq27", "ifca.thm2-contraction"]


@pytest.fixture
def task(monkeypatch):
    """The task with a Coq that compiles what it is told, and what it would record."""
    found = SimpleNamespace(axioms={}, failing=set(), written=[])

    class Made:
        version = "8.18"

        def __init__(self, _folder):
            pass

        def compile(self, name, _document):
            return Compiled(good=name not in found.failing, message="no proof", seconds=1.5)

        def axioms(self, group):
            return tuple(sorted({axiom for name in group for axiom in found.axioms.get(name, ())}))

    monkeypatch.setattr(task_of_coq, "Coq", Made)
    monkeypatch.setattr(
        task_of_coq.records,
        "write",
        lambda name, _theorem, told: found.written.append((name, told)),
    )
    return found


def test_the_axioms_of_the_tally_are_those_of_every_group(task, monkeypatch, capsys):
    monkeypatch.setattr(task_of_coq, "_GROUP", 1)
    first, second, _ = sorted(AXIOMS)[:3]
    task.axioms = {"sxy_eq35": [second], "ifca_eq27": [first]}
    assert task_of_coq.main(CLAIMS) == 0
    *lines, tally, axioms = capsys.readouterr().out.splitlines()
    assert axioms == f"axioms: {first}, {second}"
    assert tally == "3 compiled by Coq 8.18 in 4 CPU s, 0 not"
    assert {line.split()[0] for line in lines} == {*CLAIMS, "ifca", "sxy"}
    assert not task.written
    task.axioms = {}
    assert task_of_coq.main(CLAIMS[:1]) == 0
    assert capsys.readouterr().out.endswith("axioms: none\n")


def test_theorems_that_rest_on_another_axiom_are_not_recorded(task, monkeypatch, capsys):
    monkeypatch.setattr(task_of_coq, "_GROUP", 1)
    task.axioms = {"ifca_eq27": ["Mine.false"]}
    assert task_of_coq.main(["--write", *CLAIMS]) == 1
    said = "theorems rest on Mine.false, which the reals do not assume"
    assert capsys.readouterr().out.splitlines()[-1] == said
    names = [name for name, _ in task.written]
    assert "ifca.eq27" not in names
    assert len(names) == len(set(names)) < 3


def test_a_theorem_that_does_not_compile_is_told_and_fails_the_task(task, capsys):
    task.failing = {"ifca_eq27"}
    assert task_of_coq.main(CLAIMS) == 1
    told = capsys.readouterr().out
    assert "ifca.eq27  does not compile, " in told
    assert ": no proof" in told
    assert "2 compiled by Coq 8.18 in 3 CPU s, 1 not" in told
    # where proofs are looked for, a claim without one is no failure
    assert task_of_coq.main(["--write", *CLAIMS]) == 0
    assert {name for name, _ in task.written} == {"sxy.eq35", "ifca.thm2-contraction"}
    for name, told in task.written:
        assert told["registered"] == registered(planned(name).claim.statement)
        assert (told["coq"], told["axioms"]) == ("8.18", [])


def test_only_claims_without_a_record_are_asked_where_they_are_wanted(task, monkeypatch, capsys):
    assert task_of_coq.main(["--write", "--missing", *CLAIMS]) == 0
    assert not task.written
    assert capsys.readouterr().out == "0 compiled by Coq 8.18 in 0 CPU s, 0 not\naxioms: none\n"
    missing = theorems_of("ifca.eq27")[0].theorem
    known = task_of_coq.records.recorded
    monkeypatch.setattr(
        task_of_coq.records, "recorded", lambda one: None if one == missing else known(one)
    )
    assert task_of_coq.main(["--write", "--missing", *CLAIMS]) == 0
    assert [name for name, _ in task.written] == ["ifca.eq27"]


def test_a_sample_of_the_task_is_spread_over_the_recorded_theorems(task, monkeypatch, capsys):
    names = ["sxy.eq35", "ifca.eq27", "ifca.thm2-contraction", "odcl.remark14"]
    monkeypatch.setattr(
        task_of_coq.records, "every", lambda: [(None, {"claim": name}) for name in names]
    )
    assert task_of_coq.main(["--sample", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    compiled = {line.split("  ")[0] for line in lines if line.endswith(" CPU s")}
    assert compiled == {"sxy.eq35", "ifca.thm2-contraction"}
