"""Coq's compiler: it is found on the path, compiles theorems, and names the axioms they rest on."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trials.checks import InvalidParameter

LIBRARIES = ("CFL.v", "Analysis.v")
PACKAGES = (
    "install Coq 8.16 or later with coq-interval and coquelicot, for example by "
    "apt-get install coq libcoq-interval"
)
INSTALL = f"coqc is not on the path: {PACKAGES}"
#: What Coq's real numbers assume: classical logic, two choices for them, and that functions are
#: equal where their values are.  Nothing else may be assumed.
AXIOMS = frozenset({
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
})  # fmt: skip
#: Commands that a script may not hold: it proves the theorem and states nothing.
_REFUSED = re.compile(
    r"\b(Admitted|admit|give_up|Abort|Axioms?|Parameters?|Variables?|Hypothes[ie]s|Conjecture|"
    r"Context|Theorem|Lemma|Definition|Qed|Defined|Save|Load|Require|Import|Set|Unset|Module|"
    r"Section|Notation|Ltac)\b"
)
_SECONDS = 100


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """The outcome of a file: Coq's message where it fails, and the CPU seconds that it took."""

    good: bool
    message: str
    seconds: float


class Coq:
    """A folder in which files are compiled, beside the library.

    Raises
    ------
    InvalidParameter
        Where Coq is not installed, or its packages do not let the library compile.
    """

    def __init__(self, folder: Path) -> None:
        self.program, self.version = found()
        self.folder = folder
        for library in (path.name for path in copy_libraries(folder)):
            made = self._run(library)
            if not made.good:
                why = " ".join(made.message.split())[:160]
                raise InvalidParameter(f"{library} does not compile: {why}; {PACKAGES}")

    def compile(self, name: str, document: str) -> Compiled:
        """Compile a file of the folder, ``name.v``."""
        (self.folder / f"{name}.v").write_text(document, encoding="utf-8")
        return self._run(f"{name}.v")

    def axioms(self, theorems: Mapping[str, str]) -> tuple[str, ...]:
        """What compiled theorems rest on, together.

        Each theorem is stated once more, so that its file cannot have proved another one.

        Parameters
        ----------
        theorems : name of the file -> the proposition that ``holds`` in it must prove.
        """
        lines = ["From Coq Require Import Reals.", "Open Scope R_scope."]
        lines += [f"From CFL Require {name}." for name in theorems]
        lines += [f"Definition the_{name} : {text} := {name}.holds."
                  for name, text in theorems.items()]  # fmt: skip
        pairs = ", ".join(f"the_{name}" for name in theorems)
        lines += [f"Definition all := (tt, {pairs}).", "Print Assumptions all."]
        (self.folder / "Everything.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = self._call("Everything.v")
        if done.returncode:
            raise InvalidParameter(f"a theorem is not the one asked for: {_line(done.stderr)}")
        return axioms_of(done.stdout)

    def _run(self, file: str) -> Compiled:
        begin = _children()
        done = self._call(file)
        message = _line(done.stderr) or ("stopped" if done.returncode else "")
        return Compiled(good=not done.returncode, message=message, seconds=_children() - begin)

    def _call(self, file: str) -> subprocess.CompletedProcess[str]:
        limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        command = [self.program, "-w", "none", "-R", ".", "CFL", file]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                              check=False, preexec_fn=limit)  # fmt: skip


def copy_libraries(folder: Path) -> list[Path]:
    """The libraries of the proofs, written into a folder, in the order in which they compile."""
    return [Path(shutil.copy(Path(__file__).parent / name, folder / name)) for name in LIBRARIES]


def found() -> tuple[str, str]:
    """The path of Coq's compiler and its version."""
    program = shutil.which("coqc")
    if program is None:
        raise InvalidParameter(INSTALL)
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"version (\S+)", shown.stdout)
    if version is None:
        raise InvalidParameter(f"{program} does not tell its version")
    return program, version.group(1)


def axioms_of(printed: str) -> tuple[str, ...]:
    """The names that ``Print Assumptions`` lists, in order.

    >>> axioms_of("Axioms:\\nClassical_Prop.classic : forall P : Prop, P \\\\/ ~ P\\n")
    ('Classical_Prop.classic',)
    """
    if "Axioms:" not in printed:
        if "Closed under the global context" not in printed:
            raise InvalidParameter("Coq did not print what the theorems assume")
        return ()
    lines = printed.partition("Axioms:")[2].splitlines()
    names = (re.match(r"[A-Za-z_][\w.']*", line) for line in lines)
    return tuple(sorted({name.group() for name in names if name}))


def refuse_commands(script: str) -> None:
    """Refuse a script that does more than prove its theorem."""
    if told := _REFUSED.search(script):
        raise InvalidParameter(f"a script must hold tactics only, not {told.group()!r}")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
