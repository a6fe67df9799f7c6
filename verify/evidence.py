"""The evidence of a verdict: plain data, written to the run store as JSON, read by reports.

Text fields may hold inline LaTeX math between dollar signs.  They hold no other markup.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from statistics import median
from typing import Any, Literal

import numpy as np

from trials.checks import InvalidParameter, one_of


class Verdict(StrEnum):
    """The four outcomes.  Each is about the pre-registered cells only."""

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    VACUOUS = "VACUOUS"


#: The stated relation between observed value and bound.  ``order``: equal up to an
#: unnamed constant factor.
Relation = Literal["at most", "below", "at least", "equals", "order"]


def ratio_of(observed: float | None, bound: float | None, relation: Relation) -> float | None:
    """The ratio of a cell's observed value to its bound, defined so that larger is worse for the
    statement.

    ========== ======================== ==========================================================
    relation   ratio                    meaning
    ========== ======================== ==========================================================
    at most    observed / bound         at most one where the observed value keeps the bound
    below      observed / bound         below one where it does: a tie does not
    at least   bound / observed         at most one where the observed value keeps the bound
    equals     larger / smaller         one at agreement, 1.05 at five per cent in either direction
    order      observed / stated order  no single number matters, only a trend over cells
    ========== ======================== ==========================================================

    None where a side is missing or the quotient is undefined (0/0, different signs, NaN).

    Examples
    --------
    >>> ratio_of(2.0, 8.0, "at most"), ratio_of(2.0, 8.0, "at least"), ratio_of(2.0, 8.0, "equals")
    (0.25, 4.0, 4.0)
    """
    if observed is None or bound is None or math.isnan(observed) or math.isnan(bound):
        return None
    if observed < 0 or bound < 0 or (math.isinf(observed) and math.isinf(bound)):
        return None
    if relation == "equals" and observed == bound:
        return 1.0
    top, bottom = observed, bound
    if relation == "at least" or (relation == "equals" and bound > observed):
        top, bottom = bound, observed
    if bottom == 0.0:
        return None if top == 0.0 else math.inf
    return top / bottom


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """One cell's evidence: observed value with its confidence limits, beside the bound.

    Attributes
    ----------
    relation : the stated relation between ``observed`` and ``bound``.
    ratio : of the two, as `ratio_of` defines it for the relation.  Larger is worse.
    void : why the cell supports nothing (a placebo passes too), empty for a live cell.
    quantile : the order of the quantile where ``observed`` is a quantile of the trials, else None.
    """

    params: Mapping[str, Any]
    n_trials: int
    n_failed: int = 0
    observed: float | None = None
    quantile: float | None = None
    se: float | None = None
    lower: float | None = None
    upper: float | None = None
    bound: float | None = None
    ratio: float | None = None
    relation: Relation = "at most"
    verdict: str = ""
    note: str = ""
    void: str = ""


#: How the points of a series are drawn, and the scales of an axis.
STYLES = ("points", "line", "dashed", "band")
SCALES = ("linear", "log")


@dataclass(frozen=True, kw_only=True)
class EvidenceTable:
    """A small table.  Cells are text (inline math allowed) or numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse what no report could print.

        Raises
        ------
        InvalidParameter : it names the table and the row.
        """
        where = f"table {self.title!r:.60}"
        _require_texts(where, (self.title, self.note))
        _require_texts(f"{where}: columns", self.columns)
        for i, row in enumerate(self.rows):
            if isinstance(row, str) or len(row) != len(self.columns):
                raise InvalidParameter(
                    f"{where}: row {i} is {row!r:.60}, and must hold {len(self.columns)} cells"
                )
            for cell in row:
                if not (cell is None or isinstance(cell, str | bool | np.bool_) or _is_real(cell)):
                    raise InvalidParameter(
                        f"{where}: the cell {cell!r:.60} of row {i} must be a text or a number"
                    )


def _is_real(value: object) -> bool:
    """Whether a value is a number that JSON knows, or one of NumPy."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _require_texts(where: str, values: object) -> None:
    """Refuse what is no sequence of texts.  One text would be taken for its letters."""
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
        raise InvalidParameter(f"{where}: {values!r:.60} must be texts")


