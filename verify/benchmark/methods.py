"""Methods: how a name on the command line becomes an object with ``fit`` and ``predict``.

A method is written ``name``, ``name(option=value, ...)``, or ``FILE.py:Name`` for one's own.  An
option with several values, ``step_size=0.1|0.5``, is tuned inside each trial (`tuning`).

One's own method is a class or a function in a file.  A class has ``fit(X, y, clients=...)`` and
``predict(X, clients=...)``.  Of the keywords ``n_clusters``, ``loss`` and ``random_state`` its
constructor gets those that it names.  After ``fit`` it may have ``models_`` (k, d) and ``labels_``
(one a client, in the order of their numbers), ``n_rounds_``, ``floats_up_`` and ``floats_down_``.
Errors of the models and recovered clusters are measured only where the first two are there.  A
function takes ``(X, y, clients)`` and the same keywords, and returns ``models`` and ``labels``.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from trials.checks import FloatArray, InvalidParameter
from trials.run.origin import load_file
from verify.benchmark.catalogue import SHIPPED, Context, shipped

_SPEC = re.compile(r"(?P<name>[^()=,]+?)(?:\((?P<options>[^()]*)\))?")
_KNOWN = ("n_clusters", "loss", "random_state")


def is_own(name: str) -> bool:
    """Whether a method's name is ``FILE.py:Name``, which stands in a file of the user's."""
    return ".py:" in name


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method as it was written, taken apart.

    Attributes
    ----------
    text : the one spelling of it.
    name : of a shipped method, or ``FILE.py:Name``.
    options : option -> its candidate values, one where nothing is tuned.
    """

    text: str
    name: str
    options: Mapping[str, tuple[Any, ...]]

    @property
    def own(self) -> bool:
        """Whether the method comes from a file of the user's."""
        return is_own(self.name)

    @property
    def file(self) -> Path:
        """The file of one's own method."""
        return Path(self.name.rpartition(":")[0])

    def candidates(self) -> list[dict[str, Any]]:
        """Every combination of the options' values."""
        return [
            dict(zip(self.options, values, strict=True))
            for values in product(*self.options.values())
        ]

    def sha256(self) -> str:
        """The SHA-256 of one's own file, empty for a shipped method.

        Raises
        ------
        InvalidParameter : a file that cannot be read.  A device or a pipe may have no end.
        """
        if not self.own:
            return ""
        try:
            if not stat.S_ISREG(self.file.stat().st_mode):
                raise InvalidParameter(f"{self.file}: cannot be read (it is no file)")
            return hashlib.sha256(self.file.read_bytes()).hexdigest()
        except OSError as error:
            raise InvalidParameter(f"{self.file}: cannot be read ({error.strerror})") from None

    def digest(self) -> str:
        """The first digits of `sha256`, which a cell holds."""
        return self.sha256()[:16]


def parse_methods(text: str) -> list[Method]:
    """Take a list of methods apart.

    >>> [m.text for m in parse_methods("local, ifca(step_size=0.1|0.5)")]
    ['local', 'ifca(step_size=0.1|0.5)']
    """
    found = [parse_method(part) for part in split_outside(text)]
    names = [m.text for m in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidParameter(
            f"method {twice[0]} is named twice: give the copies different options"
        )
    return found


def split_outside(text: str) -> Iterator[str]:
    """The parts of a list with commas, those within brackets left out.

    What follows a bracket without an end is one part.

    >>> list(split_outside("local, ifca(a=1, b=2), cfl(c=3, em"))
    ['local', 'ifca(a=1, b=2)', 'cfl(c=3, em']
    """
    depth, start = 0, 0
    for i, char in enumerate(text + ","):
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            if text[start:i].strip():
                yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


def parse_method(text: str) -> Method:
    """One method, with its name and its options checked as far as its text goes."""
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise InvalidParameter(f"method {text!r:.80} must read name or name(option=value, ...)")
    name = match["name"].strip()
    options: dict[str, tuple[Any, ...]] = {}
    for part in filter(None, map(str.strip, (match["options"] or "").split(","))):
        key, equals, values = part.partition("=")
        if not equals or not key.strip().isidentifier() or not values.strip():
            raise InvalidParameter(f"method {text!r:.80}: {part!r} must read option=value")
        if key.strip() in options:
            raise InvalidParameter(
                f"method {text!r:.80}: {key.strip()} is given twice: join its values with |"
            )
        options[key.strip()] = tuple(_value(v.strip()) for v in values.split("|"))
    if not is_own(name) and name not in SHIPPED:
        raise InvalidParameter(
            f"unknown method {name!r:.60}; known: {', '.join(SHIPPED)}, or FILE.py:NAME"
        )
    inside = ", ".join(f"{k}={'|'.join(map(str, v))}" for k, v in options.items())
    return Method(text=f"{name}({inside})" if inside else name, name=name, options=options)


def _value(text: str) -> Any:
    if text.lower() in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class _Function:
    """A function of one's own with the methods of a class."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.function, self.options = function, options

    def fit(self, x: FloatArray, y: FloatArray, clients: Any) -> _Function:
        """Call the function and keep the models and labels that it returns."""
        found = self.function(x, y, clients, **self.options)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError("the function must return (models, labels)")
        self.models_, self.labels_ = (np.asarray(part) for part in found)
        return self

    def predict(self, x: FloatArray, clients: Any) -> FloatArray:
        """The predictions of each row's own model."""
        return np.asarray(np.einsum("nd,nd->n", x, self.models_[self.labels_[clients]]))


def build(name: str, options: Mapping[str, Any], context: Context) -> Any:
    """The object of a method, ready to fit.

    Raises
    ------
    InvalidParameter : an unknown option, or a file or a name in it that cannot be used.
    """
    if not is_own(name):
        return shipped(name, options, context)
    file, _, attribute = name.rpartition(":")
    module = load_file(file)
    target = getattr(module, attribute, None)
    if target is None:
        here = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise InvalidParameter(
            f"{file}: has no {attribute!r}; it has {', '.join(here) or 'nothing'}"
        )
    given = {**_wanted(target, context), **options}
    if inspect.isclass(target):
        for needed, arguments in (("fit", "X, y, clients"), ("predict", "X, clients")):
            if not callable(getattr(target, needed, None)):
                raise InvalidParameter(
                    f"{name} must have a method {needed}({arguments}); it has none"
                )
        try:
            return target(**given)
        except TypeError as error:
            raise InvalidParameter(f"{name} cannot be made: {error}") from None
    if not callable(target):
        raise InvalidParameter(f"{name} must be a class or a function, and it is {target!r:.60}")
    return _Function(target, given)


def _wanted(target: Any, context: Context) -> dict[str, Any]:
    """The values of the context that a class or a function names among its parameters."""
    try:
        names = set(inspect.signature(target).parameters)
    except (TypeError, ValueError):
        return {}
    known = {
        "n_clusters": context.k,
        "loss": {"linear": "squared", "logistic": "logistic"}[context.response],
        "random_state": context.seed,
    }
    return {name: known[name] for name in _KNOWN if name in names}


def describe(methods: Sequence[Method]) -> dict[str, str]:
    """Method -> one line that describes it."""
    return {m.text: SHIPPED[m.name].title if not m.own else f"from {m.file}" for m in methods}
