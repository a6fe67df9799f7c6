"""Reading a run's claims: their order, their verdicts, their worst cells, and counts in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.characters import Latex
from reports.schema import Cell, Claim, Evidence, Power, Summary
from reports.text import escape_text

#: The colours of the verdicts on paper.
COLOURS = {
    "supported": "00695C", "refuted": "B23A00", "inconclusive": "7A5C00", "vacuous": "5B4B8A",
    "notrun": "555555",
}  # fmt: skip
VERDICTS = ("SUPPORTED", "REFUTED", "INCONCLUSIVE", "VACUOUS")


#: What a search says of itself: the points that it tried, and its largest violation.
_CLOSEST = re.compile(
    r"no counterexample (?:in|at) (?P<points>\d+) (?:searches|points); closest "
    r"(?P<most>-?\d[\d.]*(?:e[-+]?\d+)?)"
)

#: The unit of a search by its first word, behind a number.
_SCALES = {"share": " of the larger side", "log": " in logarithms"}


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A claim of a run: the key it is stored under, its record, and its name for files and labels.

    The key differs from the claim's id where parameters were given: ``ifca.thm1[m=400]``.
    """

    key: str
    name: str
    claim: Claim
    power: Power | None = None

    @property
    def evidence(self) -> Evidence:
        """The evidence, empty where the claim was not tried."""
        return self.claim.evidence or Evidence()

    @property
    def verdict(self) -> str:
        """The verdict in capitals, NOT RUN without one."""
        return (self.evidence.verdict or "NOT RUN").upper()

    @property
    def mark(self) -> str:
        """The verdict as it is printed, e.g. ``SUPPORTED TO 0.009``."""
        return self.evidence.mark or self.verdict

    @property
    def colour(self) -> Latex:
        """The name of the verdict's colour in the template."""
        return colour(self.verdict)

    @property
    def as_expected(self) -> bool | None:
        """Whether the verdict is the expected one, or None where none is expected.

        A claim that failed has no verdict of its own.
        """
        if not self.claim.expected:
            return None
        return not self.evidence.error and self.claim.expected.upper() == self.verdict

    @property
    def answer(self) -> str:
        """The evidence in one sentence.  That of a search says by how much the statement holds.

        That of a claim that failed gives the error.
        """
        if self.evidence.error:
            return f"{self.evidence.summary}: {self.evidence.error}"
        return _CLOSEST.sub(self._spare, self.evidence.summary, count=1)

    def _spare(self, found: re.Match[str]) -> str:
        points, most = found["points"], float(found["most"])
        heads = (t.columns[-1] for t in self.evidence.tables if t.title.startswith("Closest"))
        unit = next((at for head in heads if (at := re.search(r"\((\w+)", head))), None)
        scale = _SCALES.get(unit[1], "") if unit else ""
        if most > 0:
            return f"no counterexample at {points} points: the sides differ by rounding alone"
        if most == 0:
            return f"no counterexample at {points} points: at the closest one the sides are equal"
        return (
            f"no counterexample at {points} points: it holds by {found['most'][1:]}{scale} or more"
        )

    @property
    def worst(self) -> Cell | None:
        """The live cell with the largest ratio, or None where no live cell has a ratio."""
        rated = [c for c in self.evidence.cells if ratio(c) > -math.inf and not c.void]
        return max(rated, key=ratio) if rated else None


def slug(text: str) -> str:
    """A name for files and labels: letters, digits, dots and dashes.

    >>> slug("ifca.thm1[m=400,d=1e-3]")
    'ifca.thm1-m-400-d-1e-3'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "claim"


def slugs(keys: Iterable[str], most: int = 120) -> dict[str, str]:
    """A name for each key.  Two keys with one slug get different names.

    >>> slugs(["a b", "a-b"])
    {'a b': 'a-b', 'a-b': 'a-b-x'}
    """
    names: dict[str, str] = {}
    for key in keys:
        name = slug(key)[:most]
        while name in names.values():
            name += "-x"
        names[key] = name
    return names


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A sorting key that counts numbers inside text as numbers."""
    parts = re.split(r"([0-9]+)", text)  # the numbers stand at the odd places
    return [(1, int(p), "") if i % 2 else (0, 0, p) for i, p in enumerate(parts)]


def sort_claims(
    claims: Mapping[str, Claim], summary: Summary, power: Mapping[str, Power] | None = None
) -> list[Tried]:
    """The claims paper by paper, each paper's in the order of the run's allocation, then by name.

    Names of files are unique: two keys with one slug get different names.
    """
    place = {name: i for i, (name, _level) in enumerate(summary.allocation)}
    keys = sorted(claims, key=lambda key: (place.get(key, len(place)), _natural(key)))
    papers = list(dict.fromkeys(claims[key].paper for key in keys))
    names = slugs(keys)
    known = power or {}
    tried = [
        Tried(key=key, name=names[key], claim=claims[key], power=known.get(key)) for key in keys
    ]
    return sorted(tried, key=lambda item: papers.index(item.claim.paper))


def colour(verdict: str) -> Latex:
    """The name of a verdict's colour in the template."""
    return Latex(verdict.lower() if verdict in VERDICTS else "notrun")


def verdict_word(verdict: str, mark: str = "") -> Latex:
    """A verdict in bold and in its colour.  ``mark`` is printed in its place where given."""
    return Latex(rf"\verdictword{{{colour(verdict)}}}{{{escape_text(mark or verdict)}}}")


def ratio(cell: Cell) -> float:
    """A cell's ratio of observed value to bound, or minus infinity where it has none."""
    return -math.inf if cell.ratio is None or math.isnan(cell.ratio) else float(cell.ratio)


def severity(cell: Cell) -> tuple[float, float]:
    """The sorting key of cells: the ratio, then the ratio at the confidence limit for ties.

    The limit is the one on the side of a violation: the lower one where the statement says
    "at least".
    """
    limit, bound = cell.upper, cell.bound
    if cell.relation == "at least":
        limit, bound = bound, cell.lower
    return ratio(cell), -math.inf if limit is None or not bound else limit / bound
