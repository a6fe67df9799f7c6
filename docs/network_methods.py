"""A network with one hidden layer as a method of the benchmark, in PyTorch.

    cfl-verify benchmark glyphs --methods 'local,oracle,ifca,docs/network_methods.py:NetworkIFCA'

IFCA with model averaging and full gradient steps (`trials.networks.training`), the best of
``n_init`` starts by the training loss.  ``NetworkIFCA(n_clusters=1)`` is one network for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trials.networks.architectures import dense_network, load_torch
from trials.networks.training import Options, train_best


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Clients of n rows each, (m, n, 1, side, side), as `trials.networks.training` reads them."""

    x: np.ndarray
    y: np.ndarray

    @property
    def m(self):
        """The number of clients."""
        return len(self.x)

    @property
    def clusters(self):
        """Unknown to the method."""
        return np.full(self.m, -1)

    def batch(self, clients, columns=None):
        """All rows and classes of some clients."""
        return self.x[clients], self.y[clients]


class NetworkIFCA:
    """IFCA with k networks for two classes, -1 and 1."""

    def __init__(self, n_clusters, random_state, hidden=64, n_rounds=30, step_size=0.1,
                 local_steps=10, n_init=1):  # fmt: skip
        self.k, self.seed, self.hidden, self.n_init = n_clusters, random_state, hidden, n_init
        self.options = Options(k=n_clusters, rounds=n_rounds, step_size=step_size,
                               local_steps=local_steps)  # fmt: skip

    def images(self, X):
        """Rows (N, d) as squares, filled up with zeros: the network's input is a square."""
        side = max(4, int(np.ceil(np.sqrt(X.shape[1]))))
        wide = np.zeros((len(X), side * side), dtype=np.float32)
        wide[:, : X.shape[1]] = X
        return wide.reshape(-1, 1, side, side)

    def fit(self, X, y, clients):
        """Train on clients of equal size, whose rows follow each other."""
        sizes = np.bincount(clients)
        if len(set(sizes.tolist())) > 1:
            raise ValueError(f"clients have {sizes.min()} to {sizes.max()} rows: all must be equal")
        x = self.images(X)
        rows = Rows(
            x=x.reshape(len(sizes), -1, *x.shape[1:]),
            y=(np.asarray(y) > 0).astype(np.int64).reshape(len(sizes), -1),
        )
        self.network = dense_network(side=x.shape[-1], hidden=self.hidden, classes=2)
        state = train_best(network=self.network, federation=rows, options=self.options,
                           seed=self.seed, starts=self.n_init)  # fmt: skip
        self.models, self.labels_ = state.models, state.labels
        self.n_rounds_ = len(state.losses)
        self.history_ = {"loss": state.losses}
        return self

    def predict(self, X, clients):
        """Log odds (N,) of the class 1, each row by its client's network."""
        torch = load_torch()
        x, own = torch.from_numpy(self.images(X)), self.labels_[clients]
        found = np.empty(len(X))
        with torch.no_grad():
            for j in np.unique(own):
                scores = self.network.scores(self.models[j], x[own == j]).double().numpy()
                found[own == j] = scores[:, 1] - scores[:, 0]
        return found
