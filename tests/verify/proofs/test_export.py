"""SMT-LIB scripts of proved statements: no solver finds a counterexample."""

import json
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.proofs.checker import check
from verify.proofs.export import smt2
from verify.proofs.flattened import flattened, is_flat
from verify.proofs.shelf import SHELF

X = {"variables": ["x"], "given": [[">", "x", "0"]]}


def ask_z3(script):
    """What Z3 says of a script.  Its limit is of work, not of time."""
    z3 = pytest.importorskip("z3", reason="needs z3-solver, which only this test uses")
    solver = z3.Solver()
    solver.set("rlimit", 2_000_000)
    solver.from_string(script)
    return str(solver.check())


def ask_cvc5(script):
    """What cvc5 says of a script.  Its limit is of work, not of time."""
    cvc5 = pytest.importorskip("cvc5", reason="needs cvc5, which only this test uses")
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit-per", "10000")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "statement")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, parser.getSymbolManager())
    return said.split()[0]


SOLVERS = pytest.mark.parametrize("ask", [ask_z3, ask_cvc5])


@SOLVERS
@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ([">=", ["+", "x", ["^", "x", "-1"]], "2"], "unsat"),
        ([">=", ["+", "x", ["^", "x", "-1"]], "21/10"], "sat"),
        ([">=", ["+", "1", "x"], ["*", "2", ["^", "x", "1/2"]]], "unsat"),
        ([">", ["+", "1", "x"], ["*", "2", ["^", "x", "1/2"]]], "sat"),
        (["=", ["max", "x", "-1"], "x"], "unsat"),
        (["=", ["min", "x", "1"], "x"], "sat"),
        ([">=", ["^", ["+", "x", "-1"], "1/2"], "0"], "sat"),  # undefined below 1
        (["=", ["*", "0", ["^", ["+", "x", "-1"], "-1"]], "0"], "sat"),  # undefined at 1
        ([">=", ["^", ["+", "x", "1"], "-1/2"], "0"], "unsat"),
    ],
)
def test_a_script_says_what_the_statement_says(claim, expected, ask):
    assert ask(smt2({**X, "claim": claim})) == expected


