"""The outcome of one changed statement, and the words for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from trials.run.cell import Params
from verify.evidence import Evidence
from verify.mutation.mutants import Mutant

#: ========== ===================================================================================
#: refuted     the mutant is refuted
#: unsupported the mutant lost its support: inconclusive, vacuous, or supported only down to r.  It
#:             is not shown to be false
#: unseen      it is false, and the test does not look at the changed symbol
#: survived    it is false, and it is still supported
#: true here   limits in every cell, or a search of a larger budget, establish it where it is tried
#: kept        it is still supported, and in a sample nobody asked whether it is true
#: few trials  the original is supported only down to r as well: the run cannot tell the two apart;
#:             or the trials do not decide a weaker condition
#: asks less   it follows from the original
#: not tried   the procedure refuses it, or it wants more new trials than the cap
#: open        a change of meaning that is still supported: nothing shows that it is false or true
#: equivalent  an inserted symbol has one value wherever the claim is tried, and a hidden constant
#:             makes up for it: the claim says nothing about it
#: ========== ===================================================================================
Outcome = Literal[
    "refuted",
    "unsupported",
    "unseen",
    "survived",
    "true here",
    "kept",
    "few trials",
    "asks less",
    "not tried",
    "open",
    "equivalent",
]
CAUGHT: tuple[Outcome, ...] = ("refuted", "unsupported")
FALSE: tuple[Outcome, ...] = (*CAUGHT, "unseen", "survived")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One mutant's outcome, and the reason where it was not caught."""

    mutant: str
    kind: str
    words: str
    outcome: Outcome
    verdict: str = ""
    why: str = ""

    @property
    def caught(self) -> bool:
        """Whether the false theorem lost its support."""
        return self.outcome in CAUGHT


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The outcomes of a scan, each kept when it is found, so that a scan may go on in a claim.

    Attributes
    ----------
    known : the outcomes that an earlier scan has found, by the names of the mutants.
    keep : is called with each new one.

    Examples
    --------
    >>> judged = Judged(mutant="term a: k for d", kind="meaning", words="", outcome="refuted")
    >>> sorted(Kept(known={judged.mutant: judged}).known)
    ['term a: k for d']
    """

    known: Mapping[str, Judged] = field(default_factory=dict)
    keep: Callable[[Judged], object] = lambda judged: None

    def of(self, mutant: Mutant, judge: Callable[[Mutant], Judged]) -> Judged:
        """The known outcome of a mutant, or the one that is found now."""
        if mutant.name not in self.known:
            judged = judge(mutant)
            self.keep(judged)
            return judged
        return self.known[mutant.name]


def describe(
    mutant: Mutant, outcome: Outcome, evidence: Evidence | None = None, why: str = ""
) -> Judged:
    """A mutant with its outcome and the mark of the evidence on it."""
    return Judged(
        mutant=mutant.name,
        kind=mutant.kind,
        words=mutant.words,
        outcome=outcome,
        verdict="" if evidence is None else evidence.mark,
        why=why,
    )


def name_cell(cell: Params) -> str:
    """A cell in one line."""
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in cell.items()
    )


def in_one_line(error: Exception) -> str:
    """An error as one line."""
    return " ".join(str(error).split())[:200]
