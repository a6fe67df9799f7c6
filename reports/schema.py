"""The documents of a stored run as typed records.  All stored text is read through this module.

A run directory may come from a stranger.  Every document is decoded against these types before
anything is drawn or typeset.  So a wrong type, a missing list or a text that is too long is
refused, and the error names its place.  Fields that a later version adds are ignored.  Missing
fields take the defaults below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from reports.errors import ReportError

Text = Annotated[str, Meta(max_length=20_000)]
Short = Annotated[str, Meta(max_length=2_000)]
#: An integer of a record.  Larger ones are no numbers of trials and no floats.
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Number = Whole | float | None
Scalar = str | int | float | bool | None
Row = Annotated[list[Scalar], Meta(max_length=64)]
Numbers = Annotated[list[Number], Meta(max_length=100_000)]
#: A cell's parameters: scalars, or lists of numbers such as step sizes.
Params = Annotated[dict[Short, Any], Meta(max_length=256)]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A stored document or a part of one."""


class Cell(Record, frozen=True, kw_only=True):
    """One cell's evidence.  ``relation`` says how ``ratio`` compares observed value and bound.

    ``void`` says why the cell supports nothing, empty for a live one.
    """

    params: Params = {}
    n_trials: Whole = 0
    n_failed: Whole = 0
    observed: Number = None
    quantile: Number = None
    se: Number = None
    lower: Number = None
    upper: Number = None
    bound: Number = None
    ratio: Number = None
    relation: Short = "at most"
    verdict: Short = ""
    note: Text = ""
    void: Text = ""


class Table(Record, frozen=True, kw_only=True):
    """A small table.  Its cells are text with inline math, or numbers."""

    title: Text = ""
    columns: Annotated[list[Short], Meta(max_length=64)] = []
    rows: Annotated[list[Row], Meta(max_length=100_000)] = []
    note: Text = ""


class Series(Record, frozen=True, kw_only=True):
    """One curve or set of points.  ``lower`` and ``upper`` are drawn as bars or as a band.

    ``shade`` holds a number for each point, which its colour shows.
    """

    label: Short = ""
    x: Annotated[list[Whole | float], Meta(max_length=100_000)] = []
    y: Numbers = []
    lower: Numbers | None = None
    upper: Numbers | None = None
    style: Literal["points", "line", "dashed", "band"] = "points"
    group: Short = ""
    shade: Numbers | None = None

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        columns = {"y": self.y, "lower": self.lower, "upper": self.upper, "shade": self.shade}
        for name, column in columns.items():
            if column is not None and len(column) != len(self.x):
                raise ValueError(f"{len(self.x)} values of x and {len(column)} of {name}")


class Panel(Record, frozen=True, kw_only=True):
    """One pair of axes as data.  The labels of its axes give the units.

    ``spans`` are intervals of x with a label.
    """

    title: Text = ""
    xlabel: Short = ""
    ylabel: Short = ""
    series: Annotated[list[Series], Meta(max_length=1_000)] = []
    xscale: Literal["linear", "log"] = "linear"
    yscale: Literal["linear", "log"] = "linear"
    hlines: list[tuple[float, Short]] = []
    vlines: list[tuple[float, Short]] = []
    spans: list[tuple[float, float, Short]] = []


class Figure(Panel, frozen=True, kw_only=True):
    """A figure as data: one panel, or the ``panels`` that it holds in its own place.

    ``shade`` is the label of the colour scale.
    """

    name: Short = "figure"
    panels: Annotated[list[Panel], Meta(max_length=24)] = []
    shade: Short = ""
    caption: Text = ""

    @property
    def shown(self) -> list[Panel]:
        """The panels that are drawn."""
        return self.panels or [self]


class Witness(Record, frozen=True, kw_only=True):
    """A counterexample: its place, the observed value, the stated bound, and its trial."""

    description: Text = ""
    params: Params = {}
    observed: Number = None
    bound: Number = None
    trial: Short | None = None


class Inequality(Record, frozen=True, kw_only=True):
    """An inequality that interval arithmetic proved.  Its terms are not printed."""

    says: Text = ""


class Proof(Record, frozen=True, kw_only=True):
    """A certificate that a statement fails."""

    argument: Text = ""
    inequalities: Annotated[list[Inequality], Meta(max_length=1_000)] = []


class Proved(Record, frozen=True, kw_only=True):
    """A proof that a statement holds: the known results that its argument cites."""

    lemmas: Annotated[list[Short], Meta(max_length=64)] = []


class Apart(Record, frozen=True, kw_only=True):
    """Symbols from which the trials tell one symbol of a bound, and from which not."""

    symbol: Short = ""
    told: Annotated[list[Short], Meta(max_length=256)] = []
    not_told: Annotated[list[Short], Meta(max_length=256)] = []


class Slack(Record, frozen=True, kw_only=True):
    """A bound over the observed quantile, over the cells: least, median and most."""

    constants: Text = ""
    least: Number = None
    median: Number = None
    most: Number = None


class Evidence(Record, frozen=True, kw_only=True):
    """The outcome of a claim's procedure.

    ``mark`` is the verdict as it is printed.  ``grade`` says whether a refutation is proved or
    statistical.  ``error`` is the exception with which a claim failed.
    """

    verdict: Short = ""
    mark: Short = ""
    grade: Short = ""
    proof: Proof | None = None
    proved: Proved | None = None
    summary: Text = ""
    error: Text = ""
    level: Number = None
    n_trials: Whole = 0
    n_failed: Whole = 0
    cells: Annotated[list[Cell], Meta(max_length=100_000)] = []
    tables: Annotated[list[Table], Meta(max_length=1_000)] = []
    figures: Annotated[list[Figure], Meta(max_length=1_000)] = []
    sharpness: Annotated[list[Text], Meta(max_length=1_000)] = []
    required: Annotated[dict[Short, Number], Meta(max_length=64)] = {}
    slack: Annotated[list[Slack], Meta(max_length=64)] = []
    apart: Annotated[list[Apart], Meta(max_length=64)] = []
    witness: Witness | None = None
    notes: Annotated[list[Text], Meta(max_length=1_000)] = []


