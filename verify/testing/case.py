"""One input of a check: named numbers and arrays, printed, saved and read again."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.models.clients import ClientData

Case = dict[str, Any]
"""Arguments by name: numbers, NumPy arrays and `Clients`."""


@dataclass(frozen=True)
class Clients:
    """The data of m clients: a pair of features (n_i, d) and responses (n_i,) for each."""

    pairs: tuple[tuple[FloatArray, FloatArray], ...]

    def __iter__(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def sizes(self) -> IntArray:
        """(m,) rows of each client."""
        return np.array([len(y) for _, y in self.pairs], dtype=np.int64)

    @property
    def data(self) -> ClientData:
        """The same data in the form that the kernels take."""
        return ClientData(
            features=np.concatenate([x for x, _ in self.pairs]),
            responses=np.concatenate([y for _, y in self.pairs]),
            offsets=np.concatenate([[0], np.cumsum(self.sizes)]),
        )

    @classmethod
    def from_data(cls, data: ClientData) -> Clients:
        """The clients of the kernels' form."""
        cuts = data.offsets[1:-1]
        return cls(
            tuple(zip(np.split(data.features, cuts), np.split(data.responses, cuts), strict=True))
        )


def describe_case(case: Case) -> str:
    """The case as Python text, one argument a line, so that it can be pasted into a program."""
    lines = []
    for name, value in case.items():
        if isinstance(value, Clients):
            pairs = [f"({x.tolist()}, {y.tolist()})" for x, y in value]
            joined = (",\n" + " " * (len(name) + 4)).join(pairs)
            lines.append(f"{name} = [{joined}]")
        else:
            lines.append(f"{name} = {value.tolist() if isinstance(value, np.ndarray) else value!r}")
    return "\n".join(lines)


_CLIENT_PARTS = ("features", "responses", "offsets")


def save(path: Path, case: Case, facts: Mapping[str, Any]) -> None:
    """Write a case with all that its replay needs, as an ``.npz`` file without pickled objects."""
    arrays: dict[str, Any] = {"facts": np.array(json.dumps(dict(facts)))}
    for name, value in case.items():
        if isinstance(value, Clients):
            for part in _CLIENT_PARTS:
                arrays[f"{name}.{part}"] = getattr(value.data, part)
        else:
            arrays[name] = np.asarray(value)
    np.savez(path, **arrays)


def load(path: Path) -> tuple[Case, dict[str, Any]]:
    """Read a case and its facts.

    Raises
    ------
    InvalidParameter : a file that `save` did not write.
    """
    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        facts = json.loads(str(arrays.pop("facts")))
        if not isinstance(facts, dict):
            raise ValueError("its facts are no facts")
        case: Case = {}
        for name, value in arrays.items():
            owner, _, part = name.partition(".")
            if part:
                parts = {p: arrays[f"{owner}.{p}"] for p in _CLIENT_PARTS}
                case[owner] = Clients.from_data(ClientData(**parts))
            else:
                case[name] = value.item() if value.ndim == 0 else value
    except (OSError, LookupError, ValueError, RecursionError, zipfile.BadZipFile) as error:
        raise InvalidParameter(f"{path} must be a saved case: {error}") from None
    return case, facts
