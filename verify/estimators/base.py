"""What all estimators share: reading the rows, predictions, scores, and clients never seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    flag,
    integer_between,
    real_array,
    require_open,
    shown,
)
from trials.clustering.units import own_units
from trials.models.clients import ClientData
from trials.models.losses import LogisticLoss
from verify.estimators.losses import client_losses, is_compiled, loss_of
from verify.estimators.rows import (
    Rows,
    plain_ids,
    read_rows,
    require_moderate,
    require_numbers,
    require_one_constant,
    require_present,
    shown_id,
)

#: What helps where labels still change, of methods whose starts cost rounds, and of others.
MORE_STARTS = "(n_rounds), or the best of several starts (n_init)"
MORE_ROUNDS = "(n_rounds)"
_LONGEST = 400  # characters of a message
_NO_CLIENTS = (
    "clients=None must hold the client of each row: their models differ (scikit-learn's searches "
    "and Pipeline.score pass it on where its metadata routing is enabled)"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What an algorithm found, and what it sent.

    Attributes
    ----------
    models : (k, d), d with the intercept where one is fitted.
    labels : (m,) cluster of each client.
    n_rounds : rounds in which models were sent.
    floats_up, floats_down : floats that all clients sent and got, over all rounds and starts.
    history : name -> one value a round.  ``loss`` is the mean loss of all rows after the round.
    """

    models: FloatArray
    labels: IntArray
    n_rounds: int = 0
    floats_up: int = 0
    floats_down: int = 0
    history: Mapping[str, Any] = field(default_factory=dict)


def _classifies(estimator: FederatedEstimator) -> bool:
    return estimator._is_classifier()


