"""SMT-LIB scripts of proved statements: no solver finds a counterexample."""

import json

import pytest

from trials.checks import InvalidParameter
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
