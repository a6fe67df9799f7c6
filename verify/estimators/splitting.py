"""Cross-validation that keeps clients whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from trials.checks import IntArray, InvalidParameter, integer_between
from verify.estimators.base import generator
from verify.estimators.rows import read_rows


class WholeClients(BaseEstimator):  # type: ignore[misc]
    """Folds of whole clients with about equal numbers of rows.

    Parameters
    ----------
    n_splits : folds.
    random_state : None keeps the order of the clients among those of equal size, else a seed.

    Notes
    -----
    The largest client goes to the fold with the fewest rows, then the next one.  `GridSearchCV`
    passes the clients where scikit-learn's metadata routing is on, which asks for them by default.

    Examples
    --------
    >>> [test.tolist() for _, test in WholeClients(2).split([1, 2, 3, 4], clients=list("aabc"))]
    [[0, 1], [2, 3]]
    """

    __metadata_request__split: ClassVar[dict[str, bool]] = {"clients": True}

    def __init__(self, n_splits: int = 5, *, random_state: int | None = None) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(
        self, X: Any, y: Any = None, clients: Any = None, groups: Any = None
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield (train, test) row numbers.

        ``clients`` has one id a row.  ``groups`` is scikit-learn's name for them, by which its
        functions pass them where metadata routing is off.
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        clients = groups if clients is None else clients
        if clients is None:
            raise InvalidParameter(
                "clients=None must hold the client of each row.  A search passes them to the folds "
                "and to the score where metadata routing is enabled: "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        owner = read_rows(clients, n).owner
        sizes = np.bincount(owner)
        folds = integer_between("n_splits", self.n_splits, 2, len(sizes), "the number of clients")
        order = np.arange(len(sizes))
        if self.random_state is not None:
            order = generator(self.random_state).permutation(order)
        order = order[np.argsort(-sizes[order], kind="stable")]
        fold, rows = np.empty(len(sizes), dtype=np.int64), np.zeros(folds, dtype=np.int64)
        for client in order:
            fold[client] = int(np.argmin(rows))
            rows[fold[client]] += sizes[client]
        for number in range(folds):
            inside = fold[owner] == number
            yield np.flatnonzero(~inside), np.flatnonzero(inside)

    def get_n_splits(
        self, X: Any = None, y: Any = None, clients: Any = None, groups: Any = None
    ) -> int:
        """The number of folds, at most that of the clients where these are given."""
        given = groups if clients is None else clients
        if given is None:
            return integer_between("n_splits", self.n_splits, 2)
        most = len(read_rows(given, len(given)).ids)
        return integer_between("n_splits", self.n_splits, 2, most, "the number of clients")
