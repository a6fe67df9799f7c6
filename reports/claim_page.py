"""One claim's page: statement, evidence, figures and tables as LaTeX, and the files beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reports import figures, overview
from reports.characters import Latex
from reports.claim_tables import Files, assignment, claim_tables
from reports.dependencies import Node
from reports.errors import ReportError
from reports.mathematics import LINE, display, width
from reports.reading import Tried, slug
from reports.schema import Assumption, Constant, Evidence, Figure, Power, Witness
from reports.text import (
    capital,
    code,
    commands,
    enumerate_items,
    formula,
    join_sentences,
    latex_field,
    number,
    paragraphs,
    parameter,
    plural,
    prose,
    run_in,
    sentence,
)


class Place(NamedTuple):
    """The pages around a claim's page.

    Attributes
    ----------
    earlier : the claims of the paper whose pages come before.
    node : the statement's place in the paper's proofs, None where it has none.
    names : claim -> the name of its page.
    """

    earlier: Sequence[Tried] = ()
    node: Node | None = None
    names: Mapping[str, str] = {}


def claim_page(
    tried: Tried, files: Files, place: Place | None = None, form: figures.Form | None = "pdf"
) -> dict[str, Any]:
    """The template's variables of one claim.  Its figures and CSV files are added to ``files``.

    Without a ``form`` no figure is drawn.

    Conditions that an earlier claim of the ``place`` has are named by a link to its page.

    Raises
    ------
    ReportError
        When a formula of the claim cannot be typeset.  The message names the claim.
    """
    try:
        return _page(tried, files, place or Place(), form)
    except ReportError as error:
        raise ReportError(f"claim {tried.key[:80]!r}: {error}") from None


def _page(tried: Tried, files: Files, place: Place, form: figures.Form | None) -> dict[str, Any]:
    claim, evidence, name = tried.claim, tried.evidence, tried.name
    paper = form != "svg"
    shown, tallies = claim_tables(tried, files)
    conditions = [
        ("Assumptions", _printed_conditions(tried, place.earlier, paper)),
        ("Not in the paper", _conditions(_own(tried, added=True), paper)),
        ("Constants", run_in([_constant(item) for item in claim.constants])),
    ]
    runs = [("Reading", paragraphs(claim.reading))]
    after = [
        ("Cells", paragraphs(claim.cells_description)),
        ("Procedure", paragraphs(_searched(tried))),
        *tallies,
        ("Refutation", _refutation(evidence)),
        ("Witness", _witness(tried, evidence.witness) if evidence.witness else Latex("")),
        ("Sharpness", join_sentences(*map(prose, evidence.sharpness), _slack(evidence))),
        ("Told apart", _apart(evidence)),
        ("Power", power_paragraph(tried.power)),
        ("Notes", join_sentences(*map(prose, evidence.notes))),
        ("Proofs", _in_proofs(place.node, tried, place.names) if place.node else Latex("")),
    ]
    effort = _effort(tried)
    expectation = "as expected" if tried.as_expected else f"expected {claim.expected}"
    words = ["" if tried.as_expected is None else expectation]
    words += ["identity of formulas"] * bool(claim.identity)
    return {
        "id": code(tried.key),
        "title": prose(claim.title or claim.id or tried.key),
        "label": Latex(f"sec:{name}"),
        "statement_label": Latex(f"st:{name}"),
        "verdict": tried.mark,
        "colour": tried.colour,
        "grade": prose(evidence.grade),
        "expectation": ", ".join(filter(None, words)),
        "answer": Latex(sentence(capital(paragraphs(tried.answer)))),
        "facts": join_sentences(
            capital(prose(f"{claim.source}, {claim.paper}".strip(", "))), effort
        ),
        "brief": join_sentences(capital(prose(claim.source)), effort),  # below its paper's heading
        "statement": latex_field(claim.statement),
        "quantifiers": latex_field(claim.quantifiers),
        "failure": Latex(sentence(formula(claim.failure_latex))),
        "bound": display(claim.bound_latex, paper=paper),
        "conditions": [(heading, text) for heading, text in conditions if text],
        "runs": [(heading, text) for heading, text in runs if text],
        "figures": _figures(evidence.figures, name, files, form) if form else [],
        "tables": shown,
        "after": [(heading, text) for heading, text in after if text],
        "replay": commands(claim.replay),
    }


def _is_replaced(tried: Tried) -> bool:
    """Whether a certificate replaced the search of the claim, if it has one."""
    return tried.evidence.proved is not None and not tried.evidence.n_trials


def _searched(tried: Tried) -> str:
    """The procedure, which a certificate may have replaced."""
    instead = "A certificate stands in the place of this search. " * _is_replaced(tried)
    return instead + tried.claim.procedure if tried.claim.procedure else ""


def _effort(tried: Tried) -> Latex:
    """Kind, trials and level in one sentence."""
    claim, evidence = tried.claim, tried.claim.evidence
    parts = [capital(prose(claim.kind))] if claim.kind else []
    if evidence is not None and not _is_replaced(tried):
        search = claim.kind in ("identity", "deterministic")
        effort = plural(evidence.n_trials, "evaluation" if search else "trial")
        failed = f", {number(evidence.n_failed)} failed" if evidence.n_failed or not search else ""
        level = [f"level {number(evidence.level, 2)}"] if evidence.level else []
        parts += [effort + failed, *level]
    return Latex(sentence("; ".join(parts)))


# -- statement -----------------------------------------------------------------------------------

_GENEROUS = {"high": "upper end generous", "low": "lower end generous"}


def _constant(constant: Constant) -> Latex:
    generous = _GENEROUS.get(constant.generous, "chosen by the user of the algorithm")
    symbol, low, high = formula(constant.latex), number(constant.low), number(constant.high)
    box = f"{symbol} in {{[}}{low}, {high}{{]}}"
    if _are_formulas(symbol, low, high):
        box = f"${symbol[1:-1]}\\in[{low[1:-1]},\\ {high[1:-1]}]$"
    return Latex(f"{box}, {prose(constant.meaning)} ({generous})")


def _are_formulas(*texts: str) -> bool:
    """Whether each text is one inline formula.  A stranger's symbol may hold words."""
    return all(re.fullmatch(r"\$[^$]*\$", text) for text in texts)


