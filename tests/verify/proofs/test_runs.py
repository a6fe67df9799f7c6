"""Statements about what a recursion reaches: what the checker accepts of them.

The registered ones are tried with those about vectors and sums, in `test_sums`.
"""

import pytest

from verify.proofs.checker import Rejected, check

SUM = {"step": "sum"}


def less(term):
    return ["*", "-1", term]


def more(term):
    return ["+", term, "1"]


def stated(claim, start, steps, *given, variables=(), numbers=("x",), later=("y",), **others):
    """A statement about the numbers after T steps of a run."""
    run = {"numbers": list(numbers), "later": list(later), "start": start, "steps": steps}
    return {"variables": list(variables), "given": list(given), "runs": {"T": run},
            "claim": claim} | others  # fmt: skip


def induct(term, step=SUM, then=SUM, relation=">=", start=SUM):
    return {"step": "induct", "of": "T", "term": term, "relation": relation,
            "then": [start, step, then]}  # fmt: skip


def total(*parts):
    return {"step": "sum", "parts": ["+", *parts]}


def equal(a, b):
    return [[">=", a, b], [">=", b, a]]


COUNTED = {"start": equal("x", "0"), "steps": equal("y", more("x"))}
AHEAD, BEHIND = ["+", "x", less("T")], ["+", "T", less("x")]
ONE_AHEAD, ONE_BEHIND = ["+", "y", less(more("x"))], ["+", more("x"), less("y")]
COUNTS = (  # x = T, in both directions
    induct(AHEAD, total(ONE_AHEAD, AHEAD)),
    induct(BEHIND, total(ONE_BEHIND, BEHIND)),
)
SHARE = ([">=", "q", "0"], [">=", "1", "q"])
BELOW, SHRUNK = ["+", "5", less("x")], ["+", ["*", "q", "x"], less("y")]
POWER = ["*", "a", ["^", "q", "T"]]
SUMMED = ["*", ["+", "1", less(["^", "q", "T"])], ["^", ["+", "1", less("q")], "-1"]]
LIMIT = ["+", POWER, ["*", "b", SUMMED]]

TRUE = {
    "a limit that a step keeps": (
        stated([">=", "5", "x"], [[">=", "5", "x"]], [[">=", ["*", "q", "x"], "y"]], *SHARE,
               variables=["q"]),
        induct(BELOW, total(SHRUNK, ["*", "q", BELOW], ["*", "5", ["+", "1", less("q")]])),
    ),
    "a power of the number of steps": (
        stated([">=", POWER, "x"], [[">=", "a", "x"]], [[">=", ["*", "q", "x"], "y"]],
               [">", "q", "0"], variables=["a", "q"]),
        induct(["+", POWER, less("x")], total(SHRUNK, ["*", "q", ["+", POWER, less("x")]])),
    ),
    "a power and a geometric sum": (
        stated([">=", LIMIT, "x"], [[">=", "a", "x"]], [[">=", ["+", ["*", "q", "x"], "b"], "y"]],
               [">", "q", "0"], [">", "1", "q"], variables=["a", "b", "q"]),
        induct(["+", LIMIT, less("x")],
               total(["+", SHRUNK, "b"], ["*", "q", ["+", LIMIT, less("x")]])),
    ),
    "a number of steps": (
        stated(["=", "x", "T"], **COUNTED),
        {"step": "both", "then": [COUNTS[0], COUNTS[1]]},
    ),
    "one relation that another one needs": (
        stated([">=", "1", "x"], equal("x", "1"), equal("y", ["*", "q", "x"]), *SHARE,
               variables=["q"]),
        induct("x", total(["+", "y", less(["*", "q", "x"])], ["*", "q", "x"]), induct(
            ["+", "1", less("x")],
            total(SHRUNK, ["*", "x", ["+", "1", less("q")]], ["+", "1", less("x")])),
            start=total(["+", "x", "-1"], "1")),
    ),
    "a strict relation": (
        stated([">", "x", "0"], [[">", "x", "0"]], [[">", "y", "x"]]),
        induct("x", total(["+", "y", less("x")], "x"), relation=">"),
    ),
    "what each step has behind it": (
        stated([">=", "x", "0"], equal("x", "0"), equal("y", ["+", "x", "T"])),
        induct("x", total(["+", "y", less(["+", "x", "T"])], "x", "T")),
    ),
    "no step below zero": (stated([">=", "T", "0"], [], []), SUM),
}  # fmt: skip

_CUBED = [">=", ["^", ["+", "T", less("x")], "3"], ["^", "T", "3"]]
_GROWN = {"step": "monotone", "x": "x", "start": "0", "then": [SUM, induct(
    AHEAD, total(ONE_AHEAD, AHEAD), induct(
        BEHIND, total(ONE_BEHIND, BEHIND),
        {"step": "sum", "parts": ["*", "3", BEHIND, AHEAD]}))]}  # fmt: skip
_TWO = {"numbers": ["x", "z"], "later": ["y", "w"]}
_ADDED = [*equal("y", ["+", "x", "2"]), *equal("w", ["+", "z", "x"])]

