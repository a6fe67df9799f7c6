"""Faults planted in the checker: each of them accepts a false statement or refuses a true one.

A fault is a change of the source of `verify.proofs.algebra`, `sums`, `runs` or `checker`.  It is
found where the statements of `test_checker`, `test_sums` and `test_runs` get another answer.
"""

import sys
from functools import cache, lru_cache
from importlib import util
from pathlib import Path

import pytest

from tests.verify.proofs import test_runs, test_sums
from tests.verify.proofs.test_checker import FALSE, TRUE
from verify.proofs import algebra, checker, runs, sums

#: Source text, and what stands in its place.
FAULTS = (
    # what a term is
    ('arity = len(parts) if op in ("+", "*") else _ARITY.get(op, 1)', "arity = len(parts)"),
    ('return "exp", [["*", parts[1], ["log", parts[0]]]]',
     'return "exp", [["*", parts[1], ["log", ["^", parts[0], "2"]]]]'),
    ('return left if right == "0" else ["+", left, ["*", "-1", right]]', "return left"),
    ("if term == old:\n        return new", "if term == old and old != new:\n        return term"),
    ('return "1" if term == x else "0"', 'return "1" if term == x else "1"'),
    ('return "1" if term == x else "0"', 'return "0"'),
    ("*parts[:i], *parts[i + 1 :]]", "*parts[:i]]"),
    ('str(Fraction(parts[1]) - 1)', 'str(Fraction(parts[1]) + 1)'),
    ('"log": ["^", parts[0], "-1"]}', '"log": parts[0]}'),
    ('"exp": ["exp", *parts], "log"', '"exp": "1", "log"'),
    ('return ["*", outer[op], inner[0]]', "return outer[op]"),
    # enclosures
    ("power = root ** abs(exponent.numerator) if exponent else 1 + 0 * root",
     "power = root ** abs(exponent.numerator) if exponent else flint.arb(1)"),
    ("return power if exponent >= 0 else 1 / power", "return power"),
    ("base if exponent.denominator == 1 else base.root(exponent.denominator)", "base"),
    ('"max": lambda x, y: x.max(y)', '"max": lambda x, y: x'),
    ('"min": lambda x, y: x.min(y)', '"min": lambda x, y: x'),
    # tails
    ("gamma_upper(degrees / 2, regularized=1)", "gamma_upper(degrees, regularized=1)"),
    ("gamma_upper(degrees / 2, regularized=1)", "gamma_upper(degrees / 2)"),
    ("(x / 2).gamma_upper", "x.gamma_upper"),
    ("defined = degrees > 0 and x >= 0", "defined = True"),
    ("defined = degrees > 0 and x >= 0", "defined = degrees > 0 or x >= 0"),
    ('require(op != TAIL, "a tail is only enclosed")', "pass"),
    ('require(inside, "a tail of no law")', "pass"),
    ('inside = self.sign_of(parts[0]) == ">" and', "inside ="),
    ('term[0] not in ("max", "min", TAIL)', 'term[0] not in ("max", "min")'),
    # signs
    ("for relation, term in (*given, *given)", "for relation, term in ()"),
    ('side = self.one if self.sign(bottom) == ">" else bottom', "side = self.one"),
    ('self.note(poly, ">" if relation == ">" else ">=")', 'self.note(poly, ">")'),
    ('if relation == "=":\n            self.note(-poly, ">=")',
     'if relation == ">=":\n            self.note(-poly, ">=")'),
    ('if self.sign(-factor) == ">":\n                left = left * (-1) ** times',
     'if self.sign(-factor) == ">":\n                left = left'),
    ("left = self.one if unit > 0 else -self.one", "left = self.one"),
    ('elif self.sign(factor) != ">" and (times % 2 or relation == ">="):',
     'elif self.sign(factor) != ">" and times % 2:'),
    ('best = ">" if {old, s} == {">=", "!="} else max(old, s, key=order.index)', 'best = ">"'),
    ("lead = abs(poly.leading_coefficient())", "lead = poly.leading_coefficient()"),
    ("positive, strict = unit > 0, True", "positive, strict = True, True"),
    ("if times % 2 and not (up or down):\n                return found",
     "if times % 2 and not (up or down):\n                continue"),
    ("positive ^= bool(times % 2 and not up)", "positive = positive"),
    ('strict &= ">" in (up, down) or self.known(factor) == "!="', "strict = strict"),
    ('return (">" if strict else ">=") if positive else found', 'return ">" if strict else ">="'),
    ('if any(e % 2 and sign not in (">", ">=") for sign, e in signs):', "if False:"),
    ("if any(coefficient < 0 for coefficient in poly.coeffs()):", "if False:"),
    ("if best != old:\n                self.decided.clear()", "pass"),
    ('strict |= all(sign in (">", "!=") for sign, _ in signs)', "strict = True"),
    ('return ">" if strict else ">="\n\n    def atom', 'return ">"\n\n    def atom'),
    # quotients
    ("while poly.degrees()[i] >= q:", "while poly.degrees()[i] > q:"),
    ("times, left = divmod(e[i], q)", "times, left = e[i] // q, 0"),
    ("if self.n_asked > n_before:", "if False:"),
    ("self.n_asked += 1", "pass"),
    ("p[0] * q[1] + q[0] * p[1]", "p[0] * q[1] - q[0] * p[1]"),
    ("self.over(p[0] * q[0], p[1] * q[1])", "self.over(p[0] * q[0], p[1])"),
    ("return p if first else q", "return q if first else p"),
    ("return p if first else q", "return p"),
    ("return self.power(bottom, top, -e)", "return self.power(top, bottom, -e)"),
    ("self.powers[self.gens.index(root)] = rest.denominator, factor",
     "self.powers[self.gens.index(root)] = 2, factor"),
    ("sides[times < 0] = self.multiplied(sides[times < 0], *powers)",
     "sides[times > 0] = self.multiplied(sides[times > 0], *powers)"),
    ("total = total + times * gen", "total = total + gen"),
    ("sides[coefficient < 0] = self.multiplied(sides[coefficient < 0], power)",
     "sides[coefficient > 0] = self.multiplied(sides[coefficient > 0], power)"),
    ('if all(signs):\n                return ">" if (all if op == "*" else any)',
     'if any(signs):\n                return ">" if (all if op == "*" else any)'),
    ('(all if op == "*" else any)(s == ">" for s in signs)', "any(s == \">\" for s in signs)"),
    ('if op == "^" and parts[1] == "2":', 'if op == "^":'),
    ("self.sign(top if bottom.is_one() else self.multiplied(top, bottom))", "self.sign(top)"),
    ('require(self.sign_of(parts[0]) == ">", "a logarithm of what may be <= 0")', "pass"),
    ('require(nonzero, "a denominator may be zero")', "pass"),
    ('require(real, "a root of what may be < 0")', "pass"),
    ("(low if unit > 0 else high).append", "(high if unit > 0 else low).append"),
    # goals and steps
    ('require(names(term) <= {*self.variables}, "a name is of no variable")', "pass"),
    ('require(len({*known}) == len(known), "a name is used twice")', "pass"),
    ("(relation, put(term, old, new)) for relation, term in self.given",
     "(relation, term) for relation, term in self.given"),
    ("for each, following in zip(goals, below, strict=True):\n        prove(each, following)",
     "pass"),
    ("require(NAME.fullmatch(new) and new not in others, f\"{new} is not new\")", "pass"),
    ('require(kind == "shift" or sign == ">" or (kind == "power" and sign), "not known to be > 0")',
     "pass"),
    ('require(kind != "power" or Fraction(by) > 1, "a power must be above 1")', "pass"),
    ('require(NAME.fullmatch(new) and new not in goal.variables, f"{new} is not new")', "pass"),
    ('return goal.knowing(">=", on), goal.knowing(">=", ["*", "-1", on])',
     'return (goal.knowing(">=", on),)'),
    ("return replace(goal, claim=(relation, term)), goal.knowing(relation, term)",
     "return (goal.knowing(relation, term),)"),
    ('"log": ["+", of, "-1", ["*", "-1", ["log", of]]]',
     '"log": ["+", of, "-2", ["*", "-1", ["log", of]]]'),
    ('"exp": ["+", ["exp", of], "-1", ["*", "-1", of]]',
     '"exp": ["+", ["exp", of], "-2", ["*", "-1", of]]'),
    ('require(algebra.sign_of(minus(x, start)), f"{x} may be below its start")', "pass"),
    ("given = tuple(each for each in goal.given if x not in names(each[1]))",
     "given = goal.given"),
    ('return free.put(x, start, others), replace(segment, claim=(">=", slope(term, x)))',
     "return (free.put(x, start, others),)"),
    ('return replace(goal, claim=(">=", larger)), replace(goal, claim=(relation, squares))',
     "return (replace(goal, claim=(relation, squares)),)"),
    ('require(left.is_zero(), "the difference is another")', "pass"),
    ('require(left.is_zero(), "the sum is another")', "pass"),
    ('require(algebra.sign_of(factor) == ">", "the factor may be <= 0")', "pass"),
    ('require(holds in (True, ">", relation), "the sum may have another sign")', "pass"),
    ('require(holds in (True, ">", relation)', 'require(holds in (True, ">", ">=")'),
    ('require(relation != "=", "balls prove no equation")', "pass"),
    ('require(holds(goal, box, slopes), "an enclosure does not exclude a violation")', "pass"),
    ("cover({**box, x: ((low + high) / 2, high)})", "pass"),
    ('require(next(left, None) is None, "the splits go on after the cover")', "pass"),
    ('value > 0 or (relation == ">=" and value >= 0) for value in values',
     "value > 0 or value >= 0 for value in values"),
    ("void or (shown and", "void or not shown or (shown and"),
    ("return ends[0].union(ends[1])", "return ends[0]"),
    # vectors and sums
    ('crossed = minus(["*", table[0][0], table[1][1]], ["*", table[0][1], table[1][0]])',
     "crossed = table[0][1]"),
    ('crossed = minus(["*", table[0][0], table[1][1]], ["*", table[0][1], table[1][0]])',
     'crossed = minus(["*", table[0][1], table[1][0]], ["*", table[0][0], table[1][1]])'),
    ("return member, goal.learning(relation, total)", "return (goal.learning(relation, total),)"),
    ("(*goal.given, *own), (relation, inside)", "(*goal.given, (relation, inside)), goal.claim"),
    ('require(relation in (">=", "="), "no relation")', "None"),
    ("free = replace(goal, given=given, sums=None, runs={})",
     "free = replace(goal, given=given, runs={})"),
    # recursions
    ("free = replace(goal, given=given, sums=None, runs={})",
     "free = replace(goal, given=given, sums=None)"),
    ('term = put(term, x, y)', "pass"),
    ('return put(term, self.count, ["+", self.count, "1"])', "return term"),
    ('return put(term, self.count, ["+", "0"])', "return term"),
    ('require({r for r, _ in (*start, *steps)} <= {">=", ">", "="}, "no relation")', "pass"),
    ('require({r for r, _ in (*start, *steps)}', "require({r for r, _ in start}"),
    ('require({r for r, _ in (*start, *steps)}', "require({r for r, _ in steps}"),
    ('require(len(numbers) == len(later), "a number has no later one")', "pass"),
    ("known += [count, *numbers, *later]", "known += [count, *numbers]"),
    ('dict[str, Run](), [*statement["variables"]]', "dict[str, Run](), list[Any]()"),
    ("for x in (*variables, *later))", "for x in variables)"),
    ('require(sums is None or not runs, "a recursion has no vectors and no families")', "pass"),
    ("fixed = tuple(each for each in goal.given if not names(each[1]) & {*run.own})",
     "fixed = goal.given"),
    ("& {*run.own})", "& {of})"),
    ("return self.count, *self.numbers", "return (self.count,)"),
    ("return self.count, *self.numbers", "return self.numbers"),
    ("start = Goal(goal.others(of), (*fixed, *run.start)",
     "start = Goal(goal.others(of), (*fixed, known, *run.start)"),
    ("start = Goal(goal.others(of), (*fixed, *run.start)", "start = Goal(goal.others(of), fixed"),
    ('(*fixed, (">=", of), known, *run.steps)', '(*fixed, (">=", of), known)'),
    ('(*fixed, (">=", of), known, *run.steps)', '(*fixed, known, *run.steps)'),
    ("replace(run, steps=(*run.steps, known))", "run"),
    ("return start, step, replace(goal.knowing(relation, term), runs=always)",
     "return start, replace(goal.knowing(relation, term), runs=always)"),
    ("return start, step, replace(goal.knowing(relation, term), runs=always)",
     "return start, step, replace(goal, runs=always)"),
    ('counts = tuple((">=", count) for count in runs)', "counts = ()"),
    ('require(relation == "=", "no equation")', "pass"),
    ('return replace(goal, claim=(">=", term)), replace(goal, claim=(">=", ["*", "-1", term]))',
     'return replace(goal, claim=(">=", term)), replace(goal, claim=(">=", term))'),
    ('require(not is_made(term), "a product or a sum is written out")', "pass"),
    ('require(not any(map(is_made, power_of)), "a product or a sum is written out")', "pass"),
    ('require(not any(map(is_made, every)), "a variable has the name of a product or of a sum")',
     "pass"),
    ("(pair[0] in family.vectors) != (pair[1] in family.vectors)", "pair[0] in family.vectors"),
    ("(*monomial[:i], *monomial[i + 1 :]), x), u)", "monomial[:i], x), u)"),
    ('require(op == "*" or power in range(1, _MOST_POWER + 1), "no polynomial in a member")',
     "pass"),
    ('require(len({*every}) == len(every), "a name is used twice")', "pass"),
    ('require({r for r, _ in given} <= {">=", ">", "="}, "no relation")', "pass"),
    ('require(not unknown, "a member\'s relation has a name of no variable")', "pass"),
    ('require(family.name not in self.opened, "one member of a family at a time")', "pass"),
    ('return {(_pair(b, c),): "1"} if is_own else {(): _pair(b, c)}',
     "return {(): _pair(b, c)}"),
    ('parts.append(_joined("*", [factor, total]))', "parts.append(total)"),
    ("tuple(sorted((*a, *b)))", "tuple(sorted({*a, *b}))"),
    ('_joined("*", [p[a], q[b]])', "p[a]"),
)  # fmt: skip