def _require_numbers(where: str, values: Any, *, gaps: bool) -> None:
    """Refuse a column of a series with an entry that is no number, or no None where it may."""
    kind = getattr(getattr(values, "dtype", None), "kind", "O")
    if kind in "iuf":
        return
    for i, value in enumerate(values):
        if not (_is_real(value) or (gaps and value is None)):
            raise InvalidParameter(f"{where}[{i}]={value!r:.60} must be a number")


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve or point set.

    Attributes
    ----------
    lower, upper : drawn as a band, or as error bars where ``style`` is ``"points"``.
    group : series of one group share a colour.
    shade : a number for each point, which its colour shows.  For points only.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    lower: Sequence[float | None] | None = None
    upper: Sequence[float | None] | None = None
    style: Literal["points", "line", "dashed", "band"] = "points"
    group: str = ""
    shade: Sequence[float | None] | None = None

    def __post_init__(self) -> None:
        """Refuse columns of different lengths here, where the claim is: no report could draw them.

        Raises
        ------
        InvalidParameter : it names the series and the column.
        """
        where = f"series {self.label!r:.60}"
        _require_texts(where, (self.label, self.group))
        one_of(f"{where}: style", self.style, STYLES)
        _require_numbers(f"{where}: x", self.x, gaps=False)
        columns = {"y": self.y, "lower": self.lower, "upper": self.upper, "shade": self.shade}
        for name, column in columns.items():
            if column is None:
                continue
            if len(column) != len(self.x):
                raise InvalidParameter(
                    f"{where}: {name} has {len(column)} values and x has {len(self.x)}"
                )
            _require_numbers(f"{where}: {name}", column, gaps=True)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes as data.  Axis labels give the units or the word "dimensionless".

    Attributes
    ----------
    hlines, vlines : (position, label) of lines across the panel.
    spans : (from, to, label) of intervals of x, drawn as shaded strips.
    """

    title: str
    xlabel: str = ""
    ylabel: str = ""
    series: Sequence[Series] = ()
    xscale: Literal["linear", "log"] = "linear"
    yscale: Literal["linear", "log"] = "linear"
    hlines: Sequence[tuple[float, str]] = ()
    vlines: Sequence[tuple[float, str]] = ()
    spans: Sequence[tuple[float, float, str]] = ()

    def __post_init__(self) -> None:
        """Refuse what no report could draw, as in a `Series`."""
        where = f"panel {self.title!r:.60}"
        _require_texts(where, (self.title, self.xlabel, self.ylabel))
        for name in ("xscale", "yscale"):
            one_of(f"{where}: {name}", getattr(self, name), SCALES)
        for name, n_numbers in (("hlines", 1), ("vlines", 1), ("spans", 2)):
            for line in getattr(self, name):
                if not _is_labelled(line, n_numbers):
                    raise InvalidParameter(
                        f"{where}: {line!r:.60} of {name} must be "
                        f"({'position' if n_numbers == 1 else 'from, to'}, label)"
                    )
        for part in self.series:
            if not isinstance(part, Series):
                raise InvalidParameter(f"{where}: {part!r:.60} must be a Series")


def _is_labelled(line: object, n_numbers: int) -> bool:
    """Whether a line or a span holds its numbers and then a text."""
    return (
        isinstance(line, tuple | list)
        and len(line) == n_numbers + 1
        and all(map(_is_real, line[:-1]))
        and isinstance(line[-1], str)
    )


@dataclass(frozen=True, kw_only=True)
class Figure(Panel):
    """A figure as data: one panel, or several side by side.

    Attributes
    ----------
    panels : drawn in place of the figure's own series.  Panels whose y axes have one label share
        their limits, so that slopes can be compared.  Equal labels of series are one legend entry.
    shade : the label of the colour scale, where a series has shades.
    """

    name: str
    panels: Sequence[Panel] = ()
    shade: str = ""
    caption: str = ""

    def __post_init__(self) -> None:
        """Refuse what no report could draw, as in a `Series`."""
        super().__post_init__()
        where = f"figure {self.name!r:.60}"
        _require_texts(where, (self.name, self.shade, self.caption))
        for panel in self.panels:
            if not isinstance(panel, Panel):
                raise InvalidParameter(f"{where}: {panel!r:.60} must be a Panel")


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A counterexample: its place, the observed value, the stated bound, and its trial."""

    description: str
    params: Mapping[str, Any]
    observed: float
    bound: float
    trial: str | None = None  # trial id for ``verify replay``, None for a deterministic point


