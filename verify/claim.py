"""A claim: a statement of a paper, the procedure that tries it, and the expected verdict.

A claim is made by the decorator `claim` on the function that builds its procedure:

    @claim("toy.thm1", THEOREM_1, expected=Verdict.SUPPORTED)
    def one_step(statement: Statement, profile: Profile) -> Procedure:
        ...

The builder gets the statement as an argument and takes every exponent, factor, limit and failure
probability from it.  So the verdict depends on the statement: ``replace(claim, statement=other)``
builds the procedure that tries the other statement.  Several statements that one function tries
are the rows of a `table`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, Literal, get_type_hints

from bounds.render import latex
from bounds.statement import Assumption, Statement
from trials.checks import InvalidParameter
from verify.evidence import Verdict
from verify.procedures.base import PROFILES, Profile, tex_number
from verify.procedures.interface import Procedure

#: How grave a finding is.  The first page prints the first two only.
Severity = Literal["statement", "proof", "edge", "strong", "slip"]
#: The severities in words, the gravest first.
SEVERITIES: dict[Severity, str] = {
    "statement": "a stated result is false",
    "proof": "a step of a proof is false",
    "edge": "false in a unit or at an edge",
    "strong": "the sentence is too strong",
    "slip": "a misprint or an open point, which refutes nothing",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An error in a paper's printed text.

    Text fields may hold inline LaTeX math between dollar signs.  The claims that show a finding
    name it (`Claim.findings`), so that a report lists them beside it.

    Attributes
    ----------
    id : ``paper-topic``, unique within the catalogue.
    where : the place in print.
    headline : what is wrong, in one sentence that can be read without the rest.  The first page
        prints it.  A misprint has none.
    printed, found, corrected : the printed text, the true fact, and the corrected text.
    severity : one of `SEVERITIES`.  A refuted claim names at least one finding that is no slip.
    """

    id: str
    where: str
    printed: str
    found: str
    corrected: str
    severity: Severity
    headline: str = ""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise InvalidParameter(
                f"{self.id}: severity={self.severity!r} must be one of {', '.join(SEVERITIES)}"
            )


Builder = Callable[[Statement, Profile], Procedure]


