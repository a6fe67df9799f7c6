"""JSON documents in a run: what claims, summaries and notes are stored as."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from trials.run.store.connection import Database
from trials.run.store.errors import StoreError
from trials.run.store.verification import document_checksum


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as the plain values that JSON knows."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON-ready")


def encode(document: Mapping[str, Any]) -> str:
    """The text that is stored for a document."""
    return json.dumps(dict(document), default=_plain)


def write(database: Database, kind: str, key: str, document: Mapping[str, Any]) -> None:
    """Write a document whole, in one transaction; an older one of that key goes."""
    body = encode(document)
    with database.transaction() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)",
            (kind, key, body, document_checksum(kind, key, body)),
        )


def read(database: Database, kind: str, key: str | None = None) -> dict[str, dict[str, Any]]:
    """The documents of a kind by key, all of them or the one of that key."""
    rows = database.query(
        "SELECT key, body, checksum FROM document WHERE kind = ?1 AND (?2 IS NULL OR key = ?2) "
        "ORDER BY key",
        (kind, key),
    )
    for name, body, checksum in rows:
        if document_checksum(kind, name, str(body)) != checksum:
            raise StoreError(f"{database.path}: is damaged (checksum of document {kind}/{name})")
    return {name: json.loads(body) for name, body, _ in rows}