@dataclass(frozen=True, kw_only=True)
class Slack:
    """How far a statement is from sharp: its bound over the observed quantile, cell by cell.

    Attributes
    ----------
    constants : whose constants the bound has, e.g. "the proof's constants".
    least, median, most : over the cells.
    """

    constants: str
    least: float
    median: float
    most: float

    @classmethod
    def of(cls, constants: str, ratios: Iterable[float | None]) -> tuple[Slack, ...]:
        """The slack of bounds that are 1/``ratios`` of the observed quantiles.

        It is empty where no ratio is positive and finite.
        """
        over = [1.0 / r for r in ratios if r is not None and 0.0 < r < math.inf]
        if not over:
            return ()
        return (cls(constants=constants, least=min(over), median=median(over), most=max(over)),)


#: A bound that is so many times the observed quantile in every cell tells hardly anything.
LOOSE = 30.0


@dataclass(frozen=True, kw_only=True)
class Apart:
    """Symbols from which the trials of a claim tell one symbol of its bound.

    Attributes
    ----------
    told : with these in its place some cell's trials break the bound.  "1" stands for the bound
        without the symbol.
    not_told : with these the bound is smaller in some cell, and no cell's trials break it.
    """

    symbol: str
    told: Sequence[str] = ()
    not_told: Sequence[str] = ()


def proof_mark(proved: Mapping[str, Any]) -> str:
    """What is proved: a whole statement, on part of its domain, up to a lemma, or for some sizes.

    Examples
    --------
    >>> proof_mark({"narrowed": [], "by": "Markov's inequality."})
    'PROVED UP TO A LEMMA'
    >>> proof_mark({"narrowed": [], "by": "The entries are symbols.", "up_to": "d <= 3"})
    'PROVED FOR d <= 3'
    """
    if proved.get("up_to"):
        return f"PROVED FOR {proved['up_to']}"
    part = "ON PART" if proved.get("narrowed") else ""
    lemma = "UP TO A LEMMA" if proved.get("by") else ""
    return " ".join(word for word in ("PROVED", part, lemma) if word)