#: Conditions that a page repeats rather than send the reader to another page.
_FEW = 2


def _own(tried: Tried, *, added: bool) -> list[Assumption]:
    """The conditions that the paper states, or those that were ``added`` to them."""
    return [item for item in tried.claim.assumptions if item.added == added]


def _printed_conditions(tried: Tried, earlier: Sequence[Tried], paper: bool) -> Latex:
    """The paper's conditions in a sentence, those of an earlier claim by name where one serves."""
    own = _own(tried, added=False)
    known = [(other, _own(other, added=False)) for other in earlier]
    serving = [(o, held) for o, held in known if len(held) > _FEW and all(a in own for a in held)]
    if not serving:
        return _conditions(own, paper)
    best, held = max(serving, key=lambda item: len(item[1]))
    link = rf"\hyperref[sec:{best.name}]{{{code(best.key)}}}"
    more = [item for item in own if item not in held]
    return _conditions(more, paper, f"Those of {link}")


def _conditions(items: Sequence[Assumption], paper: bool, *before: str) -> Latex:
    """Conditions in one sentence, which may begin with other words."""
    return run_in([*before, *(_condition(item, paper) for item in items)])


def _condition(item: Assumption, paper: bool) -> Latex:
    text = prose(item.name)
    if paper and "$" not in item.latex and width(item.latex) > LINE:
        text = Latex(rf"\emph{{{text}}}: \cflformula{{{display(item.latex, paper=True)}}}")
    elif item.latex:
        text = Latex(f"\\emph{{{text}}}: {formula(item.latex)}")
    return Latex(f"{text} ({prose(item.note)})") if item.note else text


def cited(tried: Tried) -> list[str]:
    """The known results that a claim's certificate cites."""
    return tried.evidence.proved.lemmas if tried.evidence.proved is not None else []


