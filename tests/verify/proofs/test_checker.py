"""The checker accepts proofs of true statements, and no proof of a false one."""

import ast
import io
import sys
import tokenize
from pathlib import Path

import pytest

from verify.proofs import algebra, checker, limits, runs, sums
from verify.proofs.checker import Rejected, check, digest

SUM = {"step": "sum"}
X = [">", "x", "0"]
Y = [">=", "y", "0"]


def stated(claim, *given):
    """A statement about the variables x and y."""
    return {"variables": ["x", "y"], "given": list(given), "claim": claim}


def lemma(says, of):
    return {"step": "lemma", "says": says, "of": of, "then": [SUM]}


def let(kind, by, new="z", x="x", then=SUM):
    return {"step": "let", "x": x, "new": new, "kind": kind, "by": by, "then": [then]}


def boxes(splits, order=("x",)):
    return {"step": "boxes", "splits": splits, "order": list(order)}


def inverse(term):
    return ["^", term, "-1"]


def less(term):
    return ["*", "-1", term]


INNER = ([">=", "x", "1/4"], [">=", "3/4", "x"])
UNIT = ([">=", "x", "0"], [">=", "1", "x"])
HALF, THIRD = ["^", "x", "1/2"], ["^", "x", "1/3"]
#: A chi-square variable of six degrees exceeds 4 with the probability 5 exp(-2) = .6767.
SIX, OF_X = ["chi-square", "6", "4"], ["chi-square", "x", "1"]