MODULES = (algebra, sums, runs, checker)
STATEMENTS_FALSE = FALSE | test_sums.ALL_FALSE | test_runs.ALL_FALSE
STATEMENTS_TRUE = (
    TRUE
    | test_runs.TRUE
    | {name: (of.statement(), proof) for name, (of, proof) in test_sums.TRUE.items()}
)


@cache
def source_of(module):
    """The text of a module."""
    return Path(module.__file__).read_text(encoding="utf-8")


@lru_cache(maxsize=2 * len(MODULES))
def compiled(text, file):
    """The code of a text.  Three modules of four are without the fault."""
    return compile(text, file, "exec")


def with_fault(old, new):
    """The function ``check`` of a checker with a fault."""
    names = tuple(own.__name__ for own in MODULES)
    before = {name: sys.modules[name] for name in names}
    try:
        for name, own in zip(names, MODULES, strict=True):
            made = util.module_from_spec(util.spec_from_loader(name, loader=None))
            made.__file__ = own.__file__
            sys.modules[name] = made
            exec(compiled(source_of(own).replace(old, new), own.__file__), made.__dict__)
        return made.check
    finally:
        sys.modules.update(before)


def agrees(check, statement, certificate):
    """Whether a checker accepts, None where it ends by another error."""
    try:
        check(statement, certificate)
    except ValueError:
        return False
    return True


def test_every_fault_is_in_the_source_and_they_are_many():
    sources = [source_of(own) for own in MODULES]
    assert [old for old, _ in FAULTS if not any(old in source for source in sources)] == []
    assert len(FAULTS) >= 60


#: All statements, with whether they are true.  One that has shown a fault moves to the front: those
#: of one function stand together, and one statement shows many.
STATEMENTS = [(each, False) for each in STATEMENTS_FALSE.values()]
STATEMENTS += [(each, True) for each in STATEMENTS_TRUE.values()]


def differs(check):
    """Whether a checker accepts a false statement or refuses a true one: the first one decides."""
    for i, (each, is_true) in enumerate(STATEMENTS):
        if agrees(check, *each) is not is_true:
            STATEMENTS.insert(0, STATEMENTS.pop(i))
            return True
    return False


def test_no_statement_differs_without_a_fault():
    """So that a difference comes from the fault."""
    assert not differs(with_fault("", ""))


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_planted_fault_is_found(number):
    assert differs(with_fault(*FAULTS[number])), FAULTS[number]