@SOLVERS
def test_no_proved_statement_has_a_counterexample(ask):
    told = []
    for path in sorted(SHELF.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        statement = flattened(document["statement"], document["certificate"])[0]
        try:
            script = smt2(statement)
        except InvalidParameter:
            continue
        told.append((is_flat(document["statement"]), ask(script)))
    assert sum(flat for flat, _ in told) >= 20
    assert sum(not flat for flat, _ in told) >= 15  # of vectors and sums
    assert "sat" not in {each for _, each in told}
    assert sum(each == "unsat" for _, each in told) >= 40  # the rest is unknown


@pytest.mark.parametrize("term", [["log", "x"], ["exp", "x"], ["^", "2", "x"]])
def test_a_logarithm_has_no_script(term):
    with pytest.raises(InvalidParameter, match="no form in SMT-LIB"):
        smt2({**X, "claim": [">=", term, "0"]})


@pytest.mark.parametrize(
    "more", [{"vectors": ["u"]}, {"sums": {}}, {"runs": {"T": {"numbers": ["x"]}}}]
)
def test_what_only_the_checker_reads_has_no_script(more):
    """Its script would not say what the numbers of a recursion or the products of vectors are."""
    with pytest.raises(InvalidParameter, match="no form in SMT-LIB"):
        smt2({**X, "claim": [">=", "x", "0"], **more})


# -- vectors, sums and recursions as numbers -------------------------------------------------------


def test_the_stored_statements_about_vectors_sums_and_runs_are_proved_as_statements_about_numbers():
    """By what is left of their certificates, which the checker takes."""
    n_proved = 0
    for path in sorted(SHELF.glob("*.json"), key=lambda each: each.stat().st_size):
        document = json.loads(path.read_text(encoding="utf-8"))
        if is_flat(document["statement"]) or n_proved == 12:
            continue
        statement, certificate = flattened(document["statement"], document["certificate"])
        assert is_flat(statement)
        check(statement, certificate)
        n_proved += 1
    assert n_proved == 12


def less(term):
    return ["*", "-1", term]


SUM = {"step": "sum"}
APART = ["+", "u", less("v")]  # (u - v)^2 = uu - 2 uv + vv
VECTORS = {
    "variables": ["x"], "vectors": ["u", "v"], "given": [[">=", "x", "1"]],
    "claim": [">=", ["+", ["dot", "u", "u"], ["dot", "v", "v"]], ["*", "2", ["dot", "u", "v"]]],
}  # fmt: skip
WEIGHTED = {
    "variables": ["x"], "given": [[">=", "x", "0"]],
    "claim": [">=", ["*", "x", ["sum", "F", "w"]], "0"],
    "sums": {"F": {"variables": ["w"], "vectors": [], "given": [[">=", "w", "0"]]}},
}  # fmt: skip


def test_what_the_certificate_shows_of_vectors_is_given_of_their_products():
    certificate = {"step": "gram", "of": [APART], "then": [SUM]}
    check(VECTORS, certificate)
    statement, left = flattened(VECTORS, certificate)
    assert left == SUM
    assert statement["variables"] == ["x", "d__1_u_u", "d__1_u_v", "d__1_v_v"]
    own, shown = statement["given"]
    at = {
        "x": Fraction(3),
        "d__1_u_u": Fraction(25),
        "d__1_u_v": Fraction(2),
        "d__1_v_v": Fraction(4),
    }
    assert exact(own[1], at) == 3 - 1
    assert (shown[0], exact(shown[1], at), shown[2]) == (">=", 25 - 2 * 2 + 4, "0")
    sign, left_side, right_side = statement["claim"]
    assert (sign, exact(left_side, at), right_side) == (">=", 25 + 4 - 2 * 2, "0")


def test_a_relation_that_a_case_shows_is_not_given_in_both():
    """With x >= 1 each w x is at least w, which is false below: no statement may have it given."""
    each = {"step": "each", "of": "F", "term": "w", "then": [SUM, SUM]}
    check(WEIGHTED, each)
    assert len(flattened(WEIGHTED, each)[0]["given"]) == 2
    cases = {"step": "cases", "on": ["+", "x", "-1"], "then": [each, each]}
    check(WEIGHTED, cases)
    with pytest.raises(InvalidParameter, match="one case"):
        flattened(WEIGHTED, cases)
    gram = {"step": "gram", "of": [APART], "then": [SUM]}  # which holds in every case
    cases = {"step": "cases", "on": ["+", "x", "-1"], "then": [gram, gram]}
    check(VECTORS, cases)
    statement, left = flattened(VECTORS, cases)
    check(statement, left)
    assert len(statement["given"]) == 2


def test_a_product_that_only_a_case_defines_is_not_given_outside_of_it():
    """The square of x^(1/2) (u - v) is no number below x = 0, where the statement holds too."""
    whole = {**VECTORS, "given": []}
    gram = {"step": "gram", "of": [APART], "then": [SUM]}
    rooted = {"step": "gram", "of": [["*", ["^", "x", "1/2"], APART]], "then": [gram]}
    cases = {"step": "cases", "on": "x", "then": [rooted, gram]}
    check(whole, cases)
    with pytest.raises(InvalidParameter, match="one case"):
        flattened(whole, cases)
    given_ = {**whole, "given": [[">=", "x", "0"]]}  # there it is one
    statement, left = flattened(given_, cases)
    check(statement, left)
    assert len(statement["given"]) == 3


# -- the script, read by an interpreter of our own ---------------------------------------------


def parsed(script):
    """The commands of a script as nested lists."""
    tokens = iter(re.findall(r"[()]|[^\s()]+", re.sub(r"(?m)^;.*$", "", script)))

    def read(token):
        if token != "(":
            return token
        found = []
        while (token := next(tokens)) != ")":
            found.append(read(token))
        return found

    return [read(token) for token in tokens]


def value(term, at):
    """A term or a relation of a script in exact numbers."""
    if isinstance(term, str):
        assert term in at or re.fullmatch(r"\d+\.0", term)  # a numeral of real arithmetic
        return at[term] if term in at else Fraction(term)
    op, *parts = term
    if op == "ite":
        return value(parts[1] if value(parts[0], at) else parts[2], at)
    if op == "=>":
        return not value(parts[0], at) or value(parts[1], at)
    if op == "and":
        return all(value(part, at) for part in parts)  # the conditions stand first
    inner = [value(part, at) for part in parts]
    if op == "-":
        (only,) = inner
        return -only
    if op == "/":
        return inner[0] / inner[1]
    if op in ("+", "*"):
        assert len(inner) > 1  # a sum of one is no term of SMT-LIB
        return sum(inner) if op == "+" else math.prod(inner)
    if op == "not":
        return not inner[0]
    left, right = inner
    return {">=": left >= right, ">": left > right, "=": left == right}[op]


def power(base, exponent):
    """An exact power of a positive number whose root is rational."""
    root = round(float(base) ** (1 / exponent.denominator) * 4096)
    root = Fraction(root, 4096)
    assert root**exponent.denominator == base
    return root**exponent.numerator


def exact(term, at):
    """A term of a statement in exact numbers."""
    if isinstance(term, str):
        return at[term] if term in at else Fraction(term)
    op, *parts = term
    if op == "^":
        return power(exact(parts[0], at), Fraction(parts[1]))
    inner = [exact(part, at) for part in parts]
    return {"+": sum, "*": math.prod, "max": max, "min": min}[op](inner)


BASES = st.sampled_from(["x", "y", ["*", "x", "y"]])
EXPONENTS = st.sampled_from(["0", "1", "2", "3", "-1", "-2", "1/2", "-1/2", "1/3", "2/3", "-3/2"])
LEAVES = (
    st.sampled_from(["x", "y", "0", "1", "-1", "3/2", "-5/4", "7"])
    | st.tuples(st.just("^"), BASES, EXPONENTS).map(list)
)  # fmt: skip
TERMS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(["+", "*"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda made: [made[0], *made[1]]
        )
        | st.tuples(st.sampled_from(["max", "min"]), inner, inner).map(list)
    ),
    max_leaves=6,
)
RELATIONS = st.tuples(st.sampled_from([">=", ">", "="]), TERMS, TERMS).map(list)
SIXTH_POWERS = st.sampled_from([Fraction(1), Fraction(64), Fraction(1, 64), Fraction(729)])