def counted_mark(mark: str) -> str:
    """The mark as tallies count it, without its number or sizes.

    Examples
    --------
    >>> counted_mark("SUPPORTED TO 0.002"), counted_mark("PROVED FOR d <= 3")
    ('SUPPORTED TO r', 'PROVED FOR SIZES')
    """
    for kind, word in (("SUPPORTED TO ", "r"), ("PROVED FOR ", "SIZES")):
        if mark.startswith(kind):
            return kind + word
    return mark


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The outcome of a decision procedure.

    Attributes
    ----------
    resolution : the probability down to which some cell supports the statement, where it is not the
        stated one.  It is None where every cell is resolved to its stated probability.  For a rate,
        rarer values may be missing in the means.
    error : the exception with its file and line where the claim failed, else empty.
    proof : a certificate (`verify.proofs.certificate.Certificate.as_dict`) that the statement
        fails, or None for a refutation by trials at the level ``level``.
    proved : the statement over its whole domain and the certificate that it holds there, as
        `verify.proofs.checker` reads them, or None.
    failure : the statement with exact values at which it fails, as `verify.proofs.refuting` reads
        them, and the argument ``by`` outside that check, or None.
    coq : the record that Coq compiled the statement over its domain, or its negation, or None.
    required : the constants that the trials need, where the statement leaves them unnamed.
    slack : of the bound at each choice of constants that is of interest.
    apart : for each symbol of the bound, from which others the trials tell it.
    digits : the decimal digits with which a search evaluated its counterexample again, or None
        where it did so in double precision only.
    """

    verdict: Verdict
    summary: str
    level: float
    resolution: float | None = None
    proof: Mapping[str, Any] | None = None
    proved: Mapping[str, Any] | None = None
    failure: Mapping[str, Any] | None = None
    coq: Mapping[str, Any] | None = None
    digits: int | None = None
    n_trials: int
    n_failed: int = 0
    cells: Sequence[CellResult] = ()
    tables: Sequence[EvidenceTable] = ()
    figures: Sequence[Figure] = ()
    sharpness: Sequence[str] = ()
    required: Mapping[str, float] = field(default_factory=dict)
    slack: Sequence[Slack] = ()
    apart: Sequence[Apart] = ()
    witness: Witness | None = None
    notes: Sequence[str] = field(default_factory=tuple)
    error: str = ""

    @property
    def mark(self) -> str:
        """The verdict as it is printed, e.g. ``SUPPORTED TO 0.008``, or ``PROVED``.

        ``PROVED ON PART`` is a proof that needs an end of a range that only bounds the search,
        ``PROVED UP TO A LEMMA`` one that uses an argument or a known result outside the
        certificate, ``PROVED FOR d <= 3`` one for the arrays of these sizes only.
        """
        proved = self.coq if self.proved is None else self.proved
        if self.verdict is Verdict.SUPPORTED and proved is not None:
            return proof_mark(proved)
        if self.verdict is Verdict.SUPPORTED and self.resolution is not None:
            return f"{self.verdict} TO {self.resolution:.2g}"
        return str(self.verdict)

    @property
    def spare(self) -> str:
        """A sentence where the bound is far above the observed quantile in every cell, else empty.

        It names the exchanges of symbols that the trials would not notice, three at most.
        """
        if self.verdict is not Verdict.SUPPORTED or not self.slack or self.slack[0].least < LOOSE:
            return ""
        unseen = [f"{a.symbol} from {a.not_told[0]}" for a in self.apart if a.not_told][:3]
        told = f": the trials do not tell {', '.join(unseen)}" if unseen else ""
        return f"the bound is {self.slack[0].least:.2g} times the observed quantile at least{told}"

    @property
    def grade(self) -> str:
        """The grade of a refutation or of a proof, empty for other verdicts.

        A refutation is proved, statistical at a level, or found by a search: then re-checked to
        some digits, or evaluated in double precision only.  A proof is checked by Coq, or by the
        suite's checker.
        """
        if self.verdict is Verdict.SUPPORTED and self.mark.startswith("PROVED"):
            return (
                f"checked by Coq {self.coq['coq']}"
                if self.coq
                else "checked by the suite's checker"
            )
        if self.verdict is not Verdict.REFUTED:
            return ""
        if self.coq is not None:
            return f"proved, checked by Coq {self.coq['coq']}"
        if self.proof is not None:
            return "proved"
        if self.level:
            return f"statistical at level {self.level:.2g}"
        return f"re-checked to {self.digits} digits" if self.digits else "in double precision"

    def as_dict(self) -> dict[str, Any]:
        """The evidence as JSON-ready nested dictionaries, with the mark and the grade.

        The grade says the digits of a re-check.  A cell names ``void`` only where it is, and an
        evidence its constants and slacks only where it has them.
        """
        found = asdict(self) | {"mark": self.mark, "grade": self.grade}
        del found["digits"]
        for name in ("error", "proved", "failure", "coq", "required", "slack", "apart"):
            if not found[name]:
                del found[name]
        for cell in found["cells"]:
            if not cell["void"]:
                del cell["void"]
        return found


def with_failure(evidence: Evidence, failure: Mapping[str, Any] | None) -> Evidence:
    """A refutation with exact values at which the checker has verified that the statement fails."""
    if failure is None or evidence.verdict is not Verdict.REFUTED:
        return evidence
    shown = ", ".join(
        f"{name} = {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in failure["values"].items()
    )
    place = f"at {shown}" if shown else "by the numbers of the argument"
    outside = f" Outside that check: {failure['by']}" if failure["by"] else ""
    note = f"The suite's checker has verified that the statement fails {place}.{outside}"
    return replace(evidence, failure=failure, notes=(*evidence.notes, note))


#: The argument beside a theorem of Coq where another note has given it.
_SAME = "The same argument stands outside the theorem."


def with_record(evidence: Evidence, record: Mapping[str, Any] | None) -> Evidence:
    """The evidence with the record that Coq compiled the statement or its negation."""
    if record is None:
        return evidence
    negation = record["kind"] == "negation"
    if evidence.verdict is not (Verdict.REFUTED if negation else Verdict.SUPPORTED):
        return evidence
    known = "its negation" if negation else "it"
    outside = f" Outside the theorem: {record['by']}" if record["by"] else ""
    if outside and any(note.endswith(f": {record['by']}") for note in evidence.notes):
        outside = f" {_SAME}"
    note = (
        f"Coq {record['coq']} has compiled {known} as a theorem. It assumes "
        f"{len(record['axioms'])} axioms, those of Coq's real numbers: "
        f"{', '.join(name.rpartition('.')[2] for name in record['axioms'])}.{outside}"
    )
    return replace(evidence, coq=record, notes=(*evidence.notes, note))
