"""Tables of parameters: every experiment against bad values of every parameter, and `validated`."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

import trials.experiments  # noqa: F401  (registers every experiment)
from trials.checks import MAX_DRAWN, InvalidParameter
from trials.parameters import (
    _MOST_KNOWN,
    REQUIRED,
    Array,
    Flag,
    Function,
    Integer,
    ListOf,
    Maybe,
    Options,
    Parameters,
    Real,
    Record,
    Stream,
    fits_in_memory,
    validated,
)
from trials.run.cell import canonical_json, cell_number
from trials.run.experiment import Experiment, experiments, module_of

SHIPPED = [e for e in experiments() if module_of(e).startswith("trials.experiments.")]
#: One test asks it of all parameters of an experiment: each takes less than a millisecond.
every_experiment = pytest.mark.parametrize("experiment", SHIPPED, ids=lambda e: e.name)
NO_VALUES = [True, False, math.nan, math.inf, -math.inf, 1j, [], {}, object(), b"1", 10**400]


def bad_values(domain):
    """Values of the wrong type, just outside each end, and far outside."""
    if isinstance(domain, Options):
        return [*NO_VALUES, 0, 1.5, "", "no such option", domain.options[0].upper() + "?", None]
    bad = [*NO_VALUES, "1", "a", [1, [2]]]
    if isinstance(domain, ListOf):
        return [*bad, 1, None, *([value] for value in bad_values(domain.each)), [1, "a"]]
    if domain.default is not None:
        bad.append(None)
    if isinstance(domain, Integer):
        return [*bad, domain.low - 1, domain.low + 0.5, *([domain.high + 1] if domain.high else [])]
    below = domain.low if domain.open_low else math.nextafter(domain.low, -math.inf)
    above = [math.nextafter(domain.high, math.inf)] if domain.high < math.inf else []
    return [*bad, below, *above]


def refusal(experiment, cell):
    """What an experiment says against a cell."""
    try:
        experiment.check(cell)
    except InvalidParameter as error:
        return str(error)
    pytest.fail(f"{cell} is accepted")


@every_experiment
def test_every_bad_value_of_every_parameter_is_refused_in_one_line_by_name(experiment):
    tried = [
        (n, v) for n, domain in experiment.parameters.entries.items() for v in bad_values(domain)
    ]
    for name, value in tried:
        text = refusal(experiment, {name: value})
        assert text.startswith(f"{name}="), (value, text)
        assert "must be" in text
        assert "\n" not in text
        assert len(text) < 250


@every_experiment
def test_every_end_of_every_domain_is_accepted_or_refused_by_a_rule(experiment):
    """A limit itself is in the domain.  Where it is refused, a rule refuses it and names the
    parameter.
    """
    for name, domain in experiment.parameters.entries.items():
        ends_are_accepted_or_refused(experiment, name, domain)


def ends_are_accepted_or_refused(experiment, name, domain):
    """The ends of one domain."""
    if isinstance(domain, Integer | Real):
        ends = [domain.low, domain.high]
        ends = [end for end in ends if end is not None and math.isfinite(end)]
        if isinstance(domain, Real) and domain.open_low:
            ends[0] = math.nextafter(domain.low, math.inf)
    else:
        ends = list(domain.options) if isinstance(domain, Options) else [[1], [1.0, 2]]
    for end in ends:
        assert domain.check(name, end) == end, name
        try:
            full = experiment.check({name: end})
        except InvalidParameter as error:
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert full[name] == end
            assert experiment.check(full) == full


@pytest.mark.parametrize("experiment", SHIPPED, ids=lambda e: e.name)
def test_every_experiment_has_a_table_that_people_can_read(experiment):
    table = experiment.parameters
    rows = table.rows()
    assert [row.name for row in rows] == list(table.entries)
    for row in rows:
        assert row.meaning, f"{experiment.name}: {row.name} has no meaning"
        assert row.domain
        assert row.default
    assert all(sentence and sentence.endswith(".") for sentence in table.requirements())
    full = experiment.check({"N": 10, "d": 5} if {"N", "d"} <= set(table.entries) else {})
    assert json.loads(canonical_json(full)) == full
    with pytest.raises(InvalidParameter, match=r"unknown parameter 'typo'; known: \w+, "):
        experiment.check({"typo": 1})


def test_the_spelling_of_cells_and_so_their_streams_stay():
    """Cell numbers of the code before the tables.  Each determines the streams of stored runs."""
    found = {e.name: e for e in SHIPPED}
    for name, params, number in CELLS:
        assert cell_number(found[name].check(params)) == number, name


CELLS = [
    ("gauss.noise", {}, 12816634428670040770),
    ("gauss.opnorm", {"N": 100000, "d": 100}, 12797586855557048204),
    ("gauss.opnorm", {"N": 1, "d": 10000}, 3349324083075448234),
    ("gauss.opnorm", {"N": 3, "d": 12}, 15798417803012521006),
    ("ifca.data-step", {}, 5898357200129310106),
    (
        "ifca.gradient-norm",
        {
            "Delta": 1.0,
            "alpha": 0.01,
            "d": 1000,
            "init": "adversarial",
            "k": 2,
            "n": 1000,
            "sigma": 1.0,
        },
        5536777274332089964,
    ),
    (
        "ifca.gradient-norm",
        {"Delta": 1.0, "alpha": 0.01, "d": 16, "init": "orthogonal", "k": 2, "n": 4, "sigma": 1.0},
        8089684008582825340,
    ),
    (
        "ifca.gradient-norm",
        {"Delta": 1.0, "alpha": 0.01, "d": 4, "init": "adversarial", "k": 2, "n": 1, "sigma": 1.0},
        3523641475644262740,
    ),
    (
        "ifca.labels.data",
        {"Delta": 0.1, "alpha": 0.4, "d": 20, "init": "adversarial", "k": 2, "n": 1, "sigma": 1.0},
        11069267943318594344,
    ),
    (
        "ifca.labels.data",
        {"Delta": 1.0, "alpha": 0.05, "d": 20, "init": "orthogonal", "k": 2, "n": 8, "sigma": 0.1},
        3767599619239421458,
    ),
    (
        "ifca.labels.data",
        {"Delta": 1.0, "alpha": 0.1, "d": 20, "init": "translation", "k": 2, "n": 16, "sigma": 1.0},
        3327283818250224817,
    ),
    (
        "ifca.random-start",
        {"centers": "bernoulli", "d": 1000, "k": 2, "norm": 1.0, "start": "bernoulli-rescaled"},
        8802787064336826355,
    ),
    (
        "ifca.random-start",
        {"centers": "bernoulli", "d": 2, "k": 2, "norm": 1.0, "start": "bernoulli-rescaled"},
        12149500692761954730,
    ),
    (
        "ifca.random-start",
        {"centers": "random", "d": 10, "k": 2, "norm": 1.0, "start": "gaussian"},
        8443044262970513616,
    ),
    (
        "ifca.step",
        {
            "Delta": 0.03162277660168379,
            "alpha": 0.48,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 64,
            "init": "random",
            "k": 8,
            "m": 100000,
            "n": 200000000,
            "p_min": 0.0025,
            "profile": "one-small",
            "sigma": 1.0,
            "step_rule": "c/p_j",
        },
        15186454357249452055,
    ),
    (
        "ifca.step",
        {
            "Delta": 1.0,
            "alpha": 0.02,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 20,
            "init": "orthogonal",
            "k": 2,
            "m": 100,
            "n": 96709,
            "profile": "equal",
            "sigma": 1.0,
        },
        4343340025105480191,
    ),
    (
        "ifca.step",
        {
            "Delta": 1.0,
            "alpha": 0.4999999,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 1500,
            "init": "adversarial",
            "k": 2,
            "m": 1000,
            "n": 400,
            "profile": "geometric",
            "ratio": 1.9,
            "sigma": 0.1,
        },
        10304554048803909199,
    ),
    (
        "ifca.step-sizes",
        {
            "Delta": 1.0,
            "alpha": 0.25,
            "centers": "simplex",
            "d": 2000,
            "init": "random",
            "k": 16,
            "m": 10000000,
            "n": 10000000,
            "profile": "one-large",
            "ratio": 785.0,
            "sigma": 0.1,
            "slack": 0.03577708763999663,
        },
        9624740902239942381,
    ),
    (
        "ifca.step-sizes",
        {
            "Delta": 1.0,
            "alpha": 0.25,
            "centers": "simplex",
            "d": 2000,
            "init": "random",
            "k": 2,
            "m": 10000000,
            "n": 10000000,
            "profile": "one-large",
            "ratio": 2.0,
            "sigma": 0.1,
            "slack": 0.00013416409206639656,
        },
        6956685811039184615,
    ),
    (
        "ifca.step-sizes",
        {
            "Delta": 1.0,
            "alpha": 0.25,
            "centers": "simplex",
            "d": 2000,
            "init": "random",
            "k": 2,
            "m": 10000000,
            "n": 10000000,
            "profile": "one-large",
            "ratio": 8.0,
            "sigma": 0.1,
            "slack": 0.0004024922761991897,
        },
        17901091495732519974,
    ),
    (
        "ifca.strangers",
        {
            "Delta": 0.17320508075688773,
            "alpha": 0.02,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 64,
            "init": "orthogonal",
            "k": 8,
            "m": 1000,
            "n": 100,
            "p_min": 0.025,
            "profile": "one-small",
            "sigma": 1.0,
        },
        13461972080600705353,
    ),
    (
        "ifca.strangers",
        {
            "Delta": 0.31622776601683794,
            "alpha": 0.02,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 40,
            "init": "random",
            "k": 4,
            "m": 1000,
            "n": 80,
            "profile": "one-large",
            "ratio": 8.0,
            "sigma": 1.0,
        },
        4248957306011643989,
    ),
    (
        "ifca.strangers",
        {
            "Delta": 0.5477225575051661,
            "alpha": 0.02,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 20,
            "init": "translation",
            "k": 2,
            "m": 100,
            "n": 60,
            "profile": "equal",
            "sigma": 1.0,
        },
        9770234314750392414,
    ),
    (
        "ifca.trajectory",
        {
            "Delta": 0.037722350477328595,
            "alpha": 0.375913220470519,
            "c1": 0.3333333333333333,
            "centers": "random",
            "d": 235,
            "init": "random",
            "k": 4,
            "m": 2559141,
            "n": 10021304832,
            "p_min": 0.023788937794831315,
            "profile": "one-small",
            "sigma": 1.0,
            "step_rule": "c/p_j",
        },
        6612901850771495754,
    ),
    (
        "ifca.trajectory",
        {
            "Delta": 1.0,
            "alpha": 0.02,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 20,
            "init": "translation",
            "k": 2,
            "m": 100,
            "n": 96709,
            "profile": "geometric",
            "ratio": 1.9,
            "sigma": 1.0,
        },
        9905788594812452088,
    ),
    (
        "ifca.trajectory",
        {
            "Delta": 1.0,
            "alpha": 0.25,
            "c1": 0.3333333333333333,
            "centers": "simplex",
            "d": 20,
            "init": "orthogonal",
            "k": 2,
            "m": 1000,
            "n": 200000,
            "profile": "equal",
            "sigma": 1.0,
        },
        12387804615844843453,
    ),
    ("least-squares.data", {"N": 100, "d": 10, "sigma": 10.0}, 14134361419416428392),
    ("least-squares.data", {"N": 20, "d": 10, "sigma": 0.1}, 13426674753654064843),
    ("least-squares.data", {"N": 50, "d": 40, "sigma": 0.1}, 5434809548723711682),
]


def test_left_out_means_left_out_and_defaults_may_follow_from_others():
    def twice(cell):
        """twice n"""
        return 2 * cell["n"]

    table = Parameters(
        {
            "n": Integer(1),
            "p": Real(0.0, 1.0, default=None),
            "m": Integer(1, default=twice),
        }
    )
    assert table.check({"n": 3.0}) == {"n": 3, "m": 6}
    assert table.check({"n": 3, "p": None, "m": 1}) == {"n": 3, "m": 1}
    assert table.check({"n": 3, "p": 0})["p"] == 0.0
    with pytest.raises(InvalidParameter, match=r"^n must be given: integer >= 1$"):
        table.check({})
    assert [row.default for row in table.rows()] == ["required", "left out", "twice n"]
    assert repr(REQUIRED) == "required"


def test_tables_are_extended_and_reduced_and_rules_see_the_whole_cell():
    def ordered(cell):
        """a <= b."""
        if cell["a"] > cell["b"]:
            raise InvalidParameter(f"a={cell['a']} must be <= b={cell['b']}")

    table = Parameters({"a": Integer(0, default=0)})
    both = table.extended({"b": Integer(0, default=5)}, ordered)
    assert both.requirements() == ("a <= b.",)
    with pytest.raises(InvalidParameter, match="a=7 must be <= b=5"):
        both.check({"a": 7})
    assert table.check({"a": 7}) == {"a": 7}
    assert list(both.extended({"c": Integer(0)}).without("c").entries) == ["a", "b"]


def test_a_cell_of_more_numbers_than_are_drawn_is_refused_however_many_they_are():
    """Products of 2^64 and of 2^63 are zero and negative in 64 bits."""
    names = dict.fromkeys(("m", "n", "d"), Integer(1))
    table = Parameters(names, (fits_in_memory("features", "m", "n", "d"),))
    for sides in ((1, 1, MAX_DRAWN), (10, MAX_DRAWN // 100, 10)):
        assert tuple(table.check(dict(zip(names, sides, strict=True))).values()) == sides
    too_many = [(1, 1, MAX_DRAWN + 1), (MAX_DRAWN // 100 + 1, 10, 10), (2**32, 1, 2**32)]
    for sides in (*too_many, (2**21, 2**21, 2**21), (1, 2**63 - 1, 2**63 - 1)):
        says = f"^features m n d={math.prod(sides)} must be <= {MAX_DRAWN}: they are drawn in full"
        with pytest.raises(InvalidParameter, match=says):
            table.check(dict(zip(names, sides, strict=True)))


def test_an_experiment_needs_a_table_or_a_check():
    with pytest.raises(InvalidParameter, match="must have parameters or a check"):
        Experiment(name="x", design=1, columns=("a",), simulate=lambda *_: np.zeros((1, 1)))


# -- the arguments of a driver -------------------------------------------------------------------


@validated(
    models=Array(("R", "k", "d")),
    reference=Maybe(Array(("k", "d"))),
    d=Integer(1),
    rng=Stream(),
    weights=Array((..., "k"), low=0.0, high=1.0, open_low=True),
    sizes=Array(("k",), whole=True, low=1, high=10),
    fast=Flag(),
    cell=Record(dict),
    draw=Function(),
)
def driver(
    models,
    *,
    d=2,
    reference=None,
    rng=None,
    weights=1.0,
    sizes=(1,),
    fast=True,
    cell=None,
    draw=None,
):
    """Two models of two coordinates."""
    return models, d, reference, weights, sizes


MODELS = np.zeros((1, 2, 2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"models": np.zeros((2, 2))},
            r"models.shape=\(2, 2\) must be \(R, k, d\) with every axis",
        ),
        ({"models": np.zeros((0, 2, 2))}, r"must be \(R, k, d\) with every axis >= 1"),
        ({"models": np.full((1, 2, 2), np.nan)}, r"models\[0, 0, 0\]=nan must be finite"),
        ({"models": None}, "models must be an array of real numbers"),
        ({"d": 3}, "models has d=2, must be d=3"),
        ({"d": "2"}, "d='2' must be an integer >= 1"),
        ({"reference": np.zeros((3, 2))}, "reference has k=3, must be k=2 of models"),
        ({"rng": 1}, "rng=1 must be a numpy.random.Generator"),
        ({"weights": [0.0, 0.5]}, r"weights\[0\]=0.0 must be a finite number in \(0, 1\]"),
        ({"weights": [0.5, 2.0]}, r"weights\[1\]=2.0 must be a finite number in \(0, 1\]"),
        ({"weights": [0.5, np.nan]}, r"weights\[1\]=nan must be"),
        ({"weights": np.ones((4, 3))}, "weights has k=3, must be k=2 of models"),
        ({"weights": 1.0}, r"weights.shape=\(\) must be \(..., k\)"),
        ({"sizes": [1, 2.5]}, r"sizes=\[1, 2.5\] must hold integers in \[1, 10\]"),
        ({"fast": 1}, "fast=1 must be True or False"),
        ({"cell": None}, "cell=None must be a dict"),
        ({"draw": 0}, "draw=0 must be a function"),
    ],
)
def test_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        driver(**{"models": MODELS, **arguments})


def test_drivers_get_arguments_in_their_standard_form():
    models, d, reference, weights, sizes = driver(
        [[[0, 0], [1, 1]]], d=2.0, reference=None, weights=np.ones((3, 2)), sizes=[1.0, 2]
    )
    assert (models.dtype, d, reference, weights.shape) == (np.float64, 2, None, (3, 2))
    assert sizes.dtype == np.int64
    assert driver.__doc__ == "Two models of two coordinates."
    assert pickle.loads(pickle.dumps(driver)) is driver
    with pytest.raises(TypeError, match="missing a required argument: 'models'"):
        driver()


def test_a_domain_of_no_argument_is_a_mistake_that_shows_at_once():
    with pytest.raises(TypeError, match="has no argument typo"):
        validated(typo=Integer(1))(lambda n: n)


def test_a_remembered_cell_is_that_of_equal_values_of_the_same_types_only():
    """1, 1.0 and True are one key of a dictionary, and only some of them are numbers."""
    table = Parameters({"x": Real(-1.0, 1.0, default=0.5), "n": Integer(0, default=3)})
    for _ in range(2):  # the second answer is remembered
        assert type(table.check({"x": 1})["x"]) is float
        assert table.check({}) == {"x": 0.5, "n": 3}
        for value in (True, math.nan, "1"):
            with pytest.raises(InvalidParameter):
                table.check({"x": value})
    found = table.check({})
    found["n"] = 4  # the caller's own
    assert table.check({})["n"] == 3
    array = np.full(1, 0.25)
    assert table.check({"x": array[0]}) == table.check({"x": 0.25})
    array[0] = 0.75
    assert table.check({"x": array[0]})["x"] == 0.75


def test_a_table_forgets_rather_than_grow_without_end():
    table = Parameters({"n": Integer(0)})
    for n in range(3 * _MOST_KNOWN // 2):
        assert table.check({"n": n}) == {"n": n}
    assert len(table._known) <= _MOST_KNOWN
