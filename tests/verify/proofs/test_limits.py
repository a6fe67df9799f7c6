"""A crafted certificate is refused before the checker does the work that it asks for."""

import math
from fractions import Fraction
from string import ascii_lowercase
from types import SimpleNamespace

import pytest
import sympy as sp

from tests.verify.proofs.test_checker import SIX, SUM, boxes, lemma, less, stated
from verify.proofs import checker, failures, limits, prover, shelf
from verify.proofs.algebra import Algebra, enclose
from verify.proofs.checker import check
from verify.proofs.limits import TooLarge, bound, charge, limited, nodes
from verify.proofs.propositions import Proposition
from verify.proofs.refuting import check_failure

#: Two primes of 46 and 47 digits.  Their product has 92.
SMALLER, LARGER = 10**45 + 9, 10**46 + 121
NUMBER = SMALLER * LARGER
FREE = {"variables": ["x"], "given": [], "claim": [">=", ["^", "x", "2"], "0"]}


def nested(step, n, end=SUM):
    """A chain of ``n`` steps."""
    for i in reversed(range(n)):
        end = step(i, end)
    return end


def claimed(term, variables, *given):
    return {"variables": list(variables), "given": list(given), "claim": [">=", term, "0"]}


def doubled(i, then):
    """x_i becomes x_{i+1} + x_{i+1} + y_i, and so does each one in the term."""
    by = ["+", f"x{i + 1}", f"x{i + 1}"]
    return {"step": "let", "x": f"x{i}", "new": f"y{i}", "kind": "shift", "by": by, "then": [then]}


def grown(_, then):
    return {"step": "monotone", "x": "x", "start": "0", "then": [SUM, then]}


def parted(i, then):
    return {"step": "cases", "on": ["+", "x", str(i)], "then": [then, SUM]}


