"""Failures that stay found: a saved input, a test file that replays it, and the replay."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trials.checks import InvalidParameter, shown
from verify.testing.case import describe_case, load, save
from verify.testing.check import DoesNotFit, Implementation, Violation
from verify.testing.runner import Outcome, implementation

#: What a saved failure says of its implementation: the keywords of `implementation`.
_DECLARED = frozenset({"arrays", "precision", "accuracy", "equal_sizes"})

_TEST = '''"""{target} failed here as {subject}: {check}.

{states}

Found and written by cfl-verify.  The test passes once the implementation is right.
"""

from pathlib import Path

from verify.testing import replay


def test_{name}():
    replay(Path(__file__).with_suffix(".npz"))
'''


def load_target(target: str) -> Callable[..., Any]:
    """The function that ``package.module:name`` names.  The current folder is searched too.

    Raises
    ------
    DoesNotFit : a name of another form, a module that cannot be imported, a missing name.
    """
    module_name, colon, name = target.partition(":")
    if not (module_name and colon and name) or module_name.startswith("."):
        raise DoesNotFit(f"{shown(target)} must be MODULE:FUNCTION, such as mypkg.ifca:step")
    if module_name.endswith(".py"):
        raise DoesNotFit(
            f"{shown(target)} names a file: write MODULE:FUNCTION, as in "
            f"{Path(module_name).stem}:{name}, from the folder of the file"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a script that ends here would end as if all passed
        hint = "it must be importable from the current folder or installed"
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        if missing is None or not f"{module_name}.".startswith(f"{missing}."):
            hint = "the error is in the module or in what it imports"
        raise DoesNotFit(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}; {hint}"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            held = getattr(found, "__dict__", {})  # a number or a compiled function has none
            public = [n for n in held if not n.startswith("_") and callable(held[n])]
            raise DoesNotFit(
                f"{module_name} has no {name}; its functions are: {', '.join(public) or 'none'}"
            )
        found = getattr(found, part)
    if not callable(found):
        raise DoesNotFit(f"{target} is {shown(found)}: it must be a function")
    return found  # type: ignore[no-any-return]


def target_of(function: Callable[..., Any]) -> str | None:
    """``module:name`` of a function, or None where the name does not lead to it again."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    target = f"{module}:{name}"
    try:
        return target if load_target(target) is function else None
    except DoesNotFit:
        return None


def save_failure(folder: Path, target: str, call: Implementation, outcome: Outcome) -> Path:
    """Write the failing input and a test that replays it.  Returns the test's path."""
    if outcome.case is None:
        raise InvalidParameter(f"{outcome.check.name} has not failed: there is no input to save")
    stem = re.sub(r"\W", "_", f"{call.subject.name}_{outcome.check.name}_{target}")
    test = folder / f"test_{stem}.py"
    facts = {
        "target": target,
        "subject": call.subject.name,
        "check": outcome.check.name,
        "message": outcome.message,
        "declared": {
            "arrays": call.border.package,
            "precision": call.border.precision,
            "accuracy": call.accuracy,
            "equal_sizes": call.scope.equal_sizes,
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    save(test.with_suffix(".npz"), outcome.case, facts)
    states = outcome.check.states
    text = _TEST.format(
        target=target, subject=call.subject.name, check=outcome.check.name, states=states, name=stem
    )
    test.write_text(text, encoding="utf-8")
    return test


def replay(path: Path | str, function: Callable[..., Any] | None = None) -> None:
    """Judge the implementation on a saved input again.

    Parameters
    ----------
    path : an ``.npz`` file that `save_failure` wrote.
    function : the implementation.  None means the one that failed, imported by its name.

    Raises
    ------
    Violation : the implementation fails as before, or in another way of the same check.
    DoesNotFit, InvalidParameter : the function or the file cannot be used.
    """
    case, facts = load(Path(path))
    declared = facts.get("declared")
    if not {"target", "subject", "check"} <= facts.keys() or not isinstance(declared, dict):
        raise InvalidParameter(f"{path} must be a saved failure: its facts are {shown(facts)}")
    if unknown := ", ".join(sorted(declared.keys() - _DECLARED)):
        raise InvalidParameter(f"{path} declares {unknown}, which this version does not know")
    if function is None:
        function = load_target(facts["target"])
    call = implementation(function, facts["subject"], **declared)
    found = [check for check in call.subject.checks if check.name == facts["check"]]
    if not found:
        raise InvalidParameter(f"{path}: {facts['subject']} has no check {facts['check']}")
    try:
        found[0].judge(call, case)
    except Violation as violation:
        raise Violation(f"{found[0].states}\n{violation}\n{describe_case(case)}") from violation