class FederatedEstimator(BaseEstimator):  # type: ignore[misc]
    """A method that gives every client one of k linear models.

    A subclass has the parameters of its method and writes `_solve`.

    Attributes
    ----------
    models_ : (k, d).
    intercepts_ : (k,), zero unless ``fit_intercept``.
    labels_ : (m,) cluster of each client, in the order of ``clients_``.
    clients_ : (m,) ids, sorted where they can be, else in the order of their first rows.
    n_rounds_, floats_up_, floats_down_ : rounds, and floats that the clients sent and got in all.
    history_ : dict of one list a quantity, one value a round.
    classes_ : (2,) with the logistic loss, the second is the positive one.
    n_features_in_, feature_names_in_ : as in scikit-learn.
    """

    loss: Any = "squared"
    l2: float | None = None
    fit_intercept: bool = False
    random_state: Any = None
    #: Whether a fit warns.  A benchmark's own methods do not: its table shows what they reached.
    #: A filter of warnings would hold for all threads of the process.
    _warns: bool = True

    def fit(self, X: Any, y: Any, clients: Any = None) -> Self:
        """Fit to the rows X (N, d) with targets y (N,).

        Parameters
        ----------
        clients : one hashable id a row, in any order and number.  None means one client.

        Raises
        ------
        InvalidParameter : a ``ValueError`` of one line that names the parameter, client or column.
        """
        self._forget()
        loss = loss_of(self.loss, self.l2)
        flag("fit_intercept", self.fit_intercept)
        features, target = self._read(X, y, clients)
        rows = read_rows(clients, len(features))
        columns = self._columns()
        responses = self._responses(target)
        require_numbers(features, responses, rows, columns)
        require_one_constant(features, columns, self.fit_intercept)
        if is_compiled(loss):
            require_moderate(features, responses, rows, columns)
        wanted = getattr(self, "n_clusters", None)
        if clients is None and wanted not in (None, 1):
            raise InvalidParameter(
                f"clients=None must hold the client of each row with n_clusters={shown(wanted)}: "
                "without it all rows belong to one client"
            )
        self.clients_, self._loss_ = rows.ids, loss
        data = rows.client_data(_with_ones(features, self.fit_intercept), responses)
        outcome = self._solve(data, loss, generator(self.random_state))
        d = self.n_features_in_
        self._all_models = np.ascontiguousarray(outcome.models)
        self.models_ = self._all_models[:, :d]
        self.intercepts_ = (
            outcome.models[:, d] if self.fit_intercept else np.zeros(len(self.models_))
        )
        self.labels_ = np.asarray(outcome.labels, dtype=np.int64)
        self.n_rounds_ = int(outcome.n_rounds)
        self.floats_up_, self.floats_down_ = int(outcome.floats_up), int(outcome.floats_down)
        self.history_ = {name: np.asarray(v).tolist() for name, v in outcome.history.items()}
        return self

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        raise NotImplementedError

    def _warn_of_changes(self, changes: Sequence[int] | IntArray, remedy: str) -> None:
        """Warn where labels changed in the last of several rounds.  In one round all are new.

        `_solve` calls it, so that the warning names the line that called ``fit``.
        """
        if self._warns and len(changes) > 1 and changes[-1]:
            warnings.warn(
                f"labels still change in the last of {len(changes)} rounds ({changes[-1]} of "
                f"them): take more rounds {remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _forget(self) -> None:
        """Drop the last fit, so that a fit that fails leaves no models beside its own clients."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")

    # -- predictions -----------------------------------------------------------------------------

    def predict(self, X: Any, clients: Any = None) -> Any:
        """Predict the targets (N,) of rows of clients that were fitted.

        ``clients`` may be left out where there is one model.  For other clients see `assign`.
        """
        return self._answer(self._scores(X, clients))

    @available_if(_classifies)
    def decision_function(self, X: Any, clients: Any = None) -> FloatArray:
        """Log odds (N,) of the second class."""
        return self._scores(X, clients)

    @available_if(_classifies)
    def predict_proba(self, X: Any, clients: Any = None) -> FloatArray:
        """Probabilities (N, 2) of the two classes."""
        scores = self._scores(X, clients)
        # One less a share near 1 would lose a small share's digits.
        return np.exp(-np.logaddexp(0.0, np.stack([scores, -scores], axis=1)))

    def predict_as(self, X: Any, labels: Any) -> Any:
        """Predict with the models of given clusters: one number, or one a row."""
        features = self._features(X)
        found = np.asarray(labels)
        if found.dtype.kind not in "iu" or found.shape not in ((), (1,), (len(features),)):
            raise InvalidParameter(
                f"labels={shown(labels)} must be an integer, or {len(features)} of them: one a row"
            )
        given = np.broadcast_to(found, len(features))
        if len(given) and not 0 <= given.min() <= given.max() < len(self.models_):
            raise InvalidParameter(f"labels={shown(labels)} must be in [0, {len(self.models_)})")
        return self._answer(self._products(features, given))

    def assign(self, X: Any, y: Any, clients: Any = None) -> IntArray:
        """The cluster of clients never seen: the model of least mean loss on their rows.

        Returns (m,) labels, one a client in the order that ``clients_`` would have.
        """
        check_is_fitted(self)
        features, target = self._read(X, y, clients, reset=False)
        rows = read_rows(clients, len(features))
        return self._assign(features, self._responses(target, known=True), rows)

    def score(self, X: Any, y: Any, clients: Any = None, sample_weight: Any = None) -> float:
        """R^2, or accuracy with the logistic loss, over all rows.

        A client never seen is assigned by the first half of its rows and scored on the others.
        With one row it gets the model of most clients.  ``sample_weight`` (N,) weights the rows.
        """
        check_is_fitted(self)
        features, target = self._read(X, y, clients, reset=False)
        weight = None if sample_weight is None else real_array("sample_weight", sample_weight)
        if weight is not None and weight.shape != (len(features),):
            raise InvalidParameter(
                f"sample_weight has shape {weight.shape} and X has {len(features)} rows: give one "
                "weight a row"
            )
        responses = self._responses(target, known=True)
        require_numbers(features, responses, read_rows(clients, len(features)), self._columns())
        labels, scored = self._places(features, responses, clients)
        found = self._answer(self._products(features[scored], labels[scored]))
        kept = None if weight is None else weight[scored]
        if self._is_classifier():
            return float(accuracy_score(target[scored], found, sample_weight=kept))
        # R^2 squares the responses.  Tiny ones get a unit in which the squares do not vanish.
        unit = own_units(np.stack([target[scored], found])[None])
        return float(r2_score(target[scored] / unit, found / unit, sample_weight=kept))

    # -- parts -----------------------------------------------------------------------------------

    def _places(self, features: FloatArray, responses: FloatArray, clients: Any) -> tuple[Any, Any]:
        """Cluster of each row (N,), and which rows were not used to find it."""
        scored = np.ones(len(features), dtype=np.bool_)
        if len(self.models_) == 1:
            return np.zeros(len(features), dtype=np.int64), scored
        if clients is None:
            raise InvalidParameter(_NO_CLIENTS)
        rows = read_rows(clients, len(features))
        known = self._known(rows)
        labels = np.where(known >= 0, self.labels_[known], np.bincount(self.labels_).argmax())
        sizes = np.bincount(rows.owner)
        order = np.argsort(rows.owner, kind="stable")
        rank = np.empty(len(features), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        new = (known < 0) & (sizes > 1)
        used = new[rows.owner] & (rank < sizes[rows.owner] // 2)
        if used.any():
            numbers = np.cumsum(new) - 1
            part = Rows(ids=rows.ids[new], owner=numbers[rows.owner[used]])
            labels[new] = self._assign(features[used], responses[used], part)
        return labels[rows.owner], scored & ~used

    def _assign(self, features: FloatArray, responses: FloatArray, rows: Rows) -> IntArray:
        require_numbers(features, responses, rows, self._columns())
        intercept = self._all_models.shape[1] > self.n_features_in_
        data = rows.client_data(_with_ones(features, intercept), responses)
        losses = client_losses(data, self._all_models, self._loss_)
        return np.asarray(np.argmin(losses, axis=1))

    def _known(self, rows: Rows) -> IntArray:
        """The number of each client among those fitted, -1 where it was not."""
        numbers = {name: i for i, name in enumerate(plain_ids(self.clients_))}
        return np.asarray([numbers.get(name, -1) for name in plain_ids(rows.ids)], dtype=np.int64)

    def _scores(self, X: Any, clients: Any) -> FloatArray:
        features = self._features(X, clients)
        if clients is None and len(self.models_) > 1:
            raise InvalidParameter(_NO_CLIENTS)
        if clients is None:
            return self._products(features, np.zeros(len(features), dtype=np.int64))
        rows = read_rows(clients, len(features))
        known = self._known(rows)
        if len(self.models_) > 1 and (known < 0).any():
            name = plain_ids(rows.ids[known < 0][:1])[0]
            raise InvalidParameter(
                f"client {shown_id(name)} was not fitted: find its cluster with assign(X, y), then "
                "call predict_as(X, label)"
            )
        labels = self.labels_[known] if len(self.models_) > 1 else np.zeros(len(known), np.int64)
        return self._products(features, labels[rows.owner])

    def _products(self, features: FloatArray, labels: IntArray) -> FloatArray:
        if len(self.models_) == 1:
            return np.asarray(features @ self.models_[0] + self.intercepts_[0])
        found = np.einsum("nd,nd->n", features, self.models_[labels])
        return np.asarray(found + self.intercepts_[labels])

    def _answer(self, scores: FloatArray) -> Any:
        return self.classes_[(scores > 0.0).astype(int)] if self._is_classifier() else scores

    def _features(self, X: Any, clients: Any = None) -> FloatArray:
        check_is_fitted(self)
        require_open("X", X)
        features = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        require_numbers(features, None, read_rows(clients, len(features)), self._columns())
        return np.asarray(features)

    def _read(self, X: Any, y: Any, clients: Any, reset: bool = True) -> tuple[FloatArray, Any]:
        require_open("X", X)
        require_open("y", y)
        require_present(y, clients)
        try:
            features, target = validate_data(
                self, X, y, dtype=np.float64, order="C", reset=reset, ensure_all_finite=False,
                y_numeric=not self._is_classifier(),
            )  # fmt: skip
        except ValueError as error:  # scikit-learn asks for its own TypeError
            why = " ".join(str(error).split())
            if why.startswith("Input y contains"):
                row = int(np.flatnonzero(~np.isfinite(np.asarray(y, dtype=np.float64)))[0])
                why += f" Row {row}{read_rows(clients, len(y)).of(row)}"
            if why.startswith("could not convert") and (column := _column_of_texts(X)):
                why += f": {column} of X holds texts; leave it out or write it as numbers"
            # scikit-learn prints some arrays in full, and says at the end what to do.
            short = why if len(why) <= _LONGEST else f"{why[: _LONGEST // 2]} ... {why[-150:]}"
            raise InvalidParameter(short) from None
        return np.asarray(features), np.asarray(target)

    def _responses(self, target: Any, known: bool = False) -> FloatArray:
        """Targets as floats, the two classes of a logistic loss as -1 and +1."""
        if not self._is_classifier():
            if target.dtype.kind in "SU":
                raise InvalidParameter(
                    f"y={shown(target.tolist()[0])} must be a number, unless loss='logistic'"
                )
            return np.asarray(target, dtype=np.float64)
        if target.dtype.kind == "f" and not np.isfinite(target).all():
            return np.asarray(target, dtype=np.float64)  # refused with the client's name
        if not known:
            kind = type_of_target(target, input_name="y", raise_unknown=True)
            classes = np.unique(target)
            if kind != "binary" or len(classes) > 2:
                raise InvalidParameter(
                    f"Only binary classification is supported. The type of the target is {kind}. y "
                    f"holds {len(classes)} classes: compare one with the others, as y == "
                    f"{shown(classes.tolist()[0])}"
                )
            if len(classes) < 2:
                raise InvalidParameter(f"y holds one class only, {classes.tolist()[0]!r}")
            self.classes_ = classes
        strange = ~np.isin(target, self.classes_)
        if strange.any():
            raise InvalidParameter(f"y={target[strange].tolist()[0]!r} is none of the two classes")
        return np.where(target == self.classes_[1], 1.0, -1.0)

    def _columns(self) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return list(range(self.n_features_in_)) if names is None else names.tolist()

    def _is_classifier(self) -> bool:
        """Whether the models say a class: those of the last fit, else those of the next one."""
        loss = self._loss_ if self.__sklearn_is_fitted__() else self.loss
        return loss == "logistic" if isinstance(loss, str) else isinstance(loss, LogisticLoss)

    def _names(self) -> list[Any]:
        return plain_ids(self.clients_)

    def _clusters(self, data: ClientData, n_clusters: Any) -> int:
        """The checked number of clusters."""
        m = data.n_clients
        if m == 1 and n_clusters != 1:
            raise InvalidParameter(
                f"n_clusters={shown(n_clusters)} must be 1: all rows belong to client "
                f"{shown_id(self._names()[0])}"
            )
        return integer_between("n_clusters", n_clusters, 1, m, "the number of clients")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._is_classifier():
            from sklearn.utils import ClassifierTags

            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            from sklearn.utils import RegressorTags

            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags


def _column_of_texts(X: Any) -> str:
    """The first column of a table of objects that holds no numbers, in words, or nothing."""
    names = list(getattr(X, "columns", ()))
    table = np.asarray(X, dtype=object)
    for j in range(table.shape[1] if table.ndim == 2 else 0):
        try:
            table[:, j].astype(np.float64)
        except (TypeError, ValueError):
            return f"column {names[j]!r}" if names else f"column {j}"
    return ""


def _with_ones(features: FloatArray, wanted: bool) -> FloatArray:
    """The features (N, d), with a column of ones where an intercept is fitted."""
    if not wanted:
        return features
    return np.concatenate([features, np.ones((len(features), 1))], axis=1)


def generator(random_state: Any) -> np.random.Generator:
    """A stream from None, a seed, a Generator, or a RandomState of NumPy, which gives a seed."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"random_state={shown(random_state)} must be None, an integer >= 0 or a Generator"
        ) from None
