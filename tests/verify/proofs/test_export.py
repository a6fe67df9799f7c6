"""SMT-LIB scripts of proved statements: no solver finds a counterexample."""

import json

import pytest

from trials.checks import InvalidParameter
from verify.proofs.export import smt2
from verify.proofs.flattened import flattened, is_flat
from verify.proofs.shelf import SHELF

X = {"variables": ["x"], "given": [[">", "x", "0"]]}


def answer(statement):
    """What Z3 says of a statement's negation within two seconds."""
    z3 = pytest.importorskip("z3", reason="needs z3-solver, which only this test uses")
    solver = z3.Solver()
    solver.set("rlimit", 2_000_000)  # work, not time
    solver.from_string(smt2(statement))
    return str(solver.check())


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ([">=", ["+", "x", ["^", "x", "-1"]], "2"], "unsat"),
        ([">=", ["+", "x", ["^", "x", "-1"]], "21/10"], "sat"),
        ([">=", ["+", "1", "x"], ["*", "2", ["^", "x", "1/2"]]], "unsat"),
        ([">", ["+", "1", "x"], ["*", "2", ["^", "x", "1/2"]]], "sat"),
        (["=", ["max", "x", "-1"], "x"], "unsat"),
        (["=", ["min", "x", "1"], "x"], "sat"),
    ],
)
def test_a_script_says_what_the_statement_says(claim, expected):
    assert answer({**X, "claim": claim}) == expected


def test_no_proved_statement_has_a_counterexample():
    told = []
    for path in sorted(SHELF.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        statement = flattened(document["statement"], document["certificate"])[0]
        try:
            smt2(statement)
        except InvalidParameter:
            continue
        told.append((is_flat(document["statement"]), answer(statement)))
    assert sum(flat for flat, _ in told) >= 20
    assert sum(not flat for flat, _ in told) >= 15  # of vectors and sums
    assert "sat" not in {each for _, each in told}


@pytest.mark.parametrize("term", [["log", "x"], ["exp", "x"], ["^", "2", "x"]])
def test_a_logarithm_has_no_script(term):
    with pytest.raises(InvalidParameter, match="no form in SMT-LIB"):
        smt2({**X, "claim": [">=", term, "0"]})