TOWER = ["exp", ["exp", ["exp", ["*", "x", "x", "x"]]]]
MEMBER = ["*", *[["+", "w", "a"]] * 30]
FAMILY = {"F": {"variables": ["w"], "vectors": [], "given": []}}
LARGE = {
    "a power of 26 names": (
        claimed(["^", ["+", *ascii_lowercase], "64"], ascii_lowercase),
        SUM,
        "the number of terms of a power is above 2,500",
    ),
    "a power of a power of a power of a number": (
        stated([">=", ["^", ["^", ["^", "12345678901234567", "64"], "64"], "64"], "0"]),
        SUM,
        "the bits of a power is above 10,000",
    ),
    "a product of many numbers": (
        stated([">=", ["*", *(str(10**299 + i) for i in range(20))], "0"]),
        SUM,
        "the bits of a number is above 10,000",
    ),
    "a degree": (
        stated([">=", ["^", ["^", "x", "16"], "17"], "0"]),
        SUM,
        "the degree of a power is above 256",
    ),
    "a product of two sums of 150 terms": (
        claimed(
            ["*", *(["+", *(f"{x}{i}" for i in range(75)), "1"] for x in "ab"),
             ["+", *(f"{x}{i}" for i in range(5) for x in "ab")]],
            [f"{x}{i}" for i in range(75) for x in "ab"],
        ),
        SUM,
        "the number of terms is above 2,500",
    ),
    "40 substitutions that double a term": (
        claimed("x0", [f"x{i}" for i in range(41)]),
        nested(doubled, 40),
        "the size of a goal is above 16,000",
    ),
    "ten derivatives of derivatives": (
        claimed(TOWER, "x", [">=", "x", "0"]),
        nested(grown, 10),
        "the check is more work than any certificate needs",
    ),
    "the derivative of a product of 130 factors": (
        claimed(["*", *[["exp", "x"]] * 130], "x", [">=", "x", "0"]),
        nested(grown, 1),
        "the size of a goal is above 16,000",
    ),
    "the derivative of a product of 200 factors": (
        claimed(["*", *["x"] * 200], "x", [">=", "x", "0"]),
        nested(grown, 1),
        "the size of a derivative is above 22,000",
    ),
    "a cover of a large claim": (
        claimed(["+", *[TOWER] * 500], "x", [">=", "x", "0"], [">=", ["+", "1", less("x")], "0"]),
        boxes("."),
        "the size of a claim with its derivatives is above 16,000",
    ),
    "many variables": (
        claimed("1", [f"x{i}" for i in range(191)]),
        SUM,
        "the number of variables is above 190",
    ),
    "a polynomial in a member that is written as a term": (
        {**claimed(["sum", "F", MEMBER], "a"), "sums": FAMILY},
        SUM,
        "the size of a term is above 16,000",
    ),
    "a high power of a member": (
        {**claimed(["sum", "F", ["^", ["^", ["^", "w", "4"], "4"], "4"]], "a"), "sums": FAMILY},
        SUM,
        "the numbers of a member in a product is above 40",
    ),
    "a polynomial that would be factored": (
        claimed("1", "xyz", [">=", ["+", ["^", ["+", "x", "y", "z", "1"], "15"], "1"], "0"]),
        SUM,
        "the number of terms to factor is above 700",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_what_is_too_large_is_refused_with_little_work(name, monkeypatch):
    """A fiftieth of what a check may do is enough to refuse it, and one line says why."""
    monkeypatch.setattr(checker, "limited", lambda: limited(limits.WORK // 50))
    statement, certificate, told = LARGE[name]
    with pytest.raises(TooLarge) as caught:
        check(statement, certificate)
    assert str(caught.value) == f"too large: {told}"


def test_no_power_is_computed_whose_terms_may_be_too_many():
    """(a + ... + e)^10 has 1,001 terms, and with a power more than 2,500 at the exponent 14."""
    algebra = Algebra("abcde", ())
    total = sum(algebra.gens[1:5], algebra.gens[0])
    for e in (2, 5, 10):
        power = algebra.raised(total, e)
        assert len(power) == math.comb(4 + e, 4)
        assert power == total**e
    assert math.comb(4 + 13, 4) <= limits.TERMS < math.comb(4 + 14, 4)
    assert len(algebra.raised(total, 13)) == math.comb(17, 4)
    with pytest.raises(TooLarge, match="terms of a power"):
        algebra.raised(total, 14)


def test_a_power_of_one_variable_has_at_most_a_term_for_each_degree():
    """Thirty ways to draw from five terms would be 46,376, but the degree is 120."""
    algebra = Algebra("x", ())
    x = algebra.gens[0]
    power = algebra.raised(1 + x + x**2 + x**3 + x**4, 30)
    assert len(power) == 121


def test_a_number_is_split_by_small_primes_only():
    """What is left is one factor of a logarithm, or of a root, of which all that holds is known."""
    algebra = Algebra("x", ())
    found = algebra.split(algebra.one * (12 * NUMBER), algebra.one * 35, ">")
    assert sorted((int(str(m)), times) for m, times in found) == [
        (2, 2), (3, 1), (5, -1), (7, -1), (NUMBER, 1)
    ]  # fmt: skip


def log(m):
    return ["log", str(m)]


def root(m):
    return ["^", str(m), "1/2"]


TRUE = {
    "log N <= N - 1": (stated([">=", str(NUMBER - 1), log(NUMBER)]), lemma("log", str(NUMBER))),
    "log 6N = log 2 + log 3N": (
        stated(["=", log(6 * NUMBER), ["+", log(2), log(3 * NUMBER)]]),
        SUM,
    ),
    "log N > 0": (stated([">", log(NUMBER), "0"]), SUM),
    "the root of 4 N": (stated(["=", root(4 * NUMBER), ["*", "2", root(NUMBER)]]), SUM),
    "the square of a root": (stated(["=", ["^", root(NUMBER), "2"], str(NUMBER)]), SUM),
}
FALSE = {
    "log N = log p": (stated(["=", log(NUMBER), log(LARGER)]), SUM),
    "log N > 2 log p": (stated([">", log(NUMBER), ["*", "2", log(LARGER)]]), SUM),
    "log 1/N > 0": (stated([">", log(Fraction(1, NUMBER)), "0"]), SUM),
    "log p + log q > log N": (
        stated([">", ["+", log(LARGER), log(SMALLER)], log(NUMBER)]),
        SUM,
    ),
    "log p + log q < log N": (
        stated([">", log(NUMBER), ["+", log(LARGER), log(SMALLER)]]),
        SUM,
    ),
    "the root of N is that of p": (stated(["=", root(NUMBER), root(LARGER)]), SUM),
    "the root of N is not above that of p q": (
        stated([">", ["*", root(LARGER), root(SMALLER)], root(NUMBER)]),
        SUM,
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_number_with_large_factors_has_a_logarithm_and_a_root(name):
    assert check(*TRUE[name]) is None
    relation, left, right = TRUE[name][0]["claim"]
    difference = enclose(["+", left, less(right)], {})
    assert difference.contains(0) if relation == "=" else difference > 0


@pytest.mark.parametrize("name", FALSE)
def test_nothing_false_follows_from_a_number_that_is_no_prime(name):
    """Also where both sides are equal, which no enclosure tells."""
    with pytest.raises(checker.Rejected):
        check(*FALSE[name])


def test_the_work_of_a_small_check_is_what_is_counted_by_hand(monkeypatch):
    """Of x >= 0 given x >= 0, by a sum.

    The goal has 2 nodes.  What is given is learned twice, at 1 for its term and 20 each: 42.  The
    difference of claim and parts is 1*x + (-1)*x, of 7 nodes, two products of 1 + 1 terms and a
    sum of 0 + 1: 12.  The signs of the factor 1 and of x ask for one node each.  Together 58.
    """
    statement = stated([">=", "x", "0"], [">=", "x", "0"])
    monkeypatch.setattr(checker, "limited", lambda: limited(58))
    assert check(statement, SUM) is None
    monkeypatch.setattr(checker, "limited", lambda: limited(57))
    with pytest.raises(TooLarge, match="more work than any certificate needs"):
        check(statement, SUM)


class Calls:
    """How often a method is called."""

    def __init__(self, monkeypatch, *names):
        self.n = 0
        for name in names:
            self.watch(monkeypatch, name, getattr(Algebra, name))

    def watch(self, monkeypatch, name, own):
        def counted(*given):
            self.n += 1
            return own(*given)

        monkeypatch.setattr(Algebra, name, counted)


@pytest.mark.parametrize("work", [2_000, 20_000])
def test_many_nested_cases_are_refused_when_the_work_is_done(work, monkeypatch):
    calls = Calls(monkeypatch, "over", "quotient")
    monkeypatch.setattr(checker, "limited", lambda: limited(work))
    assert check(FREE, nested(parted, 3)) is None
    calls.n = 0
    with pytest.raises(TooLarge, match="more work than any certificate needs"):
        check(FREE, nested(parted, 300))
    assert work / 20 < calls.n < work


def test_a_cover_of_many_boxes_is_charged_for_each():
    """A box costs 12: 3 nodes of x + 1, 3 of its slope 1 + 0, 1 of x, 5 of 1 + (-1)*x."""
    given = [[">=", "x", "0"], [">=", "1", "x"]]
    goal = checker.goal_of(stated([">=", ["+", "x", "1"], "0"], *given))

    def needed(splits):
        with limited(10**6):
            checker.left_by(goal, boxes(splits))
            return 10**6 - limits._LEFT.get()

    assert needed("0." * 20 + ".") - needed(".") == 20 * 12


def test_a_tail_costs_as_much_as_300_nodes():
    """5 e^-2 = .6767 is the probability that a chi-square variable of 6 degrees exceeds 4."""
    with limited(2 * 300 + 299):
        for _ in range(2):
            assert abs(float(enclose(SIX, {}).mid()) - 5 * math.exp(-2)) < 1e-12
        with pytest.raises(TooLarge):
            enclose(SIX, {})


def test_a_shared_part_is_counted_as_often_as_it_is_written():
    term = "x"
    for _ in range(40):
        term = ["+", term, term]
    assert nodes(term) == 2**41 - 1
    assert nodes("x", ["^", "x", "1/2"], ["max", "x", ["*", "2", "y"]]) == 1 + 3 + 5


def test_the_work_of_a_check_is_its_own():
    charge(10**12)  # nothing is counted outside
    with limited(5):
        charge(3)
        with limited(4):
            charge(4)
        charge(2)
        with pytest.raises(TooLarge):
            charge(1)
    charge(10**12)
    bound("a size", 7, 7)
    with pytest.raises(TooLarge, match="a size is above 1,000"):
        bound("a size", 1_001, 1_000)


def test_a_search_that_meets_a_limit_finds_nothing(tmp_path, monkeypatch):
    large = claimed(["+", *["x"] * limits.NODES], "x", [">=", "x", "0"])
    assert prover.find(large) is None
    small = {"variables": ["x"], "given": [[">=", "x", "0"]], "claim": [">=", "x", "0"]}
    assert prover.find(small) == SUM
    proposition = Proposition(ranges={}, assumptions=(), left=sp.Integer(1),
                              relation=r"\ge", right=sp.Integer(0))  # fmt: skip
    monkeypatch.setattr(checker, "limited", lambda: limited(1))
    assert shelf.prove("toy", proposition, tmp_path) is None
    monkeypatch.undo()
    monkeypatch.setattr(shelf, "FILE", 50)
    assert shelf.prove("toy", proposition, tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    assert shelf.prove("toy", proposition, tmp_path).is_file()


def test_values_that_make_a_term_too_large_show_no_failure():
    statement = claimed(["+", *["x"] * 1_000], "x")
    assert check_failure(statement, {"x": "-1"}) is None
    with pytest.raises(checker.Rejected, match="the size of a term is above 16,000"):
        check_failure(statement, {"x": ["+", *["-1"] * 20]})


def test_a_file_above_the_limit_is_not_read(tmp_path):
    path = tmp_path / "large.json"
    path.write_text("[" + " " * limits.FILE)
    with pytest.raises(shelf.Damaged, match="the number of bytes is above 400,000"):
        shelf.read(path, {})
    claim = SimpleNamespace(id="p.a")
    path.rename(tmp_path / f"{claim.id}.json")
    with pytest.raises(shelf.Damaged, match="the number of bytes is above 400,000"):
        failures.stored(claim, [tmp_path])


def test_every_stored_file_is_far_below_the_limit():
    sizes = [each.stat().st_size for each in shelf.SHELF.glob("*.json")]
    assert 5 * max(sizes) < limits.FILE