FALSE = {
    "a limit that the start exceeds": (
        stated([">=", "4", "x"], [[">=", "5", "x"]], [[">=", "x", "y"]]),
        induct(["+", "4", less("x")], total(["+", "x", less("y")], ["+", "4", less("x")])),
    ),
    "a limit that a step exceeds": (
        stated([">=", "5", "x"], [[">=", "5", "x"]], [[">=", more("x"), "y"]]), induct(BELOW)),
    "a start that is not looked at": (
        stated([">=", "x", "0"], [], [[">=", "y", "x"]]),
        induct("x", total(["+", "y", less("x")], "x")),
    ),
    "a number of steps that does not grow": (stated([">=", "0", "T"], [], []),
                                             induct(less("T"), less("T"))),
    "a number that does not change": (
        stated([">=", "0", "x"], equal("x", "0"), equal("y", more("x"))), induct(less("x"))),
    "the last number of steps in each of them": (
        stated([">=", "x", "0"], equal("x", "0"), equal("y", ["+", "x", "T", "-3"]),
               [">=", "T", "3"]),
        induct("x", total(["+", "y", less(["+", "x", "T", "-3"])], "x", ["+", "T", "-3"])),
    ),
    "the last number in each step": (
        stated([">=", "z", "0"], [*equal("x", "-9"), *equal("z", "0")], _ADDED, [">=", "x", "1"],
               **_TWO),
        induct("z", total(["+", "w", less(["+", "z", "x"])], "z", ["+", "x", "-1"], "1")),
    ),
    "a case of the last number in each step": (
        stated([">=", ["max", "x", "0"], "5"], equal("x", "0"), equal("y", ["*", "2", "x"])),
        {"step": "cases", "on": ["+", "x", "-5"], "then": [SUM, induct(["+", "x", "-5"])]},
    ),
    "a number on its way to its value": (stated(_CUBED, **COUNTED),
                                         induct("x", total(ONE_AHEAD, "x", "1"), _GROWN)),
    "a step that is given at the end": (
        stated([">=", "x", "1"], equal("x", "0"), [[">=", "y", "1"]]), SUM),
    "a later number at the end": (
        stated([">=", "x", "1"], equal("x", "0"), [[">=", "y", "1"]]),
        induct(["+", "y", "-1"], SUM, SUM),
    ),
    "a relation that is given before it is proved": (
        stated([">=", "x", "1"], equal("x", "0"), []),
        induct(["+", "x", "-1"], total(["+", "x", "-1"])),
    ),
    "one side of an equation": (
        {"variables": ["x"], "given": [[">=", "x", "0"]], "claim": ["=", "x", "0"]},
        {"step": "both", "then": [SUM, SUM]},
    ),
    "the other side of an equation": (
        {"variables": ["x"], "given": [[">=", "0", "x"]], "claim": ["=", "x", "0"]},
        {"step": "both", "then": [SUM, SUM]},
    ),
    "both sides of what is no equation": (
        {"variables": [], "given": [], "claim": [">", "0", "0"]},
        {"step": "both", "then": [SUM, SUM]},
    ),
}  # fmt: skip

_KEPT = [[">=", "y", "x"]]
_TRUE_OF_X = [">=", "x", "0"], [[">=", "x", "0"]]
_BY_STEPS = induct("x", total(["+", "y", less("x")], "x"))
#: Statements that mean nothing.
REFUSED = {
    "a number that is its own later one": (
        stated(*_TRUE_OF_X, [[">=", "x", "0"]], later=["x"]), induct("x")),
    "a variable that is the number of steps": (
        stated(*_TRUE_OF_X, _KEPT, variables=["T"]), _BY_STEPS),
    "a variable that is a later number": (
        stated(*_TRUE_OF_X, _KEPT, variables=["y"]), _BY_STEPS),
    "an unknown relation at the start": (stated([">=", "1", "0"], [["<", "x", "0"]], _KEPT), SUM),
    "an unknown relation of a step": (stated([">=", "1", "0"], [], [["!=", "y", "x"]]), SUM),
    "a number without a later one": (
        stated([">=", "1", "0"], [], [], numbers=["x", "z"]), SUM),
    "a later number that is a constant": (
        stated(*_TRUE_OF_X, [], later=["1"]), induct("x")),
    "vectors beside a run": (stated([">=", "1", "0"], [], [], vectors=[]), SUM),
    "an unknown relation by induction": (
        stated(*_TRUE_OF_X, _KEPT), {**_BY_STEPS, "relation": "<"}),
    "the number of steps at the start": (
        stated([">=", "x", "0"], equal("x", "T"), _KEPT), _BY_STEPS),
    "a run of another name": (stated(*_TRUE_OF_X, _KEPT), {**_BY_STEPS, "of": "x"}),
}  # fmt: skip
ALL_FALSE = FALSE | REFUSED


@pytest.mark.parametrize("name", TRUE)
def test_a_proof_of_a_true_statement_is_accepted(name):
    check(*TRUE[name])


@pytest.mark.parametrize("name", ALL_FALSE)
def test_a_proof_of_a_false_statement_is_refused(name):
    with pytest.raises(Rejected):
        check(*ALL_FALSE[name])


def test_a_substitution_ends_what_is_known_of_a_run():
    """A new name could otherwise be that of a later number."""
    statement, proof = TRUE["a strict relation"]
    for step in (
        {"step": "let", "x": "T", "new": "n", "kind": "shift", "by": "0"},
        {"step": "name", "term": ["exp", "x"], "new": "e"},
    ):
        with pytest.raises(Rejected):
            check(statement, {**step, "then": [proof]})
