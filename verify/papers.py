"""Papers, and the catalogue of the claims of all papers.

A paper is one object, a `Paper`, with its citation, letters, claims, findings and dependencies
between statements.  The catalogue finds papers in three places:

* the folders of `verify.claims`, one for each paper, found without a list,
* the entry-point group ``cfl_verify.papers`` of installed packages.  The value is a `Paper`.  Ours
  come through the same group::

      [project.entry-points."cfl_verify.papers"]
      mypaper = "mypackage.claims:PAPER"

* files of one's own, which the command line names with ``--claims FILE.py``.  Every `Paper` at the
  top level of such a file is taken.  ``docs/your-own-paper.md`` shows one.

How a command uses it
---------------------
``catalogue(files)`` returns a `Catalogue`: a mapping from claim id to `Claim`, in the papers'
order.  It raises `InvalidParameter`, one line, for everything that a user can put right.

    found = catalogue(files)                  # list, info, run
    with session.create(...) as store:
        record_files(store, found.files)      # path, SHA-256 and text of every file

    catalogue(recorded_files(store, files))   # resume, replay: the same files, unchanged

``files`` are those that the user names with ``--claims``.  A run that is continued without them
uses the recorded ones where they stand, and refuses a file whose content has changed.
`recorded_files` runs nothing, and `catalogue` runs the files.  Workers get a file as its text
(`trials.run.origin`), so a worker on another machine needs no copy.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import verify.claims
from bounds.statement import Publication, Statement
from trials.checks import InvalidParameter
from trials.run.origin import Origin, load, load_file, user_module_name
from trials.run.store import RunStore, StoreError
from verify import consent
from verify.claim import Claim, Finding
from verify.procedures.placebos import Entry, Occurs, Placebo
from verify.proofs.shelf import CERTIFICATES, add_shelf
from verify.stored import claims_files

#: The entry-point group in which installed packages offer their papers.
GROUP = "cfl_verify.papers"
#: The kind of the store's documents that hold the files of a run.
FILE_KIND = "claims-file"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper, with everything that the suite says about it.

    Attributes
    ----------
    id : the first part of the ids of its statements, ``id.statement``.
    title : as printed.
    publications : the texts in print, each with its BibTeX entry and its letters.
    claims : in the paper's order.
    findings : findings about its text that no claim shows.  The claims name the others.
    data : the data-generating mechanism in a few sentences (inline LaTeX allowed).
    placebos : claim id -> its placebos, or the reason why it has none: see
        `verify.procedures.placebos`.  The name of a module stands for its ``PLACEBOS``, which is
        loaded when it is needed.

    Raises
    ------
    ValueError
        For an id that is not the claims' prefix, ids that occur twice, and a statement that uses
        one that the paper does not have.
    """

    id: str
    title: str
    publications: tuple[Publication, ...]
    claims: tuple[Claim, ...]
    findings: tuple[Finding, ...] = ()
    data: str = ""
    placebos: Mapping[str, Entry] | str = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {statement.id for statement in self.statements}
        for statement in self.statements:
            if statement.paper != self.id or statement.id == f"{self.id}.":
                raise ValueError(
                    f"claim {statement.id!r} of paper {self.id!r} must have an id of the form "
                    f"{self.id}.NAME"
                )
            if statement.publication not in self.publications:
                raise ValueError(
                    f"{statement.id}: its publication {statement.publication.label!r} must be one "
                    f"of the publications of paper {self.id!r}"
                )
            if missing := [name for name in statement.uses if name not in known]:
                raise ValueError(
                    f"{statement.id} uses {missing[0]!r}, which is no statement of paper "
                    f"{self.id!r}; known: {', '.join(sorted(known))}"
                )
        _once("claim", [claim.id for claim in self.claims])
        _once("finding", [finding.id for finding in self.all_findings])

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements, in the order of the claims."""
        return tuple(claim.statement for claim in self.claims)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Every finding once: those that claims show, in the claims' order, then the others."""
        shown = [finding for claim in self.claims for finding in claim.findings]
        distinct: list[Finding] = []
        for finding in (*shown, *self.findings):
            if finding not in distinct:
                distinct.append(finding)
        return tuple(distinct)

    @property
    def uses(self) -> dict[str, tuple[str, ...]]:
        """The edges of the dependency graph: statement id -> ids on which its proof rests."""
        return {s.id: tuple(s.uses) for s in self.statements if s.uses}

    @property
    def bibtex(self) -> str:
        """The BibTeX entries of all publications."""
        return "\n\n".join(publication.bibtex for publication in self.publications)

    def registry(self) -> Mapping[str, Entry]:
        """Claim id -> its placebos, loaded now where the paper names a module."""
        if isinstance(self.placebos, str):
            found: Mapping[str, Entry] = importlib.import_module(self.placebos).PLACEBOS
            return found
        return self.placebos

    def placebos_of(self, name: str) -> Entry | None:
        """What the registry says about a claim, None where it says nothing."""
        return self.registry().get(name)

    def evidence(self, finding: Finding) -> tuple[str, ...]:
        """Ids of the claims that show a finding, empty for a misprint that needs no experiment."""
        return tuple(claim.id for claim in self.claims if finding in claim.findings)

    def documents(self, ran: Collection[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """(kind, key, body) of the store's documents about the paper, for the claims that ran.

        A finding is reported when one of the claims that show it ran.  A finding that no claim
        shows goes with the paper.
        """
        rows = dict.fromkeys(row for p in self.publications for row in p.notation.table)
        yield (
            "paper",
            self.id,
            {
                "title": self.title,
                "publications": [[p.label, p.bibtex] for p in self.publications],
                "uses": {name: list(used) for name, used in self.uses.items()},
                "data": self.data,
            },
        )
        yield "symbol", self.id, {"symbols": [list(row) for row in rows]}
        for finding in self.all_findings:
            evidence = self.evidence(finding)
            if not evidence or any(name in ran for name in evidence):
                body = {name: text for name, text in asdict(finding).items() if name != "id"}
                yield "finding", finding.id, {**body, "evidence": list(evidence)}


def collect(*modules: ModuleType) -> tuple[Claim, ...]:
    """The claims that the modules make, in the order of the modules and then of the text.

    A claim is a module's variable, or a row of a table, which is a tuple of claims.  One that a
    module merely imports is not counted.
    """
    return tuple(claim for module in modules for claim in _made_by(module))


def _made_by(module: ModuleType) -> Iterator[Claim]:
    for value in vars(module).values():
        for found in value if isinstance(value, tuple) else (value,):
            if isinstance(found, Claim) and found.builder.__module__ == module.__name__:
                yield found


@dataclass(frozen=True)
class ClaimsFile:
    """A user's file with papers: its path and its text."""

    path: Path
    sha256: str
    source: str

    @classmethod
    def read(cls, path: Path) -> ClaimsFile:
        """Read a file.  The error for one that is unreadable, binary or no Python file is one line.

        Its text is run.  So a file of another suffix, such as a table of data, is refused unread.
        """
        _refuse_other_kinds(path)
        try:
            content = path.read_bytes()
            source = content.decode("utf-8")
        except OSError as error:
            raise InvalidParameter(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InvalidParameter(f"{path}: is not a Python file in UTF-8") from None
        return cls(path.resolve(), hashlib.sha256(content).hexdigest(), source)


def _refuse_other_kinds(path: Path) -> None:
    if path.suffix.lower() != ".py":
        raise InvalidParameter(
            f"{path}: is no file of claims, whose name ends in .py (docs/your-own-paper.md shows "
            "one)"
        )


class Catalogue(Mapping[str, Claim]):
    """The claims of all papers by id, in the papers' order.

    Attributes
    ----------
    papers : every paper that was found, ours first.
    files : the files of one's own from which papers were taken.
    owners : paper id -> its file, for the papers of ``files``.
    """

    def __init__(
        self,
        papers: Sequence[Paper],
        files: Sequence[ClaimsFile] = (),
        owners: Mapping[str, ClaimsFile] = MappingProxyType({}),
    ) -> None:
        self.papers = tuple(papers)
        self.files = tuple(files)
        self._owners = dict(owners)
        self._claims = {claim.id: claim for paper in self.papers for claim in paper.claims}

    def __getitem__(self, name: str) -> Claim:
        return self._claims[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)

    def paper(self, name: str) -> Paper:
        """The paper of a claim, by the claim's id or the paper's."""
        for paper in self.papers:
            if paper.id == name.partition(".")[0]:
                return paper
        known = ", ".join(paper.id for paper in self.papers)
        raise InvalidParameter(f"unknown paper {name.partition('.')[0]!r}; known: {known}")

    def placebos_of(self, name: str) -> tuple[Placebo | Occurs, ...]:
        """The placebos of a claim, none where its paper's registry gives a reason or nothing."""
        entry = self.paper(name).placebos_of(name)
        return () if entry is None or isinstance(entry, str) else entry

    def file_of(self, name: str) -> ClaimsFile | None:
        """The file of one's own with the paper of a claim, or None for a paper from elsewhere."""
        return self._owners.get(self.paper(name).id)

    def documents(self, ran: Iterable[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """(kind, key, body) of the store's documents about the papers of the claims that ran."""
        names = set(ran)
        for paper in self.papers:
            if any(claim.id in names for claim in paper.claims):
                yield from paper.documents(names)


def catalogue(extra_files: Sequence[Path | str] = ()) -> Catalogue:
    """The catalogue of our papers, of installed packages' papers, and of one's own files.

    Raises
    ------
    InvalidParameter
        When a file or an installed package cannot be loaded, holds no paper, or holds one whose id
        is taken.  The message names the remedy.
    """
    for path in extra_files:
        _refuse_other_kinds(Path(path))
        load_file(path)  # its errors name the line
    return from_files(tuple(dict.fromkeys(ClaimsFile.read(Path(path)) for path in extra_files)))


@lru_cache(maxsize=8)
def from_files(files: tuple[ClaimsFile, ...]) -> Catalogue:
    """`catalogue` with files whose text is given, as in a worker on another machine."""
    for file in files:
        add_shelf(file.path.parent / CERTIFICATES)
    papers: dict[str, tuple[Paper, str]] = {}
    owners = {paper.id: file for file in files for paper in _own(file)}
    own = ((paper, str(file.path)) for file in files for paper in _own(file))
    for paper, origin in (*_built_in(), *_find_installed(), *own):
        if paper.id not in papers:
            papers[paper.id] = paper, origin
        elif papers[paper.id][0] is not paper:
            raise InvalidParameter(
                f"paper id {paper.id!r} of {origin} is taken by {papers[paper.id][1]}; give the "
                "paper another id"
            )
    return Catalogue([paper for paper, _ in papers.values()], files, owners)


def _built_in() -> Iterator[tuple[Paper, str]]:
    """The papers of `verify.claims`, also where the package's metadata are missing or old."""
    for module in pkgutil.iter_modules(verify.claims.__path__, f"{verify.claims.__name__}."):
        if module.ispkg:
            yield importlib.import_module(module.name).PAPER, module.name


def _find_installed() -> Iterator[tuple[Paper, str]]:
    """The papers of installed packages, ours among them."""
    for point in metadata.entry_points(group=GROUP):
        owner = point.dist.name if point.dist is not None else "an installed package"
        origin = f"{owner} ({point.value})"
        try:
            paper = point.load()
        except Exception as error:  # a stranger's package may raise anything
            raise InvalidParameter(
                f"the paper {point.name!r} of {origin} cannot be loaded "
                f"({_one_line(error)}); mend or uninstall {owner}"
            ) from None
        if not isinstance(paper, Paper):
            raise InvalidParameter(
                f"the entry point {point.name!r} of {origin} is a {type(paper).__name__}; it must "
                "be a verify.papers.Paper"
            )
        yield paper, origin


def _own(file: ClaimsFile) -> list[Paper]:
    """The papers at the top level of a user's file."""
    text = file.source.encode()
    module = load(Origin(user_module_name(text), str(file.path), text))
    papers = [value for value in vars(module).values() if isinstance(value, Paper)]
    if not papers:
        raise InvalidParameter(
            f"{file.path}: holds no paper; put PAPER = Paper(...) at its top level "
            "(docs/your-own-paper.md shows how)"
        )
    return papers


def record_files(store: RunStore, files: Sequence[ClaimsFile]) -> None:
    """Write the files of a run into its store: path, SHA-256 and source text."""
    consent.remember({file.path: file.sha256 for file in files})
    for file in files:
        store.put_document(
            FILE_KIND,
            str(file.path),
            {"path": str(file.path), "sha256": file.sha256, "source": file.source},
        )


def recorded_files(store: RunStore, named: Sequence[Path | str] = ()) -> tuple[Path, ...]:
    """The files with which a run goes on: those named now, or else those that it recorded.

    Nothing is run.  Every recorded file must be there with its recorded content, and must be one
    that this user has run before (`verify.consent`) or names now.

    Raises
    ------
    StoreError
        When a recorded file is missing, has changed, or is a stranger's.  The message names the
        remedy.
    """
    files = tuple(ClaimsFile.read(Path(path)) for path in named)
    consent.remember({file.path: file.sha256 for file in files})
    found = {file.sha256: file for file in files}
    for document in claims_files(store, FILE_KIND):
        path, sha256 = Path(document["path"]), document["sha256"]
        if sha256 in found:
            continue
        if not path.is_file():
            raise StoreError(
                f"{store.path}: the run needs {path}, which is not there; name the file with "
                "--claims (its text is stored in the run)"
            )
        file = ClaimsFile.read(path)
        if file.sha256 != sha256:
            raise StoreError(
                f"{store.path}: {path} has changed since the run was made; restore it, or start a "
                "new run (its text is stored in the run)"
            )
        if not consent.is_remembered(path, sha256):
            raise StoreError(
                f"{store.path}: the run asks for the code in {path}, which you have not run "
                f"before; read it, and if you trust it, add --claims {shlex.quote(str(path))}"
            )
        found[sha256] = file
    return tuple(file.path for file in found.values())


def _once(kind: str, ids: Sequence[str]) -> None:
    for name, count in Counter(ids).items():
        if count > 1:
            raise ValueError(f"{kind} id {name!r} is registered twice")


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