def _in_proofs(node: Node, tried: Tried, names: Mapping[str, str]) -> Latex:
    """The statements that a proof uses, and those whose proofs use its statement.

    What a certificate cites is told apart: it may prove what the proof does not.
    """

    def linked(ids: Sequence[str]) -> str:
        return enumerate_items(
            [
                rf"\hyperref[sec:{names[name]}]{{{code(name)}}}" if name in names else code(name)
                for name in ids
            ]
        )

    parts = []
    lemmas = cited(tried)
    if used := [name for name in node.uses if name not in lemmas]:
        parts.append(f"The proof of this statement uses {linked(used)}.")
    if node.shaken:
        parts.append(f"So that proof rests on the refuted {linked(node.shaken)}.")
        if tried.evidence.proved is not None:
            parts.append("The certificate is another proof.")
    if lemmas:
        parts.append(f"The certificate uses {enumerate_items([prose(name) for name in lemmas])}.")
    if node.used_by:
        parts.append(f"This statement is used in the proof of {linked(node.used_by)}.")
    return Latex(" ".join(parts))


# -- evidence ------------------------------------------------------------------------------------


def _slack(evidence: Evidence) -> Latex:
    """The required constants, and the slack of the bound, where the evidence has them."""
    needed = []
    for name, value in evidence.required.items():
        symbol, shown = formula(name), number(value)
        one = _are_formulas(symbol, shown)
        needed.append(f"${symbol[1:-1]}={shown[1:-1]}$" if one else f"{symbol} = {shown}")
    lines = [f"The trials require {enumerate_items(needed)}"] if needed else []
    lines += [
        f"With {prose(s.constants)} the bound is {number(s.median)} times the observed quantile "
        f"(median over the cells, from {number(s.least)} to {number(s.most)})"
        for s in evidence.slack
    ]
    return join_sentences(*lines)


def _apart(evidence: Evidence) -> Latex:
    """From which others the trials tell each symbol of the bound, and from which not."""

    def words(names: Sequence[str]) -> str:
        return enumerate_items([Latex("a constant") if n == "1" else parameter(n) for n in names])

    lines = []
    for apart in evidence.apart:
        symbol, unseen = parameter(apart.symbol), words(apart.not_told)
        if apart.told:
            told = f"The trials tell {symbol} from {words(apart.told)}"
            lines.append(f"{told}, not from {unseen}" if apart.not_told else told)
        elif apart.not_told:
            lines.append(f"The trials do not tell {symbol} from {unseen}")
    return join_sentences(*map(Latex, lines))


def _figure_path(name: str, figure: Figure, form: figures.Form) -> str:
    return f"figures/{name}-{slug(figure.name)[:80]}.{form}"


def first_figure(tried: Tried, form: figures.Form) -> str:
    """The file of the first figure on a claim's page.  The claim has one."""
    return _figure_path(tried.name, tried.evidence.figures[0], form)


def first_caption(tried: Tried) -> Latex:
    """The caption of that figure."""
    return _caption(tried.evidence.figures[0])


def _numbers(path: str) -> str:
    """The CSV file with the points of a figure of the site."""
    return f"{path.removesuffix('.svg')}.csv"


def _figures(
    stored: Sequence[Figure], name: str, files: Files, form: figures.Form
) -> list[dict[str, Latex]]:
    """The drawn figures, added to ``files`` under names of their own."""
    drawn = []
    for figure in stored:
        path = _figure_path(name, figure, form)
        while path in files:
            path = f"{path.removesuffix(f'.{form}')}-x.{form}"
        files[path] = figures.render(figure, form=form)
        if form == "svg":
            files[_numbers(path)] = figures.figure_csv(figure)
        drawn.append(
            {
                "path": Latex(path),
                "numbers": Latex(_numbers(path)),
                "caption": _caption(figure),
                "label": Latex(f"fig:{slug(path)}"),
            }
        )
    return drawn


# The caption already explains the bars.  They may be quantiles, which are no confidence limits.
_SPREAD = re.compile(r"\b(bars?|bands?|shad\w+|percent|quantiles?|standard errors?|limits)\b")


