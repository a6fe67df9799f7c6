"""False statements, planted by hand and by meaning: which of them lose the support of their claim.

`planted.toml` lists them.  They were written before the cells of their claims were looked at.  A
claim first gets its own verdict on fresh trials.  Its function then builds the procedure for the
changed statement, which is decided on these trials and on what else it asks for.

    python -m tests.verify.mutation.planted [--part I/N] [CLAIM ...]

prints one line a statement, and how many were tried, lost their support, were refused and kept it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import sympy as sp

from bounds.statement import Statement, Term
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore
from verify.evidence import Verdict
from verify.mutation.conditions import Conditions
from verify.mutation.examination import REFUSALS, Examination, Standing
from verify.mutation.mutants import assumption_named, with_condition
from verify.papers import catalogue
from verify.procedures.base import PROFILES
from verify.procedures.interface import Procedure
from verify.procedures.placebos import decide, demands

QUICK = PROFILES["quick"]
LEVEL = 1e-4
SEED = 0
_OPPOSITE = {"increases": "decreases", "decreases": "increases"}


@dataclass(frozen=True, kw_only=True)
class Planted:
    """One false statement: the claim, the part that changes, its new form, its reason."""

    claim: str
    part: str
    becomes: str
    why: str

    def __str__(self) -> str:
        return f"{self.claim}, {self.part}: {self.becomes}"

    def plant(self, statement: Statement) -> Statement:
        """The statement with the one part changed.  Without that part: ValueError."""
        what, _, name = self.part.partition(" ")
        if what == "contrasts":
            contrasts = tuple(
                replace(c, left=c.right, right=c.left, relation="<", margin=0.0)
                for c in statement.contrasts
            )
            return replace(statement, contrasts=contrasts)
        if what == "trends":
            trends = tuple(replace(t, direction=_OPPOSITE[t.direction]) for t in statement.trends)
            return replace(statement, trends=trends)
        expr = parse(self.becomes, statement)
        if what == "failure":
            return replace(statement, failure=expr)
        if what == "definition":
            (symbol,) = (s for s in statement.definitions if s.name == name)
            return replace(statement, definitions={**statement.definitions, symbol: expr})
        if what == "condition":
            name, _, side = name.rpartition(": ")
            (old,) = (a for a in statement.assumptions if a.name == name)
            changed = replace(old, **{side: expr})
            kept = tuple(changed if a is old else a for a in statement.assumptions)
            return replace(statement, assumptions=kept)
        (term,) = (t for t in statement.terms if t.name == name)
        new = Term(name=name, expr=expr)
        return replace(statement, terms=tuple(new if t is term else t for t in statement.terms))


def parse(text: str, statement: Statement) -> sp.Expr:
    """An expression in the statement's own symbols.  Any other letter is a plain symbol."""
    sides = [t.expr for t in statement.terms]
    sides += [side for a in statement.assumptions for side in (a.left, a.right)]
    sides += [*statement.definitions, *statement.definitions.values()]
    sides += [] if statement.failure is None else [statement.failure]
    own = {s.name: s for side in sides for s in side.free_symbols}
    plain = {name: sp.Symbol(name) for name in ("N", "beta", "gamma")}
    return sp.sympify(text, locals=plain | own)


def planted() -> list[Planted]:
    """Every planted statement, in the order of the table."""
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    return [Planted(**entry) for entry in tomllib.loads(text)["planted"]]


def outcomes(statements: Sequence[Planted], seed: int = SEED) -> Iterator[tuple[Planted, str]]:
    """Each statement with *lost*, *kept* or *refused*, and the verdict.

    A claim without support of its own, or whose own decision ends with an error, gives *not asked*:
    nothing can be lost there.
    """
    found = catalogue()
    for claim_id in dict.fromkeys(s.claim for s in statements):
        claim, placebos = found[claim_id], found.placebos_of(claim_id)
        with (
            tempfile.TemporaryDirectory() as folder,
            RunStore.create(Path(folder) / "store.sqlite", root_seed=seed, config={}) as store,
            make_executor("serial") as executor,
            np.errstate(all="ignore"),
        ):
            own = claim.build(QUICK)
            while missing := demands(own, placebos, store, LEVEL):
                ensure(store, missing, executor)
            try:
                evidence = decide(own, placebos, store, LEVEL)
            except REFUSALS as error:
                for statement in (s for s in statements if s.claim == claim_id):
                    yield statement, f"not asked: {error}"
                continue
            examined = Examination(
                claim=claim,
                profile=QUICK,
                standing=Standing.of(replace(evidence, level=LEVEL)),
                store=store,
                executor=executor,
                placebos=placebos,
            )
            for statement in (s for s in statements if s.claim == claim_id):
                if evidence.verdict is not Verdict.SUPPORTED:
                    yield statement, f"not asked: {evidence.verdict}"
                    continue
                changed = statement.plant(claim.statement)
                if changed == claim.statement:
                    raise ValueError(f"{statement} changes nothing")
                try:
                    now = examined.decide(changed)
                except REFUSALS as error:
                    yield statement, f"refused: {error}"
                    continue
                coarser = now.resolution is not None and evidence.resolution is None
                kept = now.verdict is Verdict.SUPPORTED and not coarser
                if kept and statement.part.startswith("condition"):
                    yield statement, _outside(examined, own, statement, changed)
                    continue
                yield statement, f"{'kept' if kept else 'lost'}: {now.verdict}"


def _outside(examined: Examination, own: Procedure, planted: Planted, changed: Statement) -> str:
    """The outcome of a weaker condition in the cells that only it allows, as `mutate` tries it.

    The claim's own cells meet the stated condition, so they cannot tell.
    """
    name = planted.part.removeprefix("condition ").rpartition(": ")[0]
    stated = examined.claim.statement
    dropped = with_condition(stated, assumption_named(stated, name), "dropped", right=-sp.oo)
    conditions = Conditions(examined, own)
    conditions.judge_meaning(dropped)  # it makes the cells of all weaker forms
    judged = conditions.judge_meaning(
        replace(dropped, name=str(planted), change=lambda _statement: changed)
    )
    return f"{'lost' if judged.caught else 'kept'}: {judged.outcome}, {judged.why}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each outcome and the totals.  The exit code is 1 where one keeps its support."""
    parser = argparse.ArgumentParser(description="Which planted false statements lose support.")
    parser.add_argument("claims", nargs="*", default=["*"], help="claims, with * and ?")
    parser.add_argument("--part", default="1/1", help="I/N: every N-th statement from the I-th on")
    given = parser.parse_args(arguments)
    first, every = map(int, given.part.split("/"))
    chosen = [s for s in planted() if any(fnmatch(s.claim, c) for c in given.claims)]
    total: Counter[str] = Counter()
    for statement, outcome in outcomes(chosen[first - 1 :: every]):
        total[outcome.partition(":")[0]] += 1
        print(f"{statement} | {' '.join(outcome.split())[:160]}", flush=True)
    print(f"{total.total()} planted: " + ", ".join(f"{n} {name}" for name, n in total.items()))
    return 1 if total["kept"] else 0


if __name__ == "__main__":
    sys.exit(main())
