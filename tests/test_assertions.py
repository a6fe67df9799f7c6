"""No test can end without a check: neither by an early return nor past a condition.

The rule reads the text.  A loop counts as run, so a test whose loop may be over nothing counts what
it tried.  A call counts as a check in two forms: a helper that holds a check, and one branch of two
where the other expects an error.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
#: Tests of which a call is the check: it raises where it finds something wrong.
CALLS = {
    "test_a_page_that_asks_outside_is_seen": "waits until the address is asked for",
    "test_good_arguments_are_accepted": "a refusal is an error",
    "test_the_other_examples_run": "the examples of the page hold their own assertions",
}
_WORDS = ("assert", "check", "require", "refuse", "fail")


def functions(tree):
    """The functions of a module and of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node)


def expects(node):
    """Whether a statement is an assertion, or a block that expects an error or a warning."""
    if not isinstance(node, ast.With):
        return isinstance(node, ast.Assert)
    return any(ast.unparse(item.context_expr).startswith("pytest.") for item in node.items)


def calls(node, helpers):
    """Whether a statement calls something that checks."""
    called = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    names = [getattr(f, "attr", getattr(f, "id", "")) for f in called]
    return any(name in helpers or name.lstrip("_").startswith(_WORDS) for name in names)


def helpers_of(tree):
    """The functions of a file that hold a check, and those that it takes from other tests."""
    own = {
        f.name
        for f in ast.walk(tree)
        if isinstance(f, ast.FunctionDef)
        and not f.name.startswith("test_")
        and any(expects(n) or calls(n, ()) for n in ast.walk(f))
    }
    taken = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.")
        for alias in node.names
    }
    return own | taken


def is_certain(body, helpers):
    """Whether every way through the statements meets a check."""
    for node in body:
        if expects(node) or isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Return | ast.Continue):
            return False
        if isinstance(node, ast.If):
            parts = [node.body, node.orelse]
            if is_split(parts) or all(is_certain(part, helpers) for part in parts):
                return True
        elif isinstance(node, ast.For | ast.While | ast.With):
            parts = [node.body]
            if is_certain(node.body, helpers):
                return True
        elif isinstance(node, ast.Try):
            parts = [node.body + node.orelse, *(h.body for h in node.handlers)]
            if all(is_certain(part, helpers) for part in parts):
                return True
        else:
            parts = []
        if any(leaves(part) and not is_certain(part, helpers) for part in parts):
            return False
        if not (parts or isinstance(node, ast.FunctionDef)) and calls(node, helpers):
            return True
    return False


def is_split(parts):
    """Whether one branch calls and the other expects an error of the same call."""
    return all(parts) and any(
        isinstance(n, ast.With) and expects(n) for part in parts for n in part
    )


def leaves(body):
    """Whether a statement may end the test.  A function inside returns to the test."""
    return any(
        isinstance(node, ast.Return) or leaves(ast.iter_child_nodes(node))
        for node in body
        if not isinstance(node, ast.FunctionDef | ast.Lambda)
    )


def silent(text):
    """The tests of a file that can end without a check."""
    tree = ast.parse(text)
    tests = [f for f in functions(tree) if f.name.startswith("test_")]
    doubtful = [f for f in tests if not is_certain(f.body, ())]
    helpers = helpers_of(tree) if doubtful else ()
    return [f.name for f in doubtful if not is_certain(f.body, helpers)]


def test_no_test_can_end_without_a_check():
    found = {
        name: path.relative_to(ROOT)
        for path in sorted(ROOT.rglob("test_*.py"))
        for name in silent(path.read_text("utf-8"))
    }
    assert {name: path for name, path in found.items() if name not in CALLS} == {}
    assert set(found) >= set(CALLS)


@pytest.mark.parametrize(
    "body",
    [
        "f()",
        "if x:\n  return\n assert x",
        "if x:\n  assert x",
        "if x:\n  assert x\n elif y:\n  assert y",
        "try:\n  f()\n except ValueError:\n  pass",
        "try:\n  f()\n except ValueError:\n  return\n assert x",
        "for x in y:\n  f(x)",
        "for x in y:\n  if x:\n   assert x",
        "def inner():\n  assert x\n inner",
    ],
)
def test_a_test_that_may_be_silent_is_seen(body):
    assert silent(f"def test_it():\n {body}\n") == ["test_it"]


@pytest.mark.parametrize(
    "body",
    [
        "assert x",
        "with pytest.raises(ValueError):\n  f()",
        "if x:\n  f()\n else:\n  with pytest.raises(ValueError):\n   f()",
        "for x in y:\n  assert x",
        "np.testing.assert_allclose(x, y)",
        "if x:\n  assert x\n  return\n assert y",
        "try:\n  f()\n except ValueError:\n  raise\n assert x",
        "helper(x)",
    ],
)
def test_a_test_that_checks_is_left_alone(body):
    assert silent(f"def helper(x):\n assert x\ndef test_it():\n {body}\n") == []
