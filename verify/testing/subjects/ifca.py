"""The checks of ``ifca.step`` and ``ifca.run``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from scipy import stats

from trials.laws.step import simulate_trajectories
from verify.testing.case import Case
from verify.testing.check import (
    LEVEL,
    Implementation,
    Scope,
    Subject,
    law_check,
    property_check,
    require_p_value,
)
from verify.testing.protocols import IfcaRun, IfcaStep
from verify.testing.strategies import clients_of_mixture
from verify.testing.subjects import laws
from verify.testing.subjects.rounds import (
    EXAMPLE,
    read_round,
    require_models,
    round_checks,
    rounds,
    tolerance,
)
from verify.testing.subjects.rules import IfcaRunRule, IfcaStepRule, Rule

_CENTRES = np.array([[10.0, 0.0], [-10.0, 0.0]])
_START = _CENTRES + np.array([[0.3, 0.4], [0.0, -0.5]])
_OWNERS = np.array([0, 0, 0, 1, 1])


def _step_law(call: Implementation, case: Case) -> None:
    """Distances to the true models after one step, against draws from their exact law.

    A client takes the other model with a probability below 1e-20, so the law for disjoint data of
    labels and gradients applies.
    """
    rng, n, sigma, step = np.random.default_rng(case["data_seed"]), 20, 0.5, 0.4
    found = np.empty((200, 2))
    for row in found:
        clients = clients_of_mixture(_CENTRES, _OWNERS, np.full(len(_OWNERS), n), sigma, rng)
        problem = {"models": _START, "clients": clients, "step_size": step}
        got = call(call.border.rounded(problem))
        row[:] = np.linalg.norm(got.models - _CENTRES, axis=1)
    errors, _ = simulate_trajectories(
        theta=np.repeat(_START[None], 4000, axis=0), theta_star=_CENTRES, d=2,
        cluster_sizes=np.bincount(_OWNERS), sigma=sigma, n_samples=n, gamma=step, n_steps=1,
        rng=rng,
    )  # fmt: skip
    for j in range(2):
        p = stats.ks_2samp(found[:, j], errors[:, 1, j], method="asymp").pvalue
        require_p_value(
            float(p), LEVEL / 2, f"the distance of model {j} after a step has another law"
        )


def _run_law(call: Implementation, case: Case) -> None:
    """After many steps the models are the least squares estimates of their clusters."""
    rng, sigma = np.random.default_rng(case["data_seed"]), 0.5
    values = []
    for _ in range(60):
        clients = clients_of_mixture(_CENTRES, _OWNERS, np.full(len(_OWNERS), 30), sigma, rng)
        problem = {"models": _START, "clients": clients, "step_size": 0.6, "n_steps": 60}
        got = call(call.border.rounded(problem))
        for j in range(2):
            x = np.concatenate(
                [x for label, (x, _) in zip(_OWNERS, clients, strict=True) if label == j]
            )
            values.append(laws.least_squares_value(x, got.models[j] - _CENTRES[j], sigma))
    laws.uniform(np.array(values), LEVEL, "the error after many steps is not that of least squares")


def _composition(rule: Rule) -> Callable[[Implementation, Case], None]:
    def judge(call: Implementation, case: Case) -> None:
        total = case["n_steps"]
        got = call(case)
        expected = rule.expect(case, got.labels, call.unit)
        if expected is None:
            return
        middle = call({**case, "n_steps": 1})
        halves = call({**case, "models": middle.models, "n_steps": total - 1})
        allowed = 2.0 * tolerance(call, expected)
        require_models(got.models, halves.models, allowed, f"1 and {total - 1} more steps give")

    return judge


def _several(scope: Scope) -> st.SearchStrategy[Case]:
    return rounds(scope, "n_steps").filter(lambda case: case["n_steps"] > 1)


_RUN = IfcaRunRule()

SUBJECTS = (
    Subject(
        name="ifca.step",
        protocol=IfcaStep,
        read=read_round,
        example=EXAMPLE,
        checks=round_checks(
            IfcaStepRule(),
            None,
            law_check(
                "The distances to the true models after a step have their exact law.", _step_law
            ),
        ),
    ),
    Subject(
        name="ifca.run",
        protocol=IfcaRun,
        read=read_round,
        example={**EXAMPLE, "n_steps": 2},
        checks=round_checks(
            _RUN,
            "n_steps",
            property_check(
                "composition",
                "One step and then the others give what all steps give.",
                _several,
                _composition(_RUN),
            ),
            law_check(
                "After many steps the errors have the law of least squares in the clusters.",
                _run_law,
            ),
        ),
    ),
)