@settings(max_examples=150, deadline=None)
@given(st.lists(RELATIONS, max_size=2), RELATIONS, SIXTH_POWERS, SIXTH_POWERS)
def test_a_script_holds_exactly_where_the_statement_is_false(given_, claim, x, y):
    """Read and evaluated here, with each root put in from its definition."""
    commands = parsed(smt2({"variables": ["x", "y"], "given": given_, "claim": claim}, "a ; b"))
    assert commands[0] == ["set-logic", "QF_NRA"]
    assert commands[-1] == ["check-sat"]
    declared = [name for command, name, *_ in commands[1:-1] if command == "declare-const"]
    facts = [command[1] for command in commands[1:-1] if command[0] == "assert"]
    assert declared[:2] == ["x", "y"]
    assert len(declared) == len(set(declared))
    at = {"x": x, "y": y}
    known = [fact[2] if fact[0] == "=>" else fact for fact in facts]
    for name in declared[2:]:
        (defined,) = [f for f in known if f[0] == "=" and f[1] == ["*", *[name] * (len(f[1]) - 1)]]
        times = len(defined[1]) - 1
        at[name] = power(value(defined[2], at), Fraction(1, times))
        assert [">=", name, "0.0"] in known  # the root that is not negative
    signs = {">=": lambda a, b: a >= b, ">": lambda a, b: a > b, "=": lambda a, b: a == b}
    holds = [signs[sign](exact(left, at), exact(right, at)) for sign, left, right in given_]
    sign, left, right = claim
    false = not signs[sign](exact(left, at), exact(right, at))
    assert all(value(fact, at) for fact in facts) is (all(holds) and false)
    assert facts[-1][0] == "not"
    conditions, (told, *sides) = in_parts(facts[-1][1])
    assert all(value(each, at) for each in conditions)
    assert told == sign
    assert [value(side, at) for side in sides] == [exact(left, at), exact(right, at)]


def in_parts(claim):
    """The conditions under which a script's claim is defined, and its relation."""
    return (claim[1:-1], claim[-1]) if claim[0] == "and" else ([], claim)