def _returned(builder: Builder) -> type[Procedure] | None:
    """The class that a builder's annotation names, None where it names no kind of procedure."""
    try:
        kind = get_type_hints(builder).get("return")
    except (NameError, TypeError, AttributeError):  # a name for type checkers only, a callable
        return None
    known = isinstance(kind, type) and issubclass(kind, Procedure) and kind is not Procedure
    return kind if known else None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement, how it is tried, and the known outcome.

    Attributes
    ----------
    builder : makes the pre-registered procedure from the statement and a profile: cells, budget,
        constants' box.
    expected : the catalogue's verdict.  A statement known to be false is expected to be refuted.
    findings : the findings about the paper's text that this claim shows.
    weight : share of its paper's error level, relative to the paper's other statistical claims.
    smallest_profile : the smallest profile at which the claim is run.  At smaller ones it is listed
        as not run, with ``why_not_smaller``.
    larger : the verdicts expected from a larger profile on, for a claim that stays open at the
        smaller ones.
    hidden : values of the assumptions' hidden constants with which every cell meets them.
    sharper : a sharper statement that has a proof, with the symbols of this one.  A changed
        statement that stays above it is true (`verify.mutation.harder.follows_from`).
    identity : the formula from which both sides come, in words, empty where they have different
        sources.  Such a claim compares two forms of one formula.  It is listed and counted apart,
        and no tally of verdicts holds it.
    """

    statement: Statement
    builder: Builder
    expected: Verdict = Verdict.SUPPORTED
    findings: tuple[Finding, ...] = ()
    weight: float = 1.0
    smallest_profile: str = "quick"
    why_not_smaller: str = ""
    larger: Mapping[str, Verdict] = field(default_factory=dict)
    hidden: Mapping[str, float] = field(default_factory=dict)
    sharper: Statement | None = None
    identity: str = ""

    def __post_init__(self) -> None:
        names = list(PROFILES)
        if self.smallest_profile not in names:
            raise InvalidParameter(
                f"{self.id}: smallest_profile={self.smallest_profile!r} must be one of "
                f"{', '.join(names)}"
            )
        if self.smallest_profile != names[0] and not self.why_not_smaller:
            raise InvalidParameter(
                f"{self.id}: a claim that is not run below {self.smallest_profile!r} must say why "
                "(why_not_smaller)"
            )
        for profile in self.larger:
            if profile not in names[names.index(self.smallest_profile) + 1 :]:
                raise InvalidParameter(
                    f"{self.id}: larger={{{profile!r}: ...}} must name a profile above "
                    f"{self.smallest_profile!r}"
                )
        if self.larger and self.expected is not Verdict.INCONCLUSIVE:
            raise InvalidParameter(
                f"{self.id}: expected={self.expected} must be INCONCLUSIVE where a larger profile "
                "changes it: more trials decide an open claim and leave other verdicts as they are"
            )

    @property
    def id(self) -> str:
        """``paper.statement``."""
        return self.statement.id

    @property
    def severity(self) -> Severity | None:
        """The severity of the gravest finding that the claim shows, None without a finding."""
        shown = {finding.severity for finding in self.findings}
        return next((severity for severity in SEVERITIES if severity in shown), None)

    def not_run_at(self, profile: str) -> str:
        """The reason why the claim is not run at a profile, empty where it is run."""
        names = list(PROFILES)
        if names.index(profile) >= names.index(self.smallest_profile):
            return ""
        return f"not run below {self.smallest_profile}: {self.why_not_smaller}"

    def at(self, profile: str) -> Claim:
        """This claim with the verdict that is expected at a profile (``larger``)."""
        reached = list(PROFILES)[: list(PROFILES).index(profile) + 1]
        changed = [self.larger[name] for name in reached if name in self.larger]
        return replace(self, expected=changed[-1], larger={}) if changed else self

    def build(self, profile: Profile) -> Procedure:
        """The procedure that tries this claim's statement with the profile's budget."""
        return self.builder(self.statement, profile)

    @cached_property
    def statistical(self) -> bool:
        """Whether the verdict depends on chance, as the class that the builder returns says.

        The class is the builder's annotation.  Without one the procedure is built, which takes
        milliseconds: a run asks this of every claim of its papers.
        """
        kind = _returned(self.builder) or type(self.build(PROFILES[self.smallest_profile]))
        return kind.statistical

    def document(self, procedure: Procedure) -> dict[str, Any]:
        """The claim's static part as plain data for the store, typeset fields in LaTeX."""
        return {
            **self.stated(),
            "procedure": self.described(procedure),
            "expected": str(self.expected),
            **({"identity": self.identity} if self.identity else {}),
        }

    def stated(self) -> dict[str, Any]:
        """The part of the document that depends on no procedure, and so on no profile."""
        statement = self.statement
        notation = statement.publication.notation
        return {
            "id": self.id,
            "title": statement.title,
            "paper": statement.publication.label,
            "source": statement.source,
            "kind": statement.kind,
            "quantifiers": statement.quantifiers,
            "bound_latex": statement.latex(),
            "failure_latex": statement.failure_latex(),
            "assumptions": [
                {
                    "name": a.name,
                    "latex": a.latex(notation),
                    "note": self._note(a),
                    "added": a.added,
                }
                for a in statement.assumptions
            ],
            "constants": [
                {
                    "latex": latex(c.symbol, notation),
                    "low": c.low,
                    "high": c.high,
                    "generous": c.generous,
                    "meaning": c.meaning,
                }
                for c in statement.constants
            ],
            "reading": statement.reading,
        }

    def described(self, procedure: Procedure) -> str:
        """The procedure in words, with the meanings of a search's coordinates."""
        domain = procedure.searched()
        if domain is None:
            return procedure.describe()
        told = "; ".join(f"{name}: {text}" for name, text in domain.meanings().items())
        return f"{procedure.describe()} Coordinates: {told}." if told else procedure.describe()

    def _note(self, assumption: Assumption) -> str:
        """The values of an assumption's hidden constants here, and its own note."""
        notation = self.statement.publication.notation
        symbols = assumption.left.free_symbols | assumption.right.free_symbols
        values = [
            f"${latex(symbol, notation)}={tex_number(self.hidden[symbol.name])}$"
            for symbol in (assumption.constant, *sorted(symbols, key=str))
            if symbol is not None and symbol.name in self.hidden
        ]
        met = "in every cell with " + ", ".join(values) if values else ""
        return "; ".join(text for text in (met, assumption.note) if text)


