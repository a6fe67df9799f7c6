"""Faults of one place in a module: a dropped divisor, a flipped comparison, a changed constant.

A fault is a replacement of a piece of source text.  Places are found in the syntax tree, so that
strings, annotations, docstrings and error messages stay as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Fault:
    """The text ``old`` of a file, from character ``start`` on, is replaced by ``new``."""

    path: str
    start: int
    old: str
    new: str
    kind: str
    line: int

    def planted(self, source: str) -> str:
        """The file's text with the fault in it."""
        end = self.start + len(self.old)
        if source[self.start : end] != self.old:
            raise ValueError(f"{self.path}:{self.line}: the text has changed")
        return source[: self.start] + self.new + source[end:]

    def __str__(self) -> str:
        old, new = (" ".join(text.split())[:60] for text in (self.old, self.new))
        return f"{self.path}:{self.line} {self.kind}: {old} -> {new}"


def located(root: Path, path: str, text: str) -> str:
    """The module that holds a text once: the one at ``path``, or the one to which it has moved.

    A text moves within its package, which is the first folder of the path.

    Raises
    ------
    ValueError
        When the text does not occur exactly once.
    """
    file = root / path
    count = file.read_text().count(text) if file.is_file() else 0
    if count == 1:
        return path
    package = sorted((root / path.partition("/")[0]).rglob("*.py"))
    counts = {each: each.read_text().count(text) for each in package} if count == 0 else {}
    found = [each.relative_to(root).as_posix() for each, n in counts.items() if n]
    if len(found) == 1 and sum(counts.values()) == 1:
        return found[0]
    raise ValueError(f"{path}: {text!r} occurs {count or sum(counts.values())} times, not once")


_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.Gt,
    ast.Gt: ast.Lt,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Pow: ast.Mult,
}
_NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "minimum": "maximum",
    "maximum": "minimum",
    "fmin": "fmax",
    "fmax": "fmin",
    "floor": "ceil",
    "ceil": "floor",
    "argmin": "argmax",
    "argmax": "argmin",
}
#: Calls whose arguments are text for people, types or settings of speed.
_UNTOUCHED = {
    *("kernel", "field", "dataclass", "Meta", "option", "argument", "say", "cast", "TypeVar"),
}


def faults_in(path: str, source: str) -> list[Fault]:
    """Every fault that can be planted in a module, in the order of the text."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for text in lines:
        starts.append(starts[-1] + len(text))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    tree = ast.parse(source)
    data = _data(tree) if _is_design(path) else set()
    found = []
    for node, kind, new in _changes(tree):
        if node in data:
            continue
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = offset(node.lineno, node.col_offset)
        old = source[start : offset(node.end_lineno, node.end_col_offset)]
        found.append(Fault(path, start, old, new, kind, node.lineno))
    return sorted(found)


_Located = ast.expr | ast.stmt


def _changes(tree: ast.Module) -> Iterator[tuple[_Located, str, str]]:
    """(node, kind, new text) of each fault."""
    for node in _visited(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv):
            if not _is_path(node):
                yield node, "divisor dropped", f"({ast.unparse(node.left)})"
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            if not _is_text(node):
                changed = ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
                yield node, "operator changed", f"({ast.unparse(changed)})"
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _FLIPPED:
            ops = [_FLIPPED[type(node.ops[0])](), *node.ops[1:]]
            changed_compare = ast.Compare(node.left, ops, node.comparators)
            yield node, "comparison flipped", f"({ast.unparse(changed_compare)})"
        elif isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, "and/or changed", f"({ast.unparse(ast.BoolOp(other, node.values))})"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield node, "sign dropped", f"({ast.unparse(node.operand)})"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            more = node.value + 1 if isinstance(node.value, int) else 2 * node.value
            if more != node.value:
                yield node, "constant changed", repr(more)
        elif isinstance(node, ast.Call) and (name := _called(node)) in _NAMES:
            text = ast.unparse(node.func)
            yield node.func, "function changed", text.removesuffix(name) + _NAMES[name]
        elif isinstance(node, ast.AugAssign | ast.Break | ast.Continue | ast.Raise) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            yield node, "line dropped", "pass"


def _visited(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of running code: no annotation, no text, no message, no setting."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom):
                continue
            yield child
            if isinstance(child, ast.Raise):
                continue
            if isinstance(child, ast.Call) and _called(child) in _UNTOUCHED:
                continue
            yield from _visited(child)


def _is_design(path: str) -> bool:
    """Whether a module chooses what is tried: the numbers that it lists are free choices."""
    return path.startswith(("verify/claims/", "trials/experiments/"))


def _data(tree: ast.Module) -> set[ast.expr]:
    """Numbers that are listed or handed over as they are, such as the values of a cell.

    Another number there makes another test that is as good.  Numbers in formulas are none of them,
    but a power of two numbers, such as 10**5, is a number.
    """
    found: set[ast.expr] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            found.update(node.elts)
        elif isinstance(node, ast.Dict):
            found.update(node.values)
        elif isinstance(node, ast.Call):
            found.update(node.args, (each.value for each in node.keywords))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            found.add(node.value)
    powers = [each for each in found if isinstance(each, ast.BinOp) and _is_number(each)]
    operands = [operand for power in powers for operand in (power.left, power.right)]
    return {each for each in (*found, *operands) if _is_number(each)}


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, or a power of two numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
    return isinstance(node, ast.Constant)


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_text(node: ast.BinOp) -> bool:
    """Whether an operation joins or repeats text or sequences."""
    sides = (node.left, node.right)
    return any(
        isinstance(s, ast.JoinedStr | ast.List | ast.Tuple)
        or (isinstance(s, ast.Constant) and isinstance(s.value, str))
        or (isinstance(s, ast.BinOp) and _is_text(s))
        for s in sides
    )


def _is_path(node: ast.BinOp) -> bool:
    """Whether a division joins a path."""
    return bool(re.search(r"path|dir|folder|root|NAME|target|['\"]", ast.unparse(node)))


def modules(root: Path, package: str) -> list[str]:
    """The modules of a package that hold code, as paths below the root, or one module.

    The claims are a group of their own, apart from the program that decides them.
    """
    if package.endswith(".py"):
        return [package]
    skipped = ["/templates/", "__init__.py", "__main__.py"]
    if "/" not in package:
        skipped.append("verify/claims/")
    paths = sorted(path.relative_to(root).as_posix() for path in (root / package).rglob("*.py"))
    return [path for path in paths if not any(part in path for part in skipped)]
