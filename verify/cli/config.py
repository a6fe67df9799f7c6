"""A run's settings: from flags and from a TOML file, checked before anything is written."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter
from trials.run.directory import make_run_directory
from trials.run.executors import Executor
from verify.cli.workplaces import claim_workers
from verify.session import FAMILYWISE_LEVEL, RunConfig

#: A configuration is a page of text.  More is another file that was named by mistake.
MAX_BYTES = 1 << 20
#: Its lists hold texts and numbers.  The parser recurses, and ends by itself at several hundred.
MAX_DEPTH = 100

_KEYS: Mapping[str, tuple[type, ...]] = {
    "claims": (list,),
    "profile": (str,),
    "seed": (int,),
    "level": (float, int),
    "jobs": (int,),
    "executor": (str,),
    "scheduler": (str,),
    "output": (str,),
    "claims_files": (list,),
}
_EXECUTORS = ("serial", "threads", "processes")


class _BadFile(InvalidParameter):
    """A configuration is refused.  ``inputs`` are its texts that a message may repeat."""

    def __init__(self, message: str, inputs: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.inputs = inputs


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings of a run, with its directory."""

    config: RunConfig
    output: str | None
    jobs: int | None
    executor: str | None
    scheduler: str | None
    claims_files: tuple[str, ...]

    def directory(self) -> Path:
        """The run directory: the one that was named, or a new one, made here, below ``./runs``."""
        if self.output is not None:
            return Path(self.output)
        return make_run_directory(f"{self.config.profile}-{self.config.seed}")

    def workers(self, n_claims: int | None = None) -> Executor:
        """The executor that the settings ask for.  See `claim_workers`."""
        return claim_workers(
            self.executor, self.jobs, self.scheduler, n_claims, self.config.profile
        )


def settings(flags: Mapping[str, Any], config_file: str | None) -> Settings:
    """Flags over the file's values over the defaults, each of the right type."""
    file = {} if config_file is None else read_config(Path(config_file))

    def chosen(name: str, default: Any = None) -> Any:
        return flags[name] if flags.get(name) not in (None, ()) else file.get(name, default)

    config = RunConfig(
        claims=tuple(chosen("claims", ())),
        profile=chosen("profile", "quick"),
        seed=chosen("seed", 0),
        level=_as_float(chosen("level", FAMILYWISE_LEVEL)),
    )
    output = chosen("output")
    if output is not None and (not output or not output.isprintable()):
        raise InvalidParameter(
            f"output={output!r} must name a directory, in printable characters only"
        )
    # A flag that says where blocks are computed replaces all that the file says of it.
    places = "executor", "scheduler"
    flagged = any(flags.get(name) is not None for name in places)
    executor, scheduler = (flags.get(n) if flagged else file.get(n) for n in places)
    if executor is not None and executor not in _EXECUTORS:
        raise InvalidParameter(
            f"executor={_spell(executor)} must be one of {', '.join(_EXECUTORS)}; a cluster is "
            "named by its scheduler"
        )
    return Settings(
        config=config,
        output=output,
        jobs=chosen("jobs"),
        executor=executor,
        scheduler=scheduler,
        claims_files=tuple(chosen("claims_files", ())),
    )


def _as_float(value: float) -> float:
    """The number as a float, infinite where a file's integer has too many digits for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _depth(content: bytes) -> int:
    """The largest number of brackets open at one place, those in texts included.

    A parser at the end of its stack fails, but so does whatever Python cleans up meanwhile, and
    that is printed on the error stream.  So deep files are refused before they are parsed.
    """
    depth = deepest = 0
    for character in content:
        if character in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in b"]}":
            depth -= 1
    return deepest


def read_config(path: Path) -> dict[str, Any]:
    """Read a TOML configuration.  Errors name unknown keys and wrong types."""
    if "\0" in str(path):
        raise InvalidParameter(f"config={str(path)!r} must be the path of a file")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InvalidParameter(
            f"{path}: is longer than a configuration may be ({MAX_BYTES:,} bytes)"
        )
    if _depth(content) > MAX_DEPTH:
        raise InvalidParameter(f"{path}: not a TOML file: nested too deeply")
    try:
        values = tomllib.loads(content.decode("utf-8-sig"))  # editors of Windows write a mark
    except RecursionError:
        raise InvalidParameter(f"{path}: not a TOML file: nested too deeply") from None
    except ValueError as error:  # TOML, UTF-8, integers of thousands of digits
        raise InvalidParameter(f"{path}: not a TOML file: {error}") from None
    for key, value in values.items():
        _check_entry(path, key, value)
    return values


def _check_entry(path: Path, key: str, value: Any) -> None:
    inputs = (key, *([value] if isinstance(value, str) else map(str, _items(value))))
    if key not in _KEYS:
        raise _BadFile(f"{path}: unknown key {key!r}; known: {', '.join(_KEYS)}", inputs)
    kinds = _KEYS[key]
    if not isinstance(value, kinds) or isinstance(value, bool):
        words = kinds[0].__name__
        raise _BadFile(f"{path}: {key}={_spell(value)} must be of type {words}", inputs)
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise _BadFile(f"{path}: {key}={_spell(value)} must be a list of strings", inputs)


def _items(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _spell(value: Any) -> str:
    """A value in the form that a message shows.  Some values have no short spelling."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
