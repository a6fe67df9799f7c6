"""The checks of ``fedavg.round`` and ``fedprox.round``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from verify.testing.case import Case, Clients
from verify.testing.check import LEVEL, Implementation, Scope, Subject, law_check, property_check
from verify.testing.protocols import FedAvgRound, FedProxRound
from verify.testing.strategies import clients_of_mixture, seeds, sizes, whole
from verify.testing.subjects import laws
from verify.testing.subjects.rounds import EXAMPLE, read_round, require_models, round_checks
from verify.testing.subjects.rules import FedAvgRule, FedProxRule


def _round_law(prox: bool) -> Callable[[Implementation, Case], None]:
    """Given the features, a round with one cluster is affine in the noise: a normal law."""

    def judge(call: Implementation, case: Case) -> None:
        rng, sigma, d, eta = np.random.default_rng(case["data_seed"]), 0.5, 2, 0.4
        steps = 0 if prox else 3
        values = []
        for _ in range(150):
            counts = np.array([4, 4, 4] if call.scope.equal_sizes else [2, 3, 7])
            truth = rng.standard_normal((1, d))
            clients = clients_of_mixture(truth, np.zeros(3, dtype=int), counts, sigma, rng)
            models = truth + np.array([[0.5, -0.5]])
            problem = {
                "models": models,
                "clients": clients,
                "step_size": eta,
                "n_local_steps": steps,
            }
            got = call(call.border.rounded(problem))
            mean, covariance = np.zeros(d), np.zeros((d, d))
            for weight, (x, _) in zip(counts / counts.sum(), clients, strict=True):
                local, factor = laws.local_moments(x, models[0] - truth[0], eta, steps)
                mean += weight * local
                covariance += (weight * sigma) ** 2 * factor @ factor.T
            values.append(laws.squared_length(got.models[0] - truth[0] - mean, covariance))
        laws.uniform(np.array(values), LEVEL, "the error after a round has another law")

    return judge


@st.composite
def _full_rank(draw: st.DrawFn, scope: Scope, local_steps: int | None) -> Case:
    """One model and clients with orthogonal columns, so that local minimisers are unique."""
    d, m = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    counts = draw(sizes(m, 6, min_n=d, equal=scope.equal_sizes))
    rng = np.random.default_rng(draw(seeds))
    pairs = []
    for n in counts:
        q = np.linalg.qr(rng.standard_normal((int(n), d)))[0]
        pairs.append((q * np.sqrt(n), rng.standard_normal(int(n))))
    case = {"models": draw(whole((1, d))), "clients": Clients(tuple(pairs))}
    if local_steps is None:
        return {**case, "step_size": 2.0**30}
    return {**case, "step_size": 0.5, "n_local_steps": local_steps}


def _local_limit(call: Implementation, case: Case) -> None:
    """With much local work a round is the weighted mean of the clients' own estimates."""
    got = call(case)
    clients = case["clients"]
    own = np.array([x.T @ y / len(y) for x, y in clients])
    mean = (clients.sizes / clients.sizes.sum()) @ own
    size = np.linalg.norm(own) + np.linalg.norm(case["models"])
    left = 4.0 * max(2.0**-30, 2.0**7 * call.unit)
    allowed = np.array([(left + call.accuracy) * (1.0 + size)])
    require_models(got.models, mean[None], allowed, "the mean of the clients' estimates is")


_LIMIT = "With much local work a round averages the clients' own estimates."
_LAW = "Given the features, the error after a round has its exact normal law."

SUBJECTS = (
    Subject(
        name="fedavg.round",
        protocol=FedAvgRound,
        read=read_round,
        example={**EXAMPLE, "n_local_steps": 2},
        checks=round_checks(
            FedAvgRule(),
            "n_local_steps",
            property_check("local-limit", _LIMIT, lambda s: _full_rank(s, 100), _local_limit),
            law_check(_LAW, _round_law(prox=False)),
        ),
    ),
    Subject(
        name="fedprox.round",
        protocol=FedProxRound,
        read=read_round,
        example=EXAMPLE,
        checks=round_checks(
            FedProxRule(),
            None,
            property_check("local-limit", _LIMIT, lambda s: _full_rank(s, None), _local_limit),
            law_check(_LAW, _round_law(prox=True)),
        ),
    ),
)