def claim(
    id: str,
    statement: Statement,
    *,
    expected: Verdict = Verdict.SUPPORTED,
    finding: Finding | Sequence[Finding] = (),
    weight: float = 1.0,
    smallest_profile: str = "quick",
    why_not_smaller: str = "",
    larger: Mapping[str, Verdict] | None = None,
    hidden: Mapping[str, float] | None = None,
    sharper: Statement | None = None,
    identity: str = "",
) -> Callable[[Builder], Claim]:
    """Make a claim from the function that builds its procedure.  Arguments are `Claim`'s fields.

    ``id`` is the statement's own.  It stands there so that a search for it finds the claim.
    ``finding`` takes one finding or several.  The decorated name is the `Claim`, and the function
    is its ``builder``.
    """
    if id != statement.id:
        raise InvalidParameter(
            f"claim {id!r} must have the id of its statement, which is {statement.id!r}"
        )

    def decorate(builder: Builder) -> Claim:
        return Claim(
            statement=statement,
            builder=builder,
            expected=expected,
            findings=(finding,) if isinstance(finding, Finding) else tuple(finding),
            weight=weight,
            smallest_profile=smallest_profile,
            why_not_smaller=why_not_smaller,
            larger=dict(larger or {}),
            hidden=dict(hidden or {}),
            sharper=sharper,
            identity=identity,
        )

    return decorate


#: The arguments of `claim` that a row gives.
_FIELDS = frozenset(
    (
        "expected",
        "finding",
        "weight",
        "smallest_profile",
        "why_not_smaller",
        "larger",
        "hidden",
        "sharper",
        "identity",
    )
)


@dataclass(frozen=True)
class Row:
    """A statement of a table, with the arguments that are its own."""

    id: str
    statement: Statement
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Deferred:
    """An argument of a row that is computed when its claim is first built, not at import."""

    compute: Callable[[], Any]

    @cached_property
    def value(self) -> Any:
        """What the function returns.  Every further mutant of the claim gets the same object."""
        return self.compute()


def row(id: str, statement: Statement, body: Any = None, **arguments: Any) -> Any:
    """One statement of a table: a `Row` of `table`, or a `Claim` where the function stands in it.

    Arguments of `claim` are the claim's.  All others are passed to ``body`` behind the statement
    and the profile.  ``refuted=FINDING`` says that the statement is false and which finding it
    shows.
    """
    if body is None:
        return Row(id, statement, arguments)
    return _claim_of(Row(id, statement, arguments), body, sys._getframe(1).f_globals["__name__"])


def table(body: Callable[..., Procedure], *rows: Row, **shared: Any) -> tuple[Claim, ...]:
    """The claims of several statements that one function tries.

    A table is a variable of a module of claims:

        BALL = table(
            ball,
            row("toy.ball", BALL_1),
            row("toy.ball-as-printed", BALL_2, radius=2.0, refuted=RADIUS),
            finding=RADIUS,
        )

    ``shared`` holds arguments of every row that has none of its own.
    """
    module = sys._getframe(1).f_globals["__name__"]
    return tuple(
        _claim_of(Row(each.id, each.statement, {**shared, **each.arguments}), body, module)
        for each in rows
    )


def _claim_of(given: Row, body: Callable[..., Procedure], module: str) -> Claim:
    """The claim of a row.  It belongs to the module of its table, wherever the body is defined."""
    arguments = dict(given.arguments)
    if "refuted" in arguments:
        arguments |= {"expected": Verdict.REFUTED, "finding": arguments.pop("refuted")}
    fields = {name: arguments.pop(name) for name in _FIELDS & {*arguments}}

    @wraps(body)
    def builder(stated: Statement, profile: Profile) -> Procedure:
        computed = {n: a.value for n, a in arguments.items() if isinstance(a, Deferred)}
        return body(stated, profile, **arguments | computed)

    builder.__module__ = module
    return claim(given.id, given.statement, **fields)(builder)
