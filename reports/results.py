"""The printed results of the papers, and the run's verdict on each: a row a theorem.

A claim belongs to the result that its source names first: ``Theorem 1, (1), corrected`` to
Theorem 1, and ``proof of Corollary 2, (37)`` to the proof of Corollary 2.  Nothing is estimated
here: factors and sizes are the stored ones.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from reports.characters import Latex
from reports.dependencies import Node
from reports.reading import Tried, verdict_word
from reports.schema import Cell
from reports.text import code, number, plural, prose

Part = Literal["statement", "proof", "aside"]
Strength = Literal["proved", "argued", "sharp", "tried", "loose", "void", "notrun"]

_NAMED = re.compile(r"\b(Theorem|Corollary|Proposition|Lemma) (\d+)")
_PLACE = re.compile(
    r"\b(Theorem|Corollary|Proposition|Lemma|Remark|Definition|Assumption|Algorithm|Table|Fig|"
    r"Section|Appendix|footnote|abstract|Introduction)s?\b",
    re.IGNORECASE,
)
#: The order of a paper's results: theorems with their corollaries, then propositions, then lemmas.
_KINDS = {"Theorem": 0, "Corollary": 0, "Proposition": 1, "Lemma": 2}
#: The rows of the claims that belong to no result.
_OTHERS = ("Displays", "Sections", "Remarks", "Tables, figures")
#: The factors up to which a bound counts as sharp, and from which it counts as loose.
SHARP, LOOSE = 3.0, 30.0
#: Letters of a name in a graph.
_LONG_NAME = 22


def place(claim: Tried) -> tuple[str, Part]:
    """The result that a claim is about, and whether it is its statement or its proof.

    The result is empty where the source names none.
    """
    source = claim.claim.source
    found = _NAMED.search(source)
    if found is None:
        named = re.search(r"[Pp]roof of " + _NAMED.pattern, claim.claim.title)
        return (f"{named[1]} {named[2]}", "proof") if named else ("", "aside")
    before = source[: found.start()].casefold().strip(" (")
    part: Part = "proof" if "proof" in before else "aside" if before else "statement"
    return f"{found[1]} {found[2]}", part


def names(claims: Sequence[Tried]) -> dict[str, str]:
    """Statement id -> the name that its paper gives it: ``Lemma 3``, ``(7)``, ``Section V``.

    Statements with one name are told apart by what their ids add: ``Lemma 3, union``.  Names are
    plain text.
    """
    known = {claim.claim.id: claim for claim in reversed(claims)}
    short = {name: _short_name(claim) for name, claim in known.items()}
    shared = {name for name, n in Counter(short.values()).items() if n > 1}
    return {
        key: f"{name}, {_added(key)}" if name in shared and _added(key) else name
        for key, name in short.items()
    }


def _short_name(claim: Tried) -> str:
    """The place in print without formulas, cut at its first comma."""
    name, part = place(claim)
    if name and part == "statement":
        return name
    source = re.sub(r"\$[^$]*\$", "", claim.claim.source)
    if equation := re.search(r"\(\d+[a-z]?\)", source):
        return equation[0]
    head = re.split(r"[,;:]", source)[0].strip()
    return f"{head[:_LONG_NAME]}…" if len(head) > _LONG_NAME + 1 else head


def _added(key: str) -> str:
    """What an id adds to the name of its statement: ``union`` of ``ifca.lemma3-union``."""
    name = key.partition(".")[2]
    first, _, rest = name.partition("-")
    return (rest if first[-1:].isdigit() else name).replace("-", " ")


def row_of(claim: Tried) -> str:
    """The row of the picture in which a claim stands: its result, or the kind of its place."""
    name, _ = place(claim)
    if name:
        return name
    found = _PLACE.search(claim.claim.source)
    kind = found[1].casefold() if found else ""
    if kind in ("table", "fig"):
        return "Tables, figures"
    if kind in ("remark", "footnote", "definition", "assumption"):
        return "Remarks"
    return "Sections" if kind else "Displays"


def in_order(row: str) -> tuple[int, int, bool]:
    """The sorting key of a row: results by kind and number, and then the rows of other claims."""
    if row in _OTHERS:
        return len(_KINDS) + _OTHERS.index(row), 0, False
    kind, _, digits = row.partition(" ")
    return _KINDS[kind], int(digits[:9]), kind == "Corollary"


def factor(claim: Tried) -> tuple[float, float, float] | None:
    """Least, median and largest bound over truth of the cells, None where nothing measured it."""
    if claim.verdict != "SUPPORTED":
        return None
    for slack in claim.evidence.slack:
        found = [v for v in (slack.least, slack.median, slack.most) if v and 0 < v < math.inf]
        if len(found) == 3:
            return float(found[0]), float(found[1]), float(found[2])
    if claim.claim.kind == "rate":
        return None
    factors = [_factor(cell) for cell in claim.evidence.cells if _is_rated(cell)]
    if not factors:
        return None
    return min(factors), median(factors), max(factors)


def _is_rated(cell: Cell) -> bool:
    """Whether a live cell has a bound that is a finite multiple of an observed value above zero."""
    return (
        not cell.void
        and cell.relation == "at most"
        and cell.ratio is not None
        and cell.ratio > 0
        and 0 < _factor(cell) < math.inf
    )


def _factor(cell: Cell) -> float:
    assert cell.ratio is not None
    return 1.0 / float(cell.ratio)


def strength(claim: Tried) -> Strength:
    """How much a verdict says: proved, argued, sharp, loose, void, or only tried.

    A proof up to a lemma is argued: a part of it stands outside its certificate.
    """
    if claim.verdict == "NOT RUN":
        return "notrun"
    cells = claim.evidence.cells
    if claim.verdict == "VACUOUS" or (cells and all(cell.void for cell in cells)):
        return "void"
    if claim.mark.endswith("UP TO A LEMMA"):
        return "argued"
    if claim.evidence.grade.startswith("proved") or claim.mark.startswith("PROVED"):
        return "proved"
    found = factor(claim)
    if found is None:
        return "tried"
    return "sharp" if found[1] <= SHARP else "loose" if found[1] >= LOOSE else "tried"


@dataclass(frozen=True, kw_only=True)
class Result:
    """A theorem with its claims: those of its statement, of its proof, and remarks about it."""

    paper: str
    name: str
    statement: tuple[Tried, ...]
    proof: tuple[Tried, ...]
    aside: tuple[Tried, ...]

    @property
    def claims(self) -> tuple[Tried, ...]:
        """All claims of the result."""
        return self.statement + self.proof + self.aside

    @property
    def asserted(self) -> list[Tried]:
        """The claims of the statement that were tried and that say that it holds.

        A claim that asks where the statement says something is none of them.
        """
        tried = [claim for claim in self.statement if claim.verdict != "NOT RUN"]
        return [claim for claim in tried if claim.claim.kind != "vacuity"]

    @property
    def refuted(self) -> list[Tried]:
        """The claims of the statement that are refuted."""
        return [claim for claim in self.asserted if claim.verdict == "REFUTED"]

    @property
    def held(self) -> list[Tried]:
        """The claims of the statement that are supported or proved."""
        return [claim for claim in self.asserted if claim.verdict == "SUPPORTED"]

    @property
    def factor(self) -> tuple[float, float, float] | None:
        """The bound over the truth, of the first form of the statement that measured it."""
        return next((found for claim in self.held if (found := factor(claim))), None)

    @property
    def onset(self) -> tuple[float | None, float | None] | None:
        """The size that a setting has and the smallest at which the statement says something.

        None where no claim asks.  A size that is never reached is None.
        """
        asked = [claim for claim in self.claims if claim.claim.kind == "vacuity"]
        cells = [cell for claim in asked for cell in claim.evidence.cells]
        if not cells:
            return None
        known = [cell for cell in cells if cell.bound is not None]
        if not known:
            return None, None
        least = min(known, key=lambda cell: float(cell.bound or 0))
        return least.observed, least.bound


def results(claims: Sequence[Tried]) -> list[Result]:
    """The results of the papers: theorems with their corollaries, propositions, lemmas."""
    groups: dict[tuple[str, str], dict[Part, list[Tried]]] = {}
    for claim in claims:
        name, part = place(claim)
        if name:
            parts = groups.setdefault((claim.claim.paper, name), {})
            parts.setdefault(part, []).append(claim)
    papers = list(dict.fromkeys(paper for paper, _ in groups))
    ordered = sorted(
        groups.items(), key=lambda item: (papers.index(item[0][0]), in_order(item[0][1]))
    )
    return [
        Result(
            paper=paper,
            name=name,
            statement=tuple(parts.get("statement", ())),
            proof=tuple(parts.get("proof", ())),
            aside=tuple(parts.get("aside", ())),
        )
        for (paper, name), parts in ordered
    ]


# -- a row of the table ----------------------------------------------------------------------------


def _name_claims(claims: Sequence[Tried], most: int = 2) -> str:
    """Claims as links, the first few of them."""
    links = [rf"\hyperref[sec:{claim.name}]{{{code(claim.key)}}}" for claim in claims[:most]]
    more = f" and {len(claims) - most} more" if len(claims) > most else ""
    return ", ".join(links) + more


def holds(result: Result) -> Latex:
    """Whether the statement holds, in words."""
    if result.refuted:
        word = verdict_word("REFUTED", "as printed: no")
        kept = verdict_word("SUPPORTED", "corrected: yes")
        return Latex(rf"{word}\newline {kept}" if result.held else word)
    if result.held:
        corrected = all("corrected" in claim.claim.source for claim in result.held)
        return verdict_word("SUPPORTED", "corrected: yes" if corrected else "yes")
    if not result.asserted:
        return verdict_word("", "not tried")
    return verdict_word(result.asserted[0].verdict, result.asserted[0].mark)


def sharpness(result: Result) -> Latex:
    """The bound over the truth, with its range over the cells."""
    found = result.factor
    if found is None:
        return Latex("--")
    least, middle, most = (number(value, 2) for value in found)
    return middle if least == most else Latex(rf"{middle}\newline {least} to {most}")


def onset(result: Result) -> Latex:
    """The smallest size at which the statement says something, beside the size that is used."""
    found = result.onset
    if found is None:
        return Latex("--")
    used, needed = found
    if needed is None:
        return Latex("at no size tried")
    beside = rf"\newline used: {number(used, 2)}" if used is not None else ""
    return Latex(f"{number(needed, 2)}{beside}")


def proof(result: Result, nodes: Mapping[str, Node]) -> Latex:
    """Whether the steps of the printed proof hold."""
    failed = [claim for claim in result.proof if claim.verdict == "REFUTED"]
    tried = [claim for claim in result.proof if claim.verdict != "NOT RUN"]
    shaken = {
        name
        for claim in result.claims
        if claim.claim.id in nodes
        for name in nodes[claim.claim.id].shaken
    }
    if failed:
        return Latex(f"no: {plural(len(failed), 'step fails', 'steps fail')}")
    if shaken:
        return Latex(f"rests on {plural(len(shaken), 'refuted step')}")
    if tried:
        return Latex(f"{plural(len(tried), 'step')} tried, none fails")
    return Latex("not tried")


def fails(result: Result) -> Latex:
    """The claims of the result that fail, as links."""
    return Latex(
        _name_claims([claim for claim in result.claims if claim.verdict == "REFUTED"]) or "--"
    )


def table_rows(found: Sequence[Result], nodes: Mapping[str, Node]) -> list[list[str]]:
    """A row a result: name, verdict, factor, smallest size, proof and failing claims."""
    return [
        [
            prose(result.name),
            holds(result),
            sharpness(result),
            onset(result),
            proof(result, nodes),
            fails(result),
        ]
        for result in found
    ]
