r"""The effect of wrong labels on a round: the set of wrong labels, (14), (15) and (16).

Problem. Clients with a wrong label pull a model towards another optimum.  How large is their sum?

Guarantee. `bounds.sxy.wrong_labels`: it is a sum over the clients of S_j alone (14), their
residuals are limited by the distance of the models from the optima and by their noise (15), and S_j
is a function of the data (16).

Algorithm. One assignment of labels (8).  No trial is drawn.

Computation. Searches over small clients.  Half of the points are drawn at random.  The others are
built: the rows of client l are zero but for coordinate l, in which its own model errs by d(theta,
theta*) and the model of another cluster by slightly less.

Reference. Section 4.2.1 and B.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bounds.statement import Statement, evaluate
from bounds.sxy.symbols import sign
from bounds.sxy.wrong_labels import (
    EQ_14,
    EQ_14_AS_PRINTED,
    EQ_15,
    EQ_15_AS_PRINTED,
    EQ_16,
)
from trials.checks import FloatArray, IntArray
from verify.claim import Finding, claim
from verify.claims.common import Point
from verify.decisions.domain import Choice, Interval, IntRange, Ranges
from verify.evidence import Verdict
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import from_sympy

CLIENT_DOMAIN: Ranges = {
    "build": Choice(("axes", "random")),
    "k": IntRange(2, 6),
    "n": IntRange(1, 3),
    "tau": Interval(0.01, 0.5),
    "sigma": Choice((0.0, 0.1, 1.0)),
    "unit": Choice((1.0, 1e-6, 1e6)),
    "seed": IntRange(0, 1000),
}
_APART = 10.0  # between two optima, in coordinates that no client of the build sees


@dataclass(frozen=True)
class _Clients:
    """Clients with their true and their estimated labels, and the models."""

    features: FloatArray
    responses: FloatArray
    noise: FloatArray
    truth: IntArray
    labels: IntArray
    models: FloatArray
    optima: FloatArray

    @property
    def wrong(self) -> IntArray:
        """The clients of S_1: cluster 0 is theirs, or their label, and not both."""
        return np.flatnonzero((self.truth == 0) != (self.labels == 0))

    def residuals(self, j: int) -> FloatArray:
        """``phi(x_i) theta_j - y_i`` of every client, (M, n)."""
        return np.asarray(self.features @ self.models[j] - self.responses)


def _drawn(point: Point) -> _Clients:
    """The clients of a point: built against (15), or drawn at random with models near by."""
    rng = np.random.default_rng(int(point["seed"]))
    k, n, unit = int(point["k"]), int(point["n"]), point["unit"]
    if point["build"] == "axes":
        d = 2 * k
        models = np.zeros((k, d))
        models[:, :k] = 2.0
        models[0, :k] = 1.0 - point["tau"]  # model 1 is the second best of every other client
        models[1, 0] = 1.0 - point["tau"]  # and model 2 that of client 1
        np.fill_diagonal(models, 1.0)
        models[:, k:] = _APART * np.eye(k)
        optima = models.copy()
        np.fill_diagonal(optima, 0.0)
        features = np.zeros((k, n, d))
        features[np.arange(k), :, np.arange(k)] = 1.0
        truth = np.arange(k)
    else:
        d = int(rng.integers(1, 4))
        optima = rng.standard_normal((k, d))
        models = optima + rng.standard_normal((k, d))
        features = rng.standard_normal((8, n, d))
        truth = rng.integers(0, k, 8)
    noise = point["sigma"] * rng.standard_normal(features.shape[:2])
    features, models, optima = features * unit, models / unit, optima / unit
    responses = np.einsum("ind,id->in", features, optima[truth]) + noise
    losses = np.sum((responses[..., None] - features @ models.T) ** 2, axis=1)
    return _Clients(features, responses, noise, truth, np.argmin(losses, axis=1), models, optima)


def _norm_of(rows: FloatArray) -> float:
    """Operator norm of the rows of some clients, (clients, n, d), zero where there are none."""
    return float(np.linalg.norm(rows.reshape(-1, rows.shape[-1]), 2)) if rows.size else 0.0


# --- The sum over the wrong labels (14) ---------------------------------------------------------

LOST_CLIENTS = Finding(
    id="sxy-lost-clients",
    where="(14)",
    headline="The sum over wrongly labelled clients lacks the minus signs of the clients that a "
    "cluster loses.",
    printed="$B\\mathcal{E}_{j,t}(\\phi(x)\\theta-y)=\\frac1N\\phi(x_S)^\\top P_S(\\phi(x_S)"
    "\\theta-y_S)$.",
    found="$\\mathcal{E}_{j,t}=\\Lambda_{j,t}-\\Lambda_j$ is $-I$ at the clients of cluster $j$ "
    "with another label. One client with one row and a wrong label gives both sides opposite "
    "signs.",
    corrected="A sign for each client, $+1$ where cluster $j$ gains it and $-1$ where it loses it. "
    "The norms that follow do not change.",
    severity="proof",
)


def _signed_sum(statement: Statement, profile: Profile) -> Search:
    """Both sides of (14) with one local step, where P is the identity."""

    def sides(point: Point) -> tuple[float, float]:
        clients = _drawn(point)
        pulls = np.einsum("ind,in->id", clients.features, clients.residuals(0))
        gained = (clients.labels == 0).astype(float) - (clients.truth == 0)
        total = gained @ pulls
        stated = np.zeros(pulls.shape[1])
        for i in clients.wrong:
            at = {"label_change": gained[i]}
            stated = stated + float(evaluate(statement.definitions[sign], at)) * pulls[i]
        stated = stated * float(evaluate(statement.expr, {"pull_S": 1.0}))
        scale = float(np.abs(pulls).max()) or 1.0
        return float(np.abs(total - stated).max()) / scale, 0.0

    def lost_client(_point: Point) -> Certificate:
        signed = statement.definitions[sign]
        return certificate(
            "Take one client of cluster $j$ with one row $x=1$, residual $1$ and another label. "
            "The left side is $-1$.",
            [
                Inequality(
                    says="the stated sum exceeds minus one",
                    left="-1",
                    relation="<",
                    right=from_sympy(statement.expr.subs({"pull_S": signed}), {"label_change": -1}),
                )
            ],
        )

    return Search(
        name=statement.id,
        violation=lambda point: sides(point)[0] - 1e-10,
        certify=lost_client,
        sides=sides,
        domain=CLIENT_DOMAIN,
        budget=profile.searches,
        unit="difference of the two sides, relative to the largest pull",
    )


@claim(EQ_14_AS_PRINTED, expected=Verdict.REFUTED, finding=LOST_CLIENTS)
def eq_14_as_printed(statement: Statement, profile: Profile) -> Search:
    """All signs positive."""
    return _signed_sum(statement, profile)


@claim(EQ_14, finding=LOST_CLIENTS)
def eq_14(statement: Statement, profile: Profile) -> Search:
    """The sign of each client."""
    return _signed_sum(statement, profile)


# --- The residuals of the wrong labels (15) -----------------------------------------------------

OWN_ERRORS = Finding(
    id="sxy-own-errors",
    where="(15), last step",
    headline="The last step treats the error vectors of all clusters as one vector, and three "
    "clients contradict it.",
    printed="$\\sum_{i\\in S}\\norm{\\phi(x_i)(\\theta_{z_i}-\\theta_{z_i}^*)}^2\\le "
    "d(\\theta,\\theta^*)^2\\norm{\\phi(x_S)}^2$.",
    found="$\\theta_{z_i}-\\theta_{z_i}^*$ is another vector for each cluster. Three clients, one "
    "of each of three clusters, with the rows $e_1,e_2,e_3$ and no noise: residuals of $1$, "
    "$0.9$ and $0.9$ sum to $2.62$ in squares, and the last line of (15) allows $2$.",
    corrected="$\\sum_\\ell\\norm{\\phi(x_{S\\cap I_\\ell})}^2$ in the place of "
    "$\\norm{\\phi(x_S)}^2$. Lemma 2 keeps its form: the norms of the clusters are limited "
    "jointly by the same union bound.",
    severity="proof",
)


def _residuals(statement: Statement, profile: Profile) -> Search:
    """The residuals of S_1 under model 1 against the statement's limit."""

    def sides(point: Point) -> tuple[float, float]:
        clients = _drawn(point)
        wrong, own = clients.wrong, clients.truth[clients.wrong]
        rows = clients.features[wrong]
        squares = [_norm_of(rows[own == cluster]) ** 2 for cluster in range(int(point["k"]))]
        values = {
            "dist": float(np.linalg.norm(clients.models - clients.optima, axis=1).max()),
            "phi_S": _norm_of(rows),
            "zeta_S": float(np.linalg.norm(clients.noise[wrong])),
            "clusters_phi": float(np.sqrt(sum(squares))),
        }
        left = float(np.sum(clients.residuals(0)[wrong] ** 2))
        return left, float(evaluate(statement.expr, values))

    def relative_excess(point: Point) -> float:
        left, right = sides(point)
        return left / right - 1.0 - 1e-9 if right > 0 else left - 1e-9

    def three_clusters(_point: Point) -> Certificate:
        values = {"dist": 1, "phi_S": 1, "zeta_S": 0}
        return certificate(
            "Take three clients, one of each of three clusters, with the rows $e_1,e_2,e_3$, no "
            "noise and $y=0$. The own models err by one in the coordinate that the client sees, "
            "model 1 is $9/10$ in the coordinates $2$ and $3$, and model 2 is $9/10$ in "
            "coordinate $1$. So all three labels are wrong. The distance from the optima is one, "
            "and $\\norm{\\phi(x_S)}=1$.",
            [
                Inequality(
                    says="the residuals under model 1 exceed the right-hand side",
                    left=["+", "1", "81/100", "81/100"],
                    relation=">",
                    right=from_sympy(statement.expr, values),
                )
            ],
        )

    return Search(
        name=statement.id,
        violation=relative_excess,
        certify=three_clusters,
        sides=sides,
        domain=CLIENT_DOMAIN,
        budget=profile.searches,
        unit="excess over the limit, relative",
    )


