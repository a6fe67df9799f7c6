"""A claim's power: the false statements that its evidence would have refuted, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from reports.characters import Latex
from reports.prose import prose
from reports.reading import capital, plural, sentence
from reports.schema import Power

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
        made = plural(power.n_false, "false statement was", "false statements were")
        lines.append(
            f"{made} made from this one by changes of exponents, factors, terms, probabilities and "
            f"quantifiers, and {power.n_caught} of them lost their support"
        )
    if power.refuted:
        lines.append(f"this evidence would have refuted: {_listed(power.refuted)}")
    if power.needed:
        lines.append(f"it is false with a weaker condition: {_listed(power.needed)}")
    if unseen := [j.words for j in power.judged if j.outcome in _UNSEEN]:
        lines.append(f"it would not have seen: {_listed(unseen)}")
    if true := [j.words for j in power.judged if j.outcome == "true here"]:
        lines.append(f"also true where it is tried: {_listed(true)}")
    if few := [j.words for j in power.judged if j.outcome == "few trials"]:
        lines.append(f"too few trials to tell from the original: {_listed(few)}")
    if kept:
        lines.append(f"supported as well, and nobody asked whether it is true: {_listed(kept)}")
    if not whole:
        lines.append(
            f"this is a sample of {plural(len(power.judged), 'change')} out of {power.n_mutants}"
        )
    # A paragraph for each outcome: in one paragraph the lists run into each other.
    written = [line.replace("e^-m", "$e^{-m}$") for line in lines]
    return Latex("\n\n".join(sentence(capital(prose(line))) for line in written))


def _listed(changes: Sequence[str]) -> str:
    """Changes in one line, the first few of them."""
    text = "; ".join(changes[:_SHOWN])
    more = len(changes) - _SHOWN
    return text if more <= 0 else f"{text}; and {more} more"