TRUE = {
    "a tail from below": (stated([">=", SIX, "6766/10000"]), boxes(".", ())),
    "a tail from above": (stated([">=", "6767/10000", SIX]), boxes(".", ())),
    "a tail in a box": (
        stated([">=", ["chi-square", "6", "x"], "1/2"], *INNER),
        boxes("."),
    ),
    "a tail less itself": (
        stated([">=", ["+", OF_X, less(OF_X)], "0"], X),
        {"step": "name", "term": OF_X, "new": "z", "then": [SUM]},
    ),
    "the root of nothing": (stated(["=", ["^", ["+", "x", less("x")], "3/2"], "0"]), SUM),
    "the square of a root": (stated(["=", ["*", HALF, HALF], "x"], X), SUM),
    "the third power of a root": (stated(["=", ["^", HALF, "3"], ["*", "x", HALF]], X), SUM),
    "the third power of a third root": (stated(["=", ["*", THIRD, THIRD, THIRD], "x"], X), SUM),
    "the logarithm of a square": (
        stated(["=", ["log", ["^", "x", "2"]], ["*", "2", ["log", "x"]]], X),
        SUM,
    ),
    "a maximum that a later relation decides": (
        stated([">=", "x", "2"], [">=", ["max", "x", "y"], "2"], [">=", "x", "y"]),
        SUM,
    ),
    "a root of a product whose factors are known later": (
        stated(
            [">=", ["*", HALF, ["^", "y", "1/2"]], "2"],
            [">=", ["^", ["*", "x", "y"], "1/2"], "2"],
            X,
            Y,
        ),
        SUM,
    ),
    "a sum beside a given sign that says nothing": (
        stated([">", ["exp", "x"], "0"], [">=", ["exp", "x"], "0"]),
        SUM,
    ),
    "a power by its logarithm": (
        stated(["=", ["^", "x", "y"], ["exp", ["*", "y", ["log", "x"]]]], X),
        SUM,
    ),
    "a root by squares": (
        stated(
            [">=", ["+", "x", "y"], ["^", ["+", ["^", "x", "2"], ["^", "y", "2"]], "1/2"]], X, Y
        ),
        {
            "step": "square",
            "larger": ["+", "x", "y"],
            "smaller": ["^", ["+", ["^", "x", "2"], ["^", "y", "2"]], "1/2"],
            "then": [SUM, SUM],
        },
    ),
    "a square": (stated([">=", ["^", "x", "2"], "0"]), SUM),
    "a square by a sum": (
        stated([">=", ["+", ["^", "x", "2"], "1"], ["*", "2", "x"]]),
        {**SUM, "parts": ["^", ["+", "x", "-1"], "2"]},
    ),
    "a multiple": (
        stated([">=", ["+", "x", inverse("x")], "2"], X),
        {**SUM, "factor": "x", "parts": ["^", ["+", "x", "-1"], "2"]},
    ),
    "a quotient by what is above zero": (stated(["=", ["*", "x", inverse("x")], "1"], X), SUM),
    "the root of a square": (stated(["=", ["^", ["^", "x", "2"], "1/2"], "x"], X), SUM),
    "the root of a square of what is negative": (
        stated(["=", ["^", ["^", "x", "2"], "1/2"], less("x")], [">", "0", "x"]),
        SUM,
    ),
    "the root of a product": (
        stated(
            ["=", ["^", ["*", "x", "y"], "1/2"], ["*", ["^", "x", "1/2"], ["^", "y", "1/2"]]], X, Y
        ),
        SUM,
    ),
    "the logarithm of a product": (
        stated(["=", ["log", ["*", "6", "x"]], ["+", ["log", "2"], ["log", "3"], ["log", "x"]]], X),
        SUM,
    ),
    "the power of a logarithm": (stated(["=", ["exp", ["log", "x"]], "x"], X), SUM),
    "a sign without positive factors": (
        stated([">=", "y", "0"], X, [">=", ["*", "x", "y"], "0"]),
        SUM,
    ),
    "a sign without a square that is not zero": (
        stated([">", "y", "0"], [">", ["*", ["^", ["+", "x", "-1"], "2"], "y"], "0"]),
        SUM,
    ),
    "what is at least zero and not zero": (
        stated([">", "x", "0"], [">=", "x", "0"], [">", ["*", "x", "y"], "0"]),
        SUM,
    ),
    "the larger one": (stated(["=", ["max", "x", "y"], "x"], [">=", "x", "y"]), SUM),
    "a shift": (stated([">=", ["^", "x", "3"], "1"], [">=", "x", "1"]), let("shift", "1")),
    "an exponential": (stated([">=", ["exp", "x"], ["+", "1", "x"]]), lemma("exp", "x")),
    "a logarithm": (stated([">=", ["+", "x", "-1"], ["log", "x"]], X), lemma("log", "x")),
    "growth": (
        stated([">=", ["log", ["+", "1", "x"]], ["*", "x", inverse(["+", "1", "x"])]], UNIT[0]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "a cover with roots": (
        stated([">=", "2", ["+", ["^", "x", "1/2"], ["^", ["+", "1", less("x")], "1/3"]]], *INNER),
        boxes("."),
    ),
    "a cover": (stated([">=", "11/10", ["*", "x", ["exp", less("x")]]], *UNIT), boxes("0..")),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_proof_is_accepted(name):
    check(*TRUE[name])


#: Statements that are false somewhere, or undefined, with the best that a cheat could write.
FALSE = {
    "a tail above its value": (stated([">=", SIX, "6768/10000"]), boxes(".", ())),
    "a tail of negative degrees": (stated([">=", "1", ["chi-square", "-1", "1"]]), boxes(".", ())),
    "a tail of what may be no law": (
        stated([">=", ["+", OF_X, less(OF_X)], "0"]),
        {"step": "name", "term": OF_X, "new": "z", "then": [SUM]},
    ),
    "a tail as a polynomial": (stated([">=", ["chi-square", "2", "3"], "3"]), SUM),
    "a strict product": (stated([">", ["*", "x", "y"], "0"], X, Y), SUM),
    "one over what is negative": (stated([">=", inverse("x"), "0"], [">", "0", "x"]), SUM),
    "a variable that is named twice": (
        {"variables": ["x", "x"], "given": [], "claim": [">=", "1", "0"]},
        SUM,
    ),
    "a name that is given": (
        stated([">=", ["+", "x", "1"], "0"], Y),
        {"step": "name", "term": ["+", "x", "1"], "new": "y", "then": [SUM]},
    ),
    "the root of nothing": (stated(["=", ["^", "0", "1/2"], "1"]), SUM),
    "one over the root of nothing": (
        stated([">=", ["^", ["+", "x", less("x")], "-1/2"], "1"]),
        SUM,
    ),
    "nothing is at least one, by the two values of a root of nothing": (
        stated([">=", "0", "1"]),
        {
            "step": "cut",
            "relation": ">=",
            "term": less(["^", "0", "1/2"]),
            "then": [
                boxes(".", ()),
                {
                    "step": "cut",
                    "relation": ">=",
                    "term": ["+", ["^", "0", "1/2"], "-1"],
                    "then": [
                        SUM,
                        {
                            "step": "name",
                            "term": ["^", "0", "1/2"],
                            "new": "n",
                            "then": [{**SUM, "parts": ["+", ["+", "n", "-1"], less("n")]}],
                        },
                    ],
                },
            ],
        },
    ),
    "a cut of one goal": (
        stated([">=", "x", "0"]),
        {"step": "cut", "relation": ">=", "term": "x", "then": [SUM]},
    ),
    "growth from before what is given": (
        stated([">=", ["+", ["^", "x", "2"], ["*", "-8", "x"], "1"], "0"], X, [">=", "x", "4"]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "a cover of an equation that is never met": (
        stated(["=", ["+", "x", "1"], "0"], *UNIT),
        boxes("."),
    ),
    "a cover of an extremum": (stated([">=", "1/4", ["max", "x", "0"]], *UNIT), boxes(".")),
    "growth that is too fast by a power": (
        stated([">=", ["+", "1", less("x")], inverse(["+", "1", "x"])], UNIT[0]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "growth of a logarithm": (
        stated([">=", ["log", ["+", "1", "x"]], "x"], UNIT[0]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "growth of an exponential": (
        stated([">=", ["+", "1", "x"], ["exp", "x"]], UNIT[0]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "growth of an exponential that falls": (
        stated([">=", ["exp", less("x")], "1"], UNIT[0]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "a cover of square roots": (
        stated([">=", "1/2", ["^", "x", "1/2"]], [">=", "x", "1/4"], [">=", "1/2", "x"]),
        boxes("."),
    ),
    "a cover of the larger one": (
        stated([">=", "11/10", ["max", "x", ["*", "2", "x"]]], *UNIT),
        boxes("."),
    ),
    "a cover of the smaller one": (stated([">=", ["min", "1", "x"], "1/2"], *UNIT), boxes(".")),
    "a sign without a negative factor": (
        stated([">=", "y", "0"], [">", "1", "x"], [">=", ["*", ["+", "x", "-1"], "y"], "0"]),
        SUM,
    ),
    "a square from its square alone": (
        stated([">=", "x", "y"], [">=", ["^", "x", "2"], ["^", "y", "2"]]),
        {"step": "square", "larger": "x", "smaller": "y", "then": [SUM, SUM]},
    ),
    "a square from one of two goals": (
        stated([">=", "x", "y"], [">=", ["^", "x", "2"], ["^", "y", "2"]]),
        {"step": "square", "larger": "x", "smaller": "y", "then": [SUM]},
    ),
    "squares of other terms": (
        stated([">=", "x", "y"], X),
        {"step": "square", "larger": "x", "smaller": "0", "then": [SUM, SUM]},
    ),
    "a strict claim from weak squares": (
        stated([">", "x", "y"], [">=", "x", "y"], Y),
        {"step": "square", "larger": "x", "smaller": "y", "then": [SUM, SUM]},
    ),
    "a sum that is another": (
        stated([">=", "x", "0"]),
        {**SUM, "parts": ["^", "y", "2"]},
    ),
    "a factor below zero": (
        stated([">=", "x", "1"], X),
        {**SUM, "factor": "-1", "parts": ["+", "1", less("x")]},
    ),
    "a factor zero": (stated([">=", "x", "1"], X), {**SUM, "factor": "0", "parts": "0"}),
    "a strict claim of a square": (stated([">", ["^", "x", "2"], "0"]), SUM),
    "an odd power": (stated([">=", ["^", "x", "3"], "0"]), SUM),
    "a product of unknown signs": (stated([">=", ["*", "x", "y"], "0"], X), SUM),
    "a difference": (stated([">=", "x", "y"], X, Y), SUM),
    "an equation": (stated(["=", "x", "y"], [">=", "x", "y"]), SUM),
    "a quotient by zero": (stated(["=", ["*", "x", inverse("x")], "1"]), SUM),
    "a quotient by what may be zero": (
        stated(["=", ["*", "x", inverse("x")], "1"], [">=", "x", "0"]),
        SUM,
    ),
    "nothing times what is undefined": (stated(["=", ["*", "0", inverse("x")], "0"]), SUM),
    "a logarithm of nothing": (stated(["=", ["+", ["log", "x"], less(["log", "x"])], "0"]), SUM),
    "the root of a square below zero": (stated(["=", ["^", ["^", "x", "2"], "1/2"], "x"]), SUM),
    "a root below zero": (stated([">=", ["^", "x", "1/2"], "0"]), SUM),
    "the root of a product of negatives": (
        stated(
            ["=", ["^", ["*", "x", "y"], "1/2"], ["*", ["^", "x", "1/2"], ["^", "y", "1/2"]]],
            [">=", ["*", "x", "y"], "0"],
        ),
        SUM,
    ),
    "one over a root that may be zero": (
        stated([">=", ["^", "x", "-1/2"], "0"], [">=", "x", "0"]),
        SUM,
    ),
    "a third root below zero": (stated(["=", ["+", THIRD, less(THIRD)], "0"]), SUM),
    "a strict claim of a root that may be zero": (stated([">", HALF, "0"], [">=", "x", "0"]), SUM),
    "the power of the logarithm of a negative": (stated(["=", ["exp", ["log", "x"]], "x"]), SUM),
    "a power of a negative": (stated(["=", ["^", "x", "y"], ["^", "x", "y"]]), SUM),
    "the sign of a quotient": (
        stated([">=", "y", "0"], [">=", ["*", "y", inverse("x")], "0"]),
        SUM,
    ),
    "a sign without a square that may be zero": (
        stated([">=", "y", "0"], [">=", ["*", ["^", ["+", "x", "-1"], "2"], "y"], "0"]),
        SUM,
    ),
    "a strict sign from a weak one": (stated([">", "x", "0"], [">=", "x", "0"]), SUM),
    "the smaller one": (stated(["=", ["min", "x", "y"], "x"], [">=", "x", "y"]), SUM),
    "an extremum without order": (stated(["=", ["max", "x", "y"], "x"]), SUM),
    "a shift without a limit": (stated([">=", "x", "1"]), let("shift", "1")),
    "a shift by itself": (stated([">=", "x", "1"], X), let("shift", "x")),
    "a shift onto another variable": (stated([">=", "x", "y"], Y), let("shift", "0", new="y")),
    "a scale that may be zero": (
        stated([">=", "x", "0"], [">=", "y", "0"], [">=", ["*", "x", "y"], "0"]),
        let("scale", "y"),
    ),
    "a scale below zero": (stated([">=", "1", "x"], [">=", "1", less("x")]), let("scale", "-1")),
    "a power of what may be below zero": (stated([">=", "x", "0"]), let("power", "2")),
    "a power below one": (stated([">=", "x", "1"], X), let("power", "0")),
    "a power of e that is not": (stated([">", "x", "0"], [">=", "x", "0"]), let("exp", "0")),
    "a substitution of no variable": (stated([">=", "x", "0"]), let("shift", "0", x="w")),
    "a substitution of no kind": (stated([">=", "x", "0"]), let("square", "2")),
    "a name that is taken": (
        stated([">=", "x", "y"], Y),
        {"step": "name", "term": ["+", "x", "1"], "new": "y", "then": [SUM]},
    ),
    "a name of a number": (
        stated([">=", "x", "2"], [">=", ["^", "x", "2"], "4"]),
        {"step": "name", "term": "2", "new": "z", "then": [SUM]},
    ),
    "a name of what is undefined": (
        stated([">=", ["+", ["log", "x"], "1", less(["log", "x"])], "0"]),
        {"step": "name", "term": ["log", "x"], "new": "z", "then": [SUM]},
    ),
    "one case of two": (
        stated([">=", "x", "0"]),
        {"step": "cases", "on": "x", "then": [SUM]},
    ),
    "a case that fails": (
        stated([">=", "x", "0"]),
        {"step": "cases", "on": "x", "then": [SUM, SUM]},
    ),
    "a cut without proof": (
        stated([">=", "x", "0"]),
        {"step": "cut", "relation": ">=", "term": "x", "then": [SUM, SUM]},
    ),
    "a cut of no relation": (
        stated([">=", "x", "0"]),
        {"step": "cut", "relation": "true", "term": "x", "then": [SUM, SUM]},
    ),
    "a lemma of a negative": (
        stated([">=", ["+", "x", "-1"], ["log", "x"]]),
        lemma("log", "x"),
    ),
    "a lemma turned": (stated([">=", ["+", "1", "x"], ["exp", "x"]]), lemma("exp", "x")),
    "a lemma of no name": (stated([">=", "x", "0"]), lemma("sin", "x")),
    "growth from above": (
        stated([">=", "x", "1"]),
        {"step": "monotone", "x": "x", "start": "1", "then": [SUM, SUM]},
    ),
    "growth without a rise": (
        stated([">=", ["*", "x", ["+", "1", less("x")]], "0"], UNIT[0]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "growth where only the end is known": (
        # 4 <= x there, and (x - 2)(x - 3) at x = 0 is 6, but the derivative changes its sign
        stated([">=", ["+", ["^", "x", "2"], ["*", "-5", "x"]], "0"], [">=", "x", "4"]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "growth from itself": (
        stated([">=", "x", "1"], X),
        {"step": "monotone", "x": "x", "start": "x", "then": [SUM, SUM]},
    ),
    "growth of an equation": (
        stated(["=", "x", "0"], UNIT[0]),
        {"step": "monotone", "x": "x", "start": "0", "then": [SUM, SUM]},
    ),
    "a cover that ends early": (stated([">=", "1/4", "x"], *UNIT), boxes("0.")),
    "a cover of half": (stated([">=", "1/2", "x"], *UNIT), boxes("0.")),
    "a cover that goes on": (stated([">=", "2", "x"], *UNIT), boxes("..")),
    "a cover without limits": (stated([">=", "2", "x"], X), boxes(".")),
    "a cover of what is given elsewhere": (stated([">=", "2", "y"], *UNIT), boxes(".", ["y"])),
    "a cover without the variable": (stated([">=", "2", "y"], *UNIT), boxes(".", ["x"])),
    "a cover of what is undefined": (stated([">=", "9", ["^", "x", "-1"]], *UNIT), boxes(".")),
    "a cover with a touching end": (stated([">", "1", "x"], *UNIT), boxes("0..")),
    "a cover where what is given is zero": (
        stated([">=", "0", "x"], *UNIT, [">=", ["*", "0", "x"], "0"]),
        boxes("."),
    ),
    "a cover of an equation": (stated(["=", "x", "x"], *UNIT), boxes(".")),
    "a cover where the power zero hides what is undefined": (
        stated([">=", ["^", ["log", "x"], "0"], "1"], [">=", "x", "-1"], [">=", "1", "x"]),
        boxes("."),
    ),
    "a substitution that takes the name of no variable": (
        stated([">=", "w", "0"], X),
        let("shift", "0", new="w"),
    ),
    "a name that is of no variable yet": (
        stated([">=", "w", "0"], [">=", ["^", "x", "2"], "0"]),
        {"step": "name", "term": ["^", "x", "2"], "new": "w", "then": [SUM]},
    ),
    "a step of no name": (stated([">=", "x", "0"]), {"step": "trust me"}),
    "no step": (stated([">=", "x", "0"]), {}),
    "a step too many": (stated([">=", ["^", "x", "2"], "0"]), {**SUM, "then": [SUM]}),
    "an argument too many": (stated([">=", ["^", "x", "2"], "0"]), {**SUM, "sign": ">="}),
    "a text": (stated([">=", "x", "0"]), "proved"),
    "a relation that is none": (stated(["<>", "x", "0"]), SUM),
    "a variable of no statement": (stated([">=", ["^", "w", "2"], "0"]), SUM),
    "an operation of no name": (stated([">=", ["abs2", "x"], "0"]), SUM),
    "an operation of two terms": (stated([">=", ["exp", "x", "y"], "0"]), SUM),
    "a number that is none": (stated([">=", "1e9", "0"]), SUM),
    "a power too large": (stated([">=", ["^", ["+", "x", "y"], "1000"], "0"]), SUM),
}


@pytest.mark.parametrize("name", FALSE)
def test_no_false_statement_is_proved(name):
    with pytest.raises(Rejected):
        check(*FALSE[name])


def test_a_variable_is_named_once():
    with pytest.raises(Rejected):
        check({"variables": ["x", "x"], "given": [], "claim": [">=", "1", "0"]}, SUM)


def test_the_hash_changes_with_the_statement():
    statement = stated([">=", "x", "0"], X)
    assert digest(statement) == digest({**statement})
    assert digest(statement) != digest({**statement, "given": []})


def code_lines(source):
    """The numbers of the lines of code, without comments and docstrings."""
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*silent, tokenize.ENDMARKER):
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node):
            code -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return code


@pytest.mark.parametrize(
    "module", [checker, algebra, sums, runs, limits], ids=lambda own: own.__name__
)
def test_the_checker_is_small_and_needs_no_other_module(module):
    """Its five modules need python-flint and the standard library."""
    source = Path(module.__file__).read_text(encoding="utf-8")
    modules = {
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    own = {f"verify.proofs.{name}" for name in ("algebra", "sums", "runs", "limits")}
    allowed = {*sys.stdlib_module_names, "flint", *own}
    assert {
        name if name.startswith("verify") else name.split(".")[0] for name in modules
    } <= allowed
    assert len(code_lines(source)) <= (400 if module is algebra else 250)
