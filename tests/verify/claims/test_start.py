"""One claim is tried soon: the tests of claims are collected without what only a run needs."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: Packages that take long to load, and that no module of claims needs before it is asked to decide.
LATER = ("scipy.stats", "scipy.integrate", "scipy.ndimage", "sympy.physics", "statsmodels")
LATER += ("pandas", "matplotlib", "sklearn", "cvxpy", "distributed", "rich")


def test_collection_of_the_claims_tests_loads_no_slow_package():
    code = (
        "import sys, pytest\n"
        "pytest.main(['-q', '--collect-only', '-p', 'no:cacheprovider', sys.argv[1]])\n"
        f"print(*(m for m in {LATER} if m in sys.modules), file=sys.stderr)\n"
        "print(*('verify.claims.' + p in sys.modules for p in ('ifca', 'odcl', 'sxy')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.split() == []
    assert done.stdout.splitlines()[-1] == "True True True"
