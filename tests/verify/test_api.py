"""The public names are those of `verify.api`, each is listed in the docs, and one import serves."""

import re
from pathlib import Path

from verify import api

DOCS = Path(__file__).parents[2] / "docs"


def test_every_public_name_is_there_and_listed_once_in_the_table_of_the_docs():
    text = (DOCS / "public-api.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| (`.*`) \|$", text, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(api.__all__)
    assert all(hasattr(api, name) for name in api.__all__)
    assert api.__all__ == sorted(api.__all__)


def test_the_example_needs_nothing_else_of_the_suite():
    text = (DOCS / "example_paper.py").read_text()
    assert re.findall(r"^(?:from|import) .*$", text, re.MULTILINE) == [
        "import sympy as sp",
        "from verify import api",
    ]


class _Fixed(api.Procedure):
    """A procedure of one's own: the five methods and nothing else."""

    def check(self):
        """Nothing can be wrong."""

    def demands(self, _store, _level):
        return []

    def decide(self, _store, level):
        return api.Evidence(
            verdict=api.Verdict.SUPPORTED, summary="so it is", level=level, n_trials=0
        )

    def describe(self):
        return "It is."

    def override(self, values):
        raise api.InvalidParameter(f"no parameter {next(iter(values))}")


def test_a_procedure_of_ones_own_writes_five_methods():
    own = _Fixed()
    assert own.decide(None, 0.01).verdict is api.Verdict.SUPPORTED
    assert (own.every_cell(), own.cells_alone(), own.experiment()) == ((), (), None)
    assert own.without_laws() is own
