"""Checks of what a claim says: its id, its statement, its formulas, its sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import get_args, get_type_hints

from bounds.readable import readable
from bounds.statement import Kind, Statement
from verify.conformance.case import Case, Check
from verify.evidence import Verdict

#: Fields of a statement whose values are given -> these values.
_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": get_args(Kind),
    "relation": get_args(get_type_hints(Statement)["relation"]),
}


def the_id_names_the_paper_and_the_statement(case: Case) -> Iterator[str]:
    """``paper.statement`` in small letters, with a publication of that paper."""
    if not re.fullmatch(r"[a-z][a-z0-9]*\.[a-z0-9][a-z0-9.-]*", case.name):
        yield "the id must be paper.statement in small letters, digits, dots and hyphens"
    paper = case.catalogue.paper(case.name)
    if paper.id != case.statement.paper:
        yield f"its paper is {paper.id!r}, and its statement's is {case.statement.paper!r}"
    if case.statement.publication not in paper.publications:
        yield f"{case.statement.publication.label!r} is no publication of its paper"


def the_statement_is_complete(case: Case) -> Iterator[str]:
    """Title, source, quantifiers, observed quantity, right-hand side, meanings of constants.

    Kind and relation are among those that the pages and the procedures know.  A procedure of one's
    own may have a kind of its own.
    """
    told = case.statement
    own = not type(case.built).__module__.startswith("verify.procedures.")
    for field, known in _CHOICES.items():
        if getattr(told, field) not in known and not (own and field == "kind"):
            yield (
                f"its statement's {field} is {getattr(told, field)!r}, and must be one of "
                f"{', '.join(known)}"
            )
    for field in ("title", "source", "quantifiers", "observed"):
        if not getattr(told, field).strip():
            yield f"its statement's {field} is empty"
    if not (told.terms or told.contrasts or told.printed or told.assertion):
        yield "its statement asserts nothing: it has no terms, contrasts, numbers or assertion"
    for field in ("terms", "assumptions"):
        names = [item.name for item in getattr(told, field)]
        if len(set(names)) < len(names):
            yield f"two of its {field} have the same name"
    for constant in told.constants:
        if not 0 <= constant.low < constant.high:
            yield f"the box of the constant {constant.name} is empty"
        if not constant.meaning:
            yield f"the constant {constant.name} has no meaning"
    if "corrected" in told.source and not told.reading:
        yield "its source says that it is corrected, and its reading does not say what was"


def formulas_print_as_latex_and_as_one_readable_line(case: Case) -> Iterator[str]:
    """No raw power sign, balanced braces, one line without commands."""
    told = case.statement
    formulas = [told.latex(), told.failure_latex(), told.quantifiers]
    formulas += [a.latex(told.publication.notation) for a in told.assumptions]
    for latex in formulas:
        if "**" in latex or latex.count("{") != latex.count("}"):
            yield f"the formula {latex!r} is not LaTeX"
            continue
        text = readable(latex)
        if "\n" in text or "\\" in text or bool(text) != bool(latex):
            yield f"the formula {latex!r} does not print as one readable line: {text!r}"


def the_procedure_describes_itself_in_sentences(case: Case) -> Iterator[str]:
    """Whole sentences, without names of Python's objects."""
    text = case.built.describe()
    if len(text) <= 40:
        yield f"the description of its procedure is shorter than a sentence: {text!r}"
        return
    if not (text[0].isupper() or text[0].isdigit() or text[0] == "$"):
        yield f"the description of its procedure begins with {text[0]!r}"
    if not text.rstrip().endswith("."):
        yield "the description of its procedure does not end with a full stop"
    if text.count("$") % 2:
        yield "the description of its procedure has a formula without an end"
    if odd := re.search(r"<\w+ | object at |\bNone\b|\bnan\b", text):
        yield f"the description of its procedure holds {odd[0]!r}"


def the_expected_verdict_is_recorded_and_a_refuted_statement_has_a_finding(
    case: Case,
) -> Iterator[str]:
    """A statement that is known to be false says what was found."""
    if not isinstance(case.claim.expected, Verdict):
        yield f"its expected verdict {case.claim.expected!r} is no verdict"
    if not case.claim.weight > 0:
        yield f"its weight {case.claim.weight} must be above 0"
    if case.claim.expected is Verdict.REFUTED and not case.claim.findings:
        yield "it is expected to be refuted, and names no finding"


def the_document_is_plain_data(case: Case) -> Iterator[str]:
    """What a run stores about the claim survives JSON, and has all that a page shows."""
    document = case.claim.document(case.built)
    if json.loads(json.dumps(document)) != document:
        yield "its document changes when it is written as JSON and read again"
    if document["id"] != case.name or document["expected"] != str(case.claim.expected):
        yield "its document has another id, or another expected verdict"
    for key in ("title", "source", "quantifiers"):
        if document[key] != getattr(case.statement, key):
            yield f"its document has another {key} than its statement"
    for key in ("paper", "kind", "bound_latex", "procedure"):
        if not document[key]:
            yield f"its document has nothing under {key}"
    told = [assumption["name"] for assumption in document["assumptions"] if assumption["latex"]]
    if told != [assumption.name for assumption in case.statement.assumptions]:
        yield f"its document has the assumptions {told}, and not those of its statement"


CHECKS: tuple[Check, ...] = (
    the_id_names_the_paper_and_the_statement,
    the_statement_is_complete,
    formulas_print_as_latex_and_as_one_readable_line,
    the_procedure_describes_itself_in_sentences,
    the_expected_verdict_is_recorded_and_a_refuted_statement_has_a_finding,
    the_document_is_plain_data,
)