@claim(EQ_15_AS_PRINTED, expected=Verdict.REFUTED, finding=OWN_ERRORS)
def eq_15_as_printed(statement: Statement, profile: Profile) -> Search:
    """One norm for the features of all wrongly labelled clients."""
    return _residuals(statement, profile)


@claim(EQ_15, finding=OWN_ERRORS)
def eq_15(statement: Statement, profile: Profile) -> Search:
    """A norm for each cluster."""
    return _residuals(statement, profile)


# --- The set of wrong labels as a function of the data (16) -------------------------------------

TIES = Finding(
    id="sxy-ties",
    where="(16), and the displays before Lemma 9",
    printed="$1\\{i\\in S_j(\\theta)\\}=\\max_{\\ell\\ne j}1\\{P_{j\\ell}\\ge0\\}$ for "
    "$i\\in I_j$. The proof of Lemma 9 has $P_{\\ell j}$ in its place.",
    found="A tie of two losses is counted as wrong in both clusters, and a client has one label. "
    "Two equal models, as in a start at one point, put every client into $S_j$.",
    corrected="$\\le$, with equality where no two losses are equal.",
    severity="slip",
)


@claim(EQ_16, finding=TIES)
def eq_16(statement: Statement, profile: Profile) -> Search:
    """The indicator of a wrong label against the functions of (16)."""

    def sides(point: Point) -> tuple[float, float]:
        """Both sides of the client where they differ most."""
        clients = _drawn(point)
        models = clients.models.copy()
        if point["tie"]:
            models[1] = models[0]
        predictions = clients.features @ models.T
        losses = np.sum((clients.responses[..., None] - predictions) ** 2, axis=1)
        labels = np.argmin(losses, axis=1)
        wrong = ((clients.truth == 0) != (labels == 0)).astype(float)
        rival = losses[:, 1:].min(axis=1)
        marked = np.where(clients.truth == 0, losses[:, 0] >= rival, losses[:, 0] <= rival)
        stated = [float(evaluate(statement.expr, {"classes": float(m)})) for m in marked]
        i = int(np.argmax(wrong - np.array(stated)))
        return float(wrong[i]), stated[i]

    return Search(
        name=statement.id,
        violation=lambda point: sides(point)[0] - sides(point)[1] - 1e-9,
        sides=sides,
        domain={**CLIENT_DOMAIN, "tie": Choice((0, 1))},
        budget=profile.searches,
        unit="difference of the two sides",
    )