def _caption(figure: Figure) -> Latex:
    """Title and caption.  The meaning of bars is added where the caption does not give it."""
    parts = [sentence(figure.title), sentence(figure.caption)]
    limited = any(s.lower or s.upper for panel in figure.shown for s in panel.series)
    if limited and not _SPREAD.search(figure.caption):
        parts.append("Bars and bands span the lower and upper confidence limits.")
    parts.append(figures.undrawn(figure))
    return prose(" ".join(part for part in parts if part))


def _refutation(evidence: Evidence) -> Latex:
    """The argument and the inequalities of a proof, empty where a refutation has none."""
    if evidence.proof is None:
        return Latex("")
    shown = "; ".join(prose(inequality.says) for inequality in evidence.proof.inequalities)
    argument = paragraphs(evidence.proof.argument)
    return Latex(f"Proved. {argument} Interval arithmetic encloses both sides: {sentence(shown)}")


def _witness(tried: Tried, witness: Witness) -> Latex:
    text = Latex(capital(prose(sentence(witness.description))))
    observed, stated = number(witness.observed, 4), number(witness.bound, 4)
    seen = f"observed {observed}, stated bound {stated}."
    if overview.is_search(tried) and None not in (witness.observed, witness.bound):
        seen = f"the statement says {observed} {overview.relation(witness)} {stated}."
    if witness.params:
        text = Latex(f"{text} At {assignment(witness.params, list(witness.params))}: {seen}")
    else:
        text = Latex(f"{text} {capital(seen)}")
    return Latex(f"{text} Trial {code(witness.trial)}.") if witness.trial else text


# -- power -----------------------------------------------------------------------------------------

_SHOWN = 8  # changes that one sentence lists
_UNSEEN = ("unseen", "survived")


def power_paragraph(power: Power | None) -> Latex:
    """The paragraph *Power* of a claim's page, empty where no mutant was decided."""
    if power is None or not power.judged:
        return Latex("")
    kept = [j.words for j in power.judged if j.outcome == "kept"]
    whole = len(power.judged) == power.n_mutants and not kept
    lines = []
    if whole and power.n_false:
        made = plural(power.n_false, "statement was", "statements were")
        lines.append(
            f"{made} made from this one by changes of exponents, factors, terms, probabilities and "
            "quantifiers, which ask for more and are not shown to be true, and "
            f"{power.n_caught} of them lost their support{_refuted(power.n_refuted)}"
        )
    if power.refuted:
        lines.append(f"this evidence would not support: {_list(power.refuted)}")
    if power.needed:
        lines.append(f"it is false with a weaker condition: {_list(power.needed)}")
    if unseen := [j.words for j in power.judged if j.outcome in _UNSEEN]:
        lines.append(f"it would not have seen: {_list(unseen)}")
    if true := [j.words for j in power.judged if j.outcome == "true here"]:
        lines.append(f"also true where it is tried: {_list(true)}")
    if few := [j.words for j in power.judged if j.outcome == "few trials"]:
        lines.append(f"too few trials to tell from the original: {_list(few)}")
    if kept:
        lines.append(
            "the evidence supports these changed statements too, and the run did not ask whether "
            f"they are true: {_list(kept)}"
        )
    if not whole:
        lines.append(
            f"this is a sample of {plural(len(power.judged), 'change')} out of {power.n_mutants}"
        )
    # A paragraph for each outcome: in one paragraph the lists run into each other.
    written = [line.replace("e^-m", "$e^{-m}$") for line in lines]
    return Latex("\n\n".join(sentence(capital(prose(line))) for line in written))


def _refuted(n_refuted: int | None) -> str:
    """How many of the changed statements are shown to be false, empty where a run does not say."""
    return "" if n_refuted is None else f", {n_refuted} by a refutation"


def _list(changes: Sequence[str]) -> str:
    """Changes in one line, the first few of them."""
    text = "; ".join(changes[:_SHOWN])
    more = len(changes) - _SHOWN
    return text if more <= 0 else f"{text}; and {more} more"
