"""Planted bugs: one changed text in the plain implementations of `verify.testing.examples`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from verify.testing import examples

SOURCE = inspect.getsource(examples)

#: The subjects with the names of their plain implementations.
PLAIN = {
    "ifca.step": "ifca_step",
    "ifca.run": "ifca_run",
    "fedavg.round": "fedavg_round",
    "fedprox.round": "fedprox_round",
    "assignment": "assignment",
    "kmeans": "kmeans",
    "convex_clustering": "convex_clustering",
    "one_shot": "one_shot",
    "orthogonal_iteration": "orthogonal_iteration",
}


@dataclass(frozen=True)
class Bug:
    """A text that occurs once in the source of a function, and what replaces it."""

    subject: str
    what: str
    inside: str
    old: str
    new: str

    @property
    def function(self) -> Callable[..., Any]:
        """The plain implementation with the bug."""
        right = inspect.getsource(getattr(examples, self.inside))
        assert right.count(self.old) == 1, (self.inside, self.old)
        scope: dict[str, Any] = {"__name__": "planted"}
        exec(SOURCE.replace(right, right.replace(self.old, self.new)), scope)
        return scope[PLAIN[self.subject]]


#: Of equal numbers in a row, the last.
_LAST = "copy()[:, ::-1].argmin(axis=1) * -1 + len({}) - 1"


def _bugs(subject: str, inside: str, *changes: tuple[str, str, str]) -> tuple[Bug, ...]:
    return tuple(Bug(subject, what, inside, old, new) for what, old, new in changes)


BUGS = (
    *_bugs(
        "ifca.step",
        "ifca_step",
        ("half the gradient", "2 / len(y)", "1 / len(y)"),
        ("the sign of the gradient", "new[j] -=", "new[j] +="),
        ("the step without 1/m", "step_size / len(clients)", "step_size"),
        ("the sum divided by the cluster's size", "len(clients)", "np.sum(labels == j)"),
        ("1/N in the place of 1/n_i", "2 / len(y)", "2 * len(clients) / sum(map(len, clients))"),
        ("gradients at the model under change", "(x @ models[j] - y)", "(x @ new[j] - y)"),
        ("the models changed in place", "models.copy()", "models"),
        ("single precision", "models.copy()", "models.astype(np.float32)"),
        (
            "a model without clients becomes zero",
            "return new, labels",
            "new[np.setdiff1d(np.arange(len(new)), labels)] = 0\n    return new, labels",
        ),
    ),
    *_bugs(
        "ifca.step",
        "choices",
        ("the largest loss", "argmin", "argmax"),
        ("the last of equal losses", "argmin(axis=1)", _LAST.format("models")),
        ("the residual of another sign", "y[:, None] - x", "y[:, None] + x"),
    ),
    *_bugs(
        "ifca.run",
        "ifca_run",
        ("one step too few", "range(n_steps)", "range(max(n_steps - 1, 1))"),
        ("one step too many", "range(n_steps)", "range(n_steps + 1)"),
        (
            "labels after the last step",
            "return models, labels",
            "return models, choices(models, clients)",
        ),
        (
            "stale labels",
            "models, labels = ifca_step(models, clients, step_size)",
            "new, now = ifca_step(models, clients, step_size)\n"
            "        labels = now if labels is None else labels\n        models = new",
        ),
        (
            "a step size that falls",
            "        models, labels = ifca_step(models, clients, step_size)",
            "        models, labels = ifca_step(models, clients, step_size)\n"
            "        step_size *= 0.99",
        ),
    ),
    *_bugs(
        "fedavg.round",
        "fedavg_round",
        ("one local step too few", "range(n_local_steps)", "range(n_local_steps - 1)"),
        ("clients with equal weights", "new += len(y) / total", "new += 1 / len(clients)"),
        ("a gradient twice as long", "step_size / len(y)", "2 * step_size / len(y)"),
        ("all gradients at the first model", "(x @ own[j] - y)", "(x @ models[j] - y)"),
        (
            "the mean over the cluster's clients",
            "new += len(y) / total * own",
            "new[j] += len(y) / sum(len(c[1]) for c, l in zip(clients, labels) if l == j) * own[j]",
        ),
    ),
    *_bugs(
        "fedprox.round",
        "fedprox_round",
        ("the penalty twice as strong", "np.eye(models.shape[1])", "2 * np.eye(models.shape[1])"),
        (
            "one gradient step",
            "np.linalg.solve(matrix, models[j]",
            "(models[j] - (matrix - np.eye(len(matrix))) @ models[j]",
        ),
        ("clients with equal weights", "new += len(y) / total", "new += 1 / len(clients)"),
    ),
    *_bugs(
        "assignment",
        "assignment",
        (
            "the wrong axis",
            "argmin(axis=1)",
            "argmin(axis=0)[np.arange(len(points)) % len(centres)] % len(centres)",
        ),
        (
            "inner products",
            "((points[:, None] - centres) ** 2).sum(axis=2).argmin",
            "(points @ centres.T).argmax",
        ),
        (
            "sums of absolute values",
            "(points[:, None] - centres) ** 2",
            "abs(points[:, None] - centres)",
        ),
        ("the last of equal distances", "argmin(axis=1)", _LAST.format("centres")),
        (
            "without the last coordinate",
            "** 2).sum(axis=2)",
            "** 2)[:, :, : max(1, points.shape[1] - 1)].sum(axis=2)",
        ),
    ),
    *_bugs(
        "kmeans",
        "kmeans",
        ("one iteration", "if np.array_equal(nearest, labels):", "if labels.size:"),
        (
            "empty clusters become zero",
            "        for j in np.unique(labels):",
            "        centres[:] = 0\n        for j in np.unique(labels):",
        ),
        (
            "a mean over one point too many",
            "points[labels == j].mean(axis=0)",
            "points[labels == j].sum(axis=0) / (np.sum(labels == j) + 1)",
        ),
        ("medians", ".mean(axis=0)", " if False else np.median(points[labels == j], axis=0)"),
        ("the given centres changed in place", "centres.copy()", "centres"),
        ("labels of other points", "return centres, labels", "return centres, np.roll(labels, 1)"),
    ),
    *_bugs(
        "convex_clustering",
        "convex_clustering",
        (
            "every pair counted twice",
            "limit = centred / scale, penalty / scale",
            "limit = centred / scale, 2 * penalty / scale",
        ),
        (
            "pairs weighted by 1/m",
            "centred / scale, penalty / scale",
            "centred / scale, penalty / scale / m",
        ),
        (
            "the sum of absolute values",
            "np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-300)",
            "np.maximum(np.abs(wanted), 1e-300)",
        ),
        ("an early stop", "< 1e-11", "< 1e-2"),
        ("the mean is not added", "mean + scale * u", "scale * u"),
    ),
    *_bugs(
        "one_shot",
        "one_shot",
        ("the seed is not used", "default_rng(seed)", "default_rng(0)"),
        (
            "randomness used again",
            "chosen.append(rng",
            "rng = np.random.default_rng(seed)\n        chosen.append(rng",
        ),
        ("uniform seeds", "p=weights / weights.sum()", "p=(weights > 0) / (weights > 0).sum()"),
        ("distances without the square", "(gaps**2).sum(axis=2)", "np.sqrt((gaps**2).sum(axis=2))"),
        (
            "no iteration after the seeding",
            "return kmeans(estimates, estimates[chosen])",
            "return estimates[chosen], assignment(estimates, estimates[chosen])",
        ),
        (
            "a ridge penalty",
            "np.linalg.lstsq(x, y, rcond=None)[0]",
            "np.linalg.solve(x.T @ x + 1e-6 * np.eye(x.shape[1]), x.T @ y)",
        ),
    ),
    *_bugs(
        "orthogonal_iteration",
        "orthogonal_iteration",
        ("one step too few", "range(n_steps)", "range(n_steps - 1)"),
        (
            "the transposed matrix",
            "image = second.T @ (first @ basis)",
            "image = first.T @ (second @ basis)",
        ),
        (
            "half steps",
            "np.linalg.qr(first.T @ (second @ image) / len(first))[0]",
            "np.linalg.qr(image)[0]",
        ),
        (
            "columns that are not orthogonal",
            "np.linalg.qr(first.T @ (second @ image) / len(first))[0]",
            "(lambda q: q / np.linalg.norm(q, axis=0))(first.T @ (second @ image))",
        ),
    ),
)
"""More than forty, at least three for every subject."""