class Assumption(Record, frozen=True, kw_only=True):
    """A condition of a statement, as LaTeX, with a note on its hidden constants.

    ``added`` marks a condition that the paper does not state.
    """

    name: Short = ""
    latex: Text = ""
    note: Text = ""
    added: bool = False


class Constant(Record, frozen=True, kw_only=True):
    """A universal constant with the box in which it was looked for."""

    latex: Short = ""
    low: Number = None
    high: Number = None
    generous: Short = ""
    meaning: Text = ""


class Claim(Record, frozen=True, kw_only=True):
    """A claim of a run.  ``evidence`` is missing until the claim has been tried.

    ``identity`` is the formula from which both sides come, empty where they have two sources.
    """

    id: Short = ""
    title: Text = ""
    paper: Text = ""
    source: Text = ""
    kind: Short = ""
    statement: Text = ""
    quantifiers: Text = ""
    bound_latex: Text = ""
    failure_latex: Text = ""
    assumptions: Annotated[list[Assumption], Meta(max_length=1_000)] = []
    constants: Annotated[list[Constant], Meta(max_length=1_000)] = []
    reading: Text = ""
    cells_description: Text = ""
    procedure: Text = ""
    expected: Short = ""
    identity: Text = ""
    profile: Short = ""
    selection: Short = ""
    replay: Annotated[list[Text], Meta(max_length=100)] = []
    seconds: Number = None
    evidence: Evidence | None = None


class Judged(Record, frozen=True, kw_only=True):
    """A changed statement: the change in words, and whether the evidence refuted it."""

    words: Text = ""
    outcome: Short = ""


class Power(Record, frozen=True, kw_only=True):
    """The changed statements that were decided on a claim's evidence."""

    judged: Annotated[list[Judged], Meta(max_length=10_000)] = []
    refuted: Annotated[list[Text], Meta(max_length=10_000)] = []
    needed: Annotated[list[Text], Meta(max_length=10_000)] = []
    n_false: Whole = 0
    n_caught: Whole = 0
    n_refuted: Whole | None = None
    n_mutants: Whole = 0


class Summary(Record, frozen=True, kw_only=True):
    """The run as a whole: seed, profile, levels, software."""

    title: Short = "Verification report"
    run_id: Short | None = None
    profile: Short | None = None
    seed: int | None = None
    executor: Short | None = None
    n_jobs: Whole | None = None
    started: Short = ""
    finished: Short = ""
    wall_seconds: Number = None
    familywise_level: Number = None
    allocation: Annotated[list[tuple[Short, float]], Meta(max_length=100_000)] = []
    not_run: Annotated[list[tuple[Short, Text]], Meta(max_length=100_000)] = []
    environment: dict[Short, Short] = {}
    commands: Annotated[list[Text], Meta(max_length=1_000)] = []
    content_digest: Short | None = None


class Plan(Record, frozen=True, kw_only=True):
    """The claims that a run tries, and the profile to which it was extended last."""

    claims: Annotated[list[Short], Meta(max_length=100_000)] = []
    profile: Short | None = None


class Finding(Record, frozen=True, kw_only=True):
    """A difference from the printed text of a paper, with the claims that show it."""

    where: Text = ""
    printed: Text = ""
    found: Text = ""
    corrected: Text = ""
    severity: Short = "other"
    headline: Text = ""
    evidence: Annotated[list[Short], Meta(max_length=1_000)] | Short = []

    @property
    def claims(self) -> list[str]:
        """The claims that show the finding, always as a list."""
        return [self.evidence] if isinstance(self.evidence, str) else list(self.evidence)


class Symbols(Record, frozen=True, kw_only=True):
    """A paper's notation: pairs of a symbol's LaTeX and its meaning."""

    symbols: Annotated[list[tuple[Short, Text]], Meta(max_length=1_000)] = []


class Paper(Record, frozen=True, kw_only=True):
    """A paper of the run: its title, (label, BibTeX) of its publications, its data in sentences."""

    title: Text = ""
    publications: Annotated[list[tuple[Text, Text]], Meta(max_length=100)] = []
    uses: dict[Short, list[Short]] = {}
    data: Text = ""


class Reader(Protocol):
    """The interface to a run store that the report uses: the documents of a kind, by key."""

    def documents(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """All documents of a kind, an empty mapping when there is none."""
        ...


T = TypeVar("T", bound=Record)


def read(reader: Reader, kind: str, type_: type[T]) -> dict[str, T]:
    """All documents of a kind as records, by key.

    Raises
    ------
    ReportError
        When a field of a document has the wrong type.  The message names its place.
    """
    return {
        key: decode(document, type_, f"{kind} {key[:80]!r}")
        for key, document in reader.documents(kind).items()
    }


def decode(document: Mapping[str, Any], type_: type[T], name: str) -> T:
    """One document as a record.

    >>> decode({"title": "A run"}, Summary, "run").title
    'A run'
    >>> decode({"seed": "x"}, Summary, "run")
    Traceback (most recent call last):
        ...
    reports.errors.ReportError: run: cannot be read: Expected `int | null`, got `str` - at `$.seed`
    """
    try:
        return msgspec.convert(document, type_)
    except (msgspec.ValidationError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300] or "it is nested too deeply"
        raise ReportError(f"{name}: cannot be read: {reason}") from None