@pytest.mark.parametrize("exponent", ["-1", "-2", "-1/2"])
def test_a_denominator_is_no_zero_where_given_and_asked_of_the_claim(exponent):
    """Solvers give a division by zero any value."""
    term = ["^", "x", exponent]
    base = "root.1" if "/" in exponent else "x"
    no_zero = ["not", ["=", base, "0.0"]]
    *facts, _ = parsed(smt2({**X, "given": [[">=", term, "0"]], "claim": [">=", "x", "0"]}))
    assert ["assert", no_zero] in facts
    *facts, (_, (_, claim)), _ = parsed(smt2({**X, "claim": [">=", term, "0"]}))
    assert ["assert", no_zero] not in facts
    assert no_zero in in_parts(claim)[0]


HALF, BELOW_ONE = ["^", "x", "1/2"], ["+", "x", "-1"]


@pytest.mark.parametrize(
    ("term", "x", "root", "undefined"),
    [
        (HALF, -1, 3, True),  # a solver may choose any value of a root that is none
        (HALF, 4, 2, False),
        (HALF, 0, 0, False),
        (HALF, Fraction(1, 4), Fraction(1, 2), False),
        (["^", "x", "3/2"], -1, 1, True),
        (["^", "x", "3/2"], 0, 0, False),
        (["^", "x", "2"], 0, 3, False),
        (["^", "x", "0"], 0, 3, False),  # one, as everywhere
        (["^", BELOW_ONE, "0"], 1, 3, False),
        (["^", HALF, "0"], 0, 0, False),
        (["^", HALF, "0"], -1, 3, True),
        (["^", ["^", "x", "-1"], "0"], 0, 3, True),
        (["^", "x", "-1"], 0, 3, True),
        (["^", "x", "-1"], -2, 3, False),
        (["^", HALF, "-1"], 0, 0, True),
        (["^", HALF, "-1"], 4, 2, False),
        (["^", BELOW_ONE, "-1/3"], 1, 0, True),
        (["^", BELOW_ONE, "-1/3"], -7, 2, True),
        (["^", BELOW_ONE, "-1/3"], 9, 2, False),
        (["^", "2", "1/2"], 9, Fraction(3, 2), None),  # no root: nothing is asked of a number
    ],
)
def test_a_point_at_which_the_claim_is_undefined_is_a_counterexample(term, x, root, undefined):
    """Nothing times the term is zero wherever the term is defined."""
    of = {"variables": ["x"], "given": [], "claim": ["=", ["*", "0", term], "0"]}
    *facts, last = [fact for _, fact in _asserted(smt2(of))]
    at = {"x": Fraction(x), "root.1": Fraction(root)}
    met = all(value(fact, at) for fact in facts)
    assert met is (undefined is not None)
    if met:
        assert value(last, at) is undefined
    else:
        assert in_parts(last[1])[0] == []


def _asserted(script):
    return [command for command in parsed(script) if command[0] == "assert"]


@pytest.mark.parametrize("name", ["let", "as", "and", "true", "not", "ite", "abs", "match"])
def test_a_word_of_the_language_is_no_variable(name):
    """Solvers refuse ``(declare-const let Real)``.  Another variable keeps its name."""
    of = {"variables": [name, "x"], "given": [[">", name, "x"]], "claim": [">=", name, "0"]}
    _, *declared, given_, claim, _ = parsed(smt2(of))
    new = declared[0][1]
    assert declared == [["declare-const", each, "Real"] for each in (new, "x")]
    assert new not in (name, "x")
    assert not re.fullmatch(r"\w+", new)  # no other variable has such a name
    assert (given_[1], claim[1]) == ([">", new, "x"], ["not", [">=", new, "0.0"]])


def test_no_root_has_the_name_of_a_variable():
    """A script that declares a name twice is refused by every solver."""
    of = {"variables": ["root_1", "root_2"], "given": [[">", "root_1", "0"]],
          "claim": [">=", ["^", "root_1", "1/2"], "0"]}  # fmt: skip
    declared = [fact[1] for fact in parsed(smt2(of)) if fact[0] == "declare-const"]
    assert len(declared) == len({*declared}) == 3
