"""Nothing in the program is written and then not read: arguments, functions and fields.

A wrong line often leaves something unread: an option that is dropped, a value that is computed
and not passed on, a list that lost one of its parts.  So each exception has its reason here.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from tests import parsed
from tests.parsed import ROOT, walk

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Modules with functions of one signature each, some of which need not all of it.
ONE_SIGNATURE = {
    "trials/clustering/sparse/estimators.py": "y of scikit-learn",
    "trials/clustering/sparse/rows.py": "row kernels of one call",
    "trials/jit_cache.py": "methods of importlib's finders",
    "trials/run/distributed.py": "the callback of a scheduler",
    "trials/run/executor.py": "one signature of all executors",
    "verify/estimators/baselines.py": "one signature of all methods",
    "verify/estimators/others.py": "one signature of all methods",
    "verify/estimators/splitting.py": "the splitters of scikit-learn",
    "verify/mutation/outcomes.py": "a table of functions",
    "verify/proofs/coq/scripts.py": "one signature of all writers",
    "verify/testing/subjects/rounds.py": "one signature of all strategies",
    "verify/testing/subjects/rules.py": "one signature of all rules",
    "verify/claims/sxy/moments.py": "columns whose values are the same in all cells",
}
#: The arguments of these modules that are not read.
MOST_EXCEPTIONS = 35
#: A name that is read more often is not only read by the function that has it.
MOST_OF_ITS_OWN = 5
#: Functions that others find by their names.
CALLED_BY_NAME = {
    "_as_ordered_terms": "sympy's printer",
    "on_broken_pipe": "rich's console",
    "pytest_addoption": "pytest",
    "pytest_configure": "pytest",
    "pytest_generate_tests": "pytest",
    "get_n_splits": "scikit-learn",
    "_numba_type_": "Numba",
    "_optimize_functions": "Numba",
    "_verify_declare_only_symbols": "Numba",
    "compile_extra": "Numba",
    "define_pipelines": "Numba",
    "serve_forks": "a new process (`trials.run.forks`)",
    "ifca_run": "the examples of subjects",
    "fedavg_round": "the examples of subjects",
    "fedprox_round": "the examples of subjects",
}
#: What only tests read, with the reason why the program has it.
FOR_TESTS = {
    "put_block": "the store of one block, for those who fill a run in Python",
    "separation_of_cores": "the separation at which a proof holds, tried on data",
    "read_idx": "a part of read_mnist that is public",
    "value_variance": "the constants of a loss that the papers name",
    "gradient_variance": "the constants of a loss that the papers name",
    "log_likelihoods": "a result for users of the method",
    "is_consistent": "a result for users of the method",
    "n_messages": "the traffic that the benchmarks print",
    "extrapolation": "a part of the decision, for those who read it in Python",
    "log_constant": "a part of the fit, for those who read it in Python",
    "floor_bias": "a part of the fit, for those who read it in Python",
    "__metadata_request__split": "scikit-learn",
}


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the program."""
    return {path.relative_to(ROOT).as_posix(): tree for path, tree in parsed.trees().items()}


def arguments(of: Function | ast.Lambda) -> list[str]:
    every = of.args
    listed = [*every.posonlyargs, *every.args, *every.kwonlyargs]
    more = [each for each in (every.vararg, every.kwarg) if each is not None]
    return [each.arg for each in (*listed, *more)]


def is_stub(function: Function) -> bool:
    """Whether a body is a text, an ellipsis or an error: a protocol, or what a subclass writes."""
    body = function.body
    texts = [s for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)]
    return len(texts) == len(body) or isinstance(body[len(texts)], ast.Raise)


def names_in(tree: ast.AST) -> Counter[str]:
    """How often a name is read, as itself, behind a dot or as a text."""
    found: Counter[str] = Counter()
    for node in walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Store):
            found[node.id if isinstance(node, ast.Name) else node.attr] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found[node.value] += 1
    return found


@cache
def read() -> Counter[str]:
    found: Counter[str] = Counter()
    for tree in trees().values():
        found.update(names_in(tree))
    return found


@cache
def public() -> set[str]:
    """The words of the documents, of the settings and of the build."""
    files = [ROOT / "pyproject.toml", ROOT / "README.md"]
    files += [p for p in (ROOT / "docs").rglob("*") if p.suffix in {".md", ".py", ".toml"}]
    return {word for file in files for word in re.findall(r"\w+", file.read_text("utf-8"))}


def unread_in(tree: ast.Module) -> Iterator[str]:
    """The arguments that no line of their function mentions, stubs and exits left out.

    A ``del`` says that an argument is there for the signature's sake.
    """
    for node in walk(tree):
        if isinstance(node, ast.Lambda):
            body: list[ast.AST] = [node.body]
        elif isinstance(node, Function) and not is_stub(node) and node.name != "__exit__":
            body = list(node.body)
        else:
            continue
        names = {name for name in arguments(node) if not name.startswith("_")} - {"self", "cls"}
        if names:
            used = {n.id for part in body for n in walk(part) if isinstance(n, ast.Name)}
            yield from (f"{getattr(node, 'name', 'lambda')}({name})" for name in names - used)


def test_the_walk_meets_every_node_that_holds_another_or_a_name():
    """Compared with the library's, in the package with the most kinds of nodes."""
    some = [tree for path, tree in trees().items() if path.startswith("verify/cli/")]
    assert len(some) > 20
    for tree in some:
        every = Counter(map(id, filter(lambda node: node._fields, ast.walk(tree))))
        assert Counter(id(node) for node in walk(tree) if node._fields) == every


def test_every_argument_is_read():
    unread = {path: sorted(unread_in(tree)) for path, tree in trees().items()}
    assert {p: found for p, found in unread.items() if found and p not in ONE_SIGNATURE} == {}
    assert [path for path in ONE_SIGNATURE if not unread[path]] == [], "an exception can go"
    assert sum(map(len, unread.values())) <= MOST_EXCEPTIONS, "a new one among the exceptions"


def registers(node: Function | ast.ClassDef) -> bool:
    """Whether a decorator with arguments puts it on a list, as `claim` does."""
    calls = [d.func for d in node.decorator_list if isinstance(d, ast.Call)]
    return any(
        ast.unparse(call) not in {"dataclass", "kernel", "inner_kernel", "deprecated"}
        for call in calls
    )


def unread_definitions() -> Iterator[tuple[str, str]]:
    for path, tree in trees().items():
        for node in tree.body:
            for each in [node, *(node.body if isinstance(node, ast.ClassDef) else [])]:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    if each is not node and not read()[each.target.id]:
                        yield path, each.target.id
                elif isinstance(each, Function | ast.ClassDef) and not registers(each):
                    if each.name.startswith("__") or read()[each.name] > MOST_OF_ITS_OWN:
                        continue
                    if read()[each.name] <= names_in(each)[each.name]:
                        yield path, each.name


def test_every_function_and_field_is_read():
    """A field that only a document names is public, as a function is."""
    unread = {name: path for path, name in unread_definitions()}
    exceptions = {*CALLED_BY_NAME, *FOR_TESTS}
    assert {n: p for n, p in unread.items() if n not in exceptions and n not in public()} == {}
    assert exceptions <= set(unread), "an exception can go"
