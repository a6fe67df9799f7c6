"""JSON documents in a run, which hold claims, summaries and notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from trials.run.store import tally
from trials.run.store.connection import Database
from trials.run.store.decoding import Undecodable, decode
from trials.run.store.errors import StoreError
from trials.run.store.limits import MAX_DOCUMENT, is_label
from trials.run.store.verification import document_checksum

T = TypeVar("T")


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
    """The text that is stored for a document.

    Raises
    ------
    TypeError
        When a value is nothing that JSON knows.
    ValueError
        When the document could not be read back: too long, or nested too deep.
    """
    body = json.dumps(dict(document), default=_plain)
    try:
        decode(body, dict[str, Any])
    except Undecodable as error:
        raise ValueError(f"a document {error}") from None
    return body


def write(database: Database, kind: str, key: str, document: Mapping[str, Any]) -> None:
    """Write a document in one transaction.  An older document of that key is replaced."""
    body = encode(document)
    for name in (kind, key):
        if not is_label(name):
            raise ValueError(f"document {kind!r}/{key!r} must be named by short texts of one line")
    checksum = document_checksum(kind, key, body)
    with database.transaction() as connection:
        older = connection.execute(
            "SELECT kind, key, checksum FROM document WHERE kind = ? AND key = ?", (kind, key)
        ).fetchone()
        connection.execute(
            "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)", (kind, key, body, checksum)
        )
        tally.add(connection, "document", [(kind, key, checksum)], older)


def read(database: Database, kind: str, type_: type[T], key: str | None = None) -> dict[str, T]:
    """The documents of a kind by key, all of them or the one of that key, each of one type."""
    rows = database.query(
        "SELECT key, body, checksum FROM document WHERE kind = ?1 AND (?2 IS NULL OR key = ?2) "
        "ORDER BY key",
        (kind, key),
    )
    found: dict[str, T] = {}
    for name, body, checksum in rows:
        if not is_label(name) or not isinstance(body, str) or name in found:
            raise StoreError(f"{database.path}: is damaged (document {kind}/{name})")
        if document_checksum(kind, name, body) != checksum:
            raise StoreError(f"{database.path}: is damaged (checksum of document {kind}/{name})")
        try:
            found[name] = decode(body, type_, MAX_DOCUMENT)
        except Undecodable as error:
            raise StoreError(f"{database.path}: document {kind}/{name} {error}") from None
    return found


def verify_all(database: Database) -> None:
    """Read and check every document."""
    for (kind,) in database.query("SELECT DISTINCT kind FROM document"):
        if not is_label(kind):
            raise StoreError(f"{database.path}: is damaged (the kind of a document)")
        read(database, kind, dict[str, Any])
