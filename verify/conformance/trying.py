"""Checks of what a claim tries: cells, parameters, constants, budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from trials.checks import InvalidParameter
from trials.parameters import Parameter
from trials.run.experiment import is_registered
from verify.conformance.case import QUICK, Case, Check
from verify.evidence import Verdict
from verify.mutation.fingerprint import cells_of
from verify.procedures.base import PROFILES, Profile, Sampling, UnknownParameter
from verify.procedures.search import Search

#: Fewer trials and evaluations than any profile has.
FEW = Profile(name="quick", max_trials=16, searches=24, seconds=2.0)


def every_cell_is_inside_the_assumptions(case: Case) -> Iterator[str]:
    """The procedure's own check passes, and no two cells are equal."""
    try:
        case.built.check()
    except ValueError as error:
        yield f"a cell is impossible or outside the assumptions: {error}"
    spelled = [repr(sorted(cell.items())) for cell in cells_of(case.built)]
    if len(set(spelled)) < len(spelled):
        yield "two of its cells are equal"


def parameters_that_the_statement_names_are_varied(case: Case) -> Iterator[str]:
    """Symbols of the statement that are parameters.  A search varies its domain, and one cell
    refutes.
    """
    cells = cells_of(case.built)
    if not cells or case.claim.expected is Verdict.REFUTED:
        return
    expressions = [term.expr for term in case.statement.terms]
    expressions += [e for e in (case.statement.failure,) if e is not None]
    named = {symbol.name for e in expressions for symbol in e.free_symbols} & set(cells[0])
    for symbol in sorted(named):
        if len({repr(cell[symbol]) for cell in cells if symbol in cell}) < 2:
            yield f"its statement names {symbol}, and all cells have the same {symbol}"


def the_builder_is_deterministic_and_cells_do_not_depend_on_the_profile(
    case: Case,
) -> Iterator[str]:
    """Trials of a smaller profile are kept by a larger one."""
    again, full = case.claim.build(QUICK), case.claim.build(PROFILES["full"])
    if again.describe() != case.built.describe():
        yield "its builder makes another procedure each time"
    if not cells_of(again) == cells_of(case.built) == cells_of(full):
        yield "its cells change from one build to the next, or with the profile"


def the_builder_says_which_procedure_it_returns(case: Case) -> Iterator[str]:
    """A run reads there whether the claim takes a share of the level, and builds it for nothing."""
    if case.claim.statistical != case.built.statistical:
        yield f"its builder is annotated with another kind than {type(case.built).__name__}"


def an_unknown_parameter_is_refused_with_the_list_of_names(case: Case) -> Iterator[str]:
    """``claim[zzz=1]`` names the parameters that there are."""
    try:
        case.built.override({"zzz": 1})
    except UnknownParameter as error:
        if "no parameter 'zzz'; its parameters: " not in str(error):
            yield f"the error for an unknown parameter does not list the known ones: {error}"
    except (NotImplementedError, InvalidParameter, TypeError, KeyError) as error:
        yield f"an unknown parameter is refused by another error than UnknownParameter: {error}"
    else:
        yield "it accepts values for the parameter 'zzz', which it does not have"


def hidden_constants_of_the_assumptions_are_declared(case: Case) -> Iterator[str]:
    """A condition "at least of order" has a constant, and the claim says which value it takes."""
    declared = set(case.claim.hidden) | set(getattr(case.built, "constants", {}))
    for assumption in case.statement.assumptions:
        if assumption.constant is not None and assumption.constant.name not in declared:
            yield (
                f"the assumption {assumption.name!r} has the constant "
                f"{assumption.constant.name}, and the claim gives it no value (hidden=...)"
            )


def samplings(part: Any, depth: int = 0) -> Iterator[Sampling]:
    """The samplings inside a procedure."""
    if isinstance(part, Sampling):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from samplings(each, depth)
    elif is_dataclass(part) and depth < 3:
        for field in fields(part):
            yield from samplings(getattr(part, field.name), depth + 1)


def each_experiment_is_registered_with_its_parameters(case: Case) -> Iterator[str]:
    """A run finds it by its name.  A parameter is a `trials.parameters.Parameter`."""
    for experiment in {s.experiment.name: s.experiment for s in samplings(case.built)}.values():
        if not is_registered(experiment):
            yield f"its experiment {experiment.name} is not registered: call api.register"
        entries = getattr(experiment.parameters, "entries", {})
        for name, entry in entries.items():
            if not isinstance(entry, Parameter):
                yield (
                    f"the parameter {name} of its experiment is {entry!r}, and must be Integer, "
                    "Real or Options"
                )


def it_keeps_to_the_trials_and_the_evaluations_of_its_profile(case: Case) -> Iterator[str]:
    """So that ``--profile`` tells the cost of a run."""
    drawn = max((sampling.max_trials for sampling in samplings(case.built)), default=0)
    if drawn > QUICK.max_trials:
        yield f"it draws {drawn} trials a cell, more than {QUICK.max_trials}, the profile's"
    if case.search is not None and not 0 < case.search.budget <= QUICK.searches:
        yield f"its budget of {case.search.budget} evaluations is not the profile's"


def a_small_profile_limits_a_claim_unless_its_numbers_are_fixed(case: Case) -> Iterator[str]:
    """The budget is the profile's, or one fixed number."""
    few = case.claim.build(FEW)
    pairs = zip(samplings(few), samplings(case.built), strict=True)
    for small, quick in ((a.max_trials, b.max_trials) for a, b in pairs):
        if small > FEW.max_trials and small != quick:
            yield f"it draws {small} trials a cell where the profile allows {FEW.max_trials}"
    points = few.budget if isinstance(few, Search) else 0
    if case.search is not None and points > FEW.searches and points != case.search.budget:
        yield f"it evaluates {points} points where the profile allows {FEW.searches}"


CHECKS: tuple[Check, ...] = (
    every_cell_is_inside_the_assumptions,
    parameters_that_the_statement_names_are_varied,
    the_builder_is_deterministic_and_cells_do_not_depend_on_the_profile,
    the_builder_says_which_procedure_it_returns,
    an_unknown_parameter_is_refused_with_the_list_of_names,
    hidden_constants_of_the_assumptions_are_declared,
    each_experiment_is_registered_with_its_parameters,
    it_keeps_to_the_trials_and_the_evaluations_of_its_profile,
    a_small_profile_limits_a_claim_unless_its_numbers_are_fixed,
)
