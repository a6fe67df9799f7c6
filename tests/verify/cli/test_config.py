"""Configuration files: what is refused before the parser sees it."""

import math
import tomllib
from datetime import datetime

import pytest

from trials.checks import InvalidParameter
from trials.run import directory
from verify import session
from verify.cli import config
from verify.papers import catalogue


@pytest.mark.parametrize("opened", ["[" * 101, "[{a = " * 51, '["[{[" , "' + "[" * 100])
def test_a_file_that_is_nested_deeply_is_refused_before_it_is_parsed(tmp_path, monkeypatch, opened):
    """At the end of its stack Python prints of other faults beside the parser's."""
    monkeypatch.setattr(tomllib, "loads", lambda _text: pytest.fail("it was parsed"))
    path = tmp_path / "a.toml"
    path.write_text(f"claims = {opened}")
    with pytest.raises(InvalidParameter, match=r"a\.toml: not a TOML file: nested too deeply$"):
        config.read_config(path)


def test_many_brackets_that_are_closed_again_are_no_depth(tmp_path):
    path = tmp_path / "a.toml"
    claims = [f"ifca.eq3[m={i}]" for i in range(1, 500)]
    path.write_text(f"claims = {claims}\nseed = 3\n")
    assert config.read_config(path) == {"claims": claims, "seed": 3}
    path.write_text("x = " + "[" * 100 + "]" * 100)
    with pytest.raises(InvalidParameter, match="unknown key 'x'"):
        config.read_config(path)


def test_runs_of_one_second_are_numbered_from_two(tmp_path, monkeypatch):
    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 1, 2, 3, 4, 5, tzinfo=tz)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(directory, "datetime", Clock)
    settings = config.settings({"seed": 7}, None)
    # Each is made at once: two runs that start together had one directory, and one was refused.
    names = [settings.directory().name for _ in range(3)]
    for i in range(4, 1200):
        (directory.RUNS / f"{names[0]}-{i}").mkdir()
    names += [settings.directory().name for _ in range(2)]
    assert names == [f"quick-7-20260102T030405{end}" for end in ("", "-2", "-3", "-1200", "-1201")]
    assert {path.name for path in directory.RUNS.iterdir()} >= set(names)


FILE = {
    "claims": ["ifca.eq3"], "profile": "standard", "seed": 11, "level": 0.25, "jobs": 3,
    "executor": "threads", "scheduler": "tcp://file:1", "output": "from-file",
    "claims_files": ["file.py"],
}  # fmt: skip
FLAGS = {
    "claims": ("ifca.eq4",), "profile": "full", "seed": 0, "level": 0.0, "jobs": 0,
    "executor": "serial", "scheduler": "tcp://flag:1", "output": "from-flag",
    "claims_files": ("flag.py",),
}  # fmt: skip
DEFAULTS = {
    "claims": (), "profile": "quick", "seed": 0, "level": 0.05, "jobs": None, "executor": None,
    "scheduler": None, "output": None, "claims_files": (),
}  # fmt: skip


@pytest.mark.parametrize("given", sorted(FLAGS))
def test_a_flag_that_is_given_wins_over_the_file_and_zero_is_given(tmp_path, given):
    """Also one whose value is false: a seed of zero is a seed."""
    path = tmp_path / "a.toml"
    path.write_text("".join(f"{name} = {value!r}\n" for name, value in FILE.items()))
    absent = {name: () if isinstance(value, tuple) else None for name, value in FLAGS.items()}

    def read(flags, file):
        found = config.settings(flags, file)
        own = ("claims", "profile", "seed", "level")
        return {name: getattr(found.config if name in own else found, name) for name in FLAGS}

    from_file = {n: tuple(v) if isinstance(v, list) else v for n, v in FILE.items()}
    one = {**absent, given: FLAGS[given]}
    assert read(absent, str(path)) == from_file
    # A flag that says where blocks are computed replaces all that the file says of it.
    if given in ("executor", "scheduler"):
        from_file |= {"executor": None, "scheduler": None}
    assert read(one, str(path)) == {**from_file, given: FLAGS[given]}
    assert read(one, None) == {**DEFAULTS, given: FLAGS[given]}
    assert read({}, None) == DEFAULTS


#: A value of each type of TOML, and the types that a key takes.
VALUES = {
    bool: "true",
    int: "3",
    float: "0.5",
    str: '"quick"',
    list: '["ifca.eq3"]',
    dict: "{a = 1}",
    datetime: "2026-01-01T00:00:00",
}


@pytest.mark.parametrize("key", config._KEYS)
def test_a_key_takes_values_of_its_own_types_alone(tmp_path, key):
    """True is an integer to Python, and no number of a configuration."""
    path = tmp_path / "a.toml"
    for kind, text in VALUES.items():
        path.write_text(f"{key} = {text}\n")
        if kind in config._KEYS[key]:
            assert config.read_config(path) == tomllib.loads(path.read_text())
        else:
            with pytest.raises(InvalidParameter, match=rf"{key}=.* must be of type"):
                config.read_config(path)


def test_a_level_with_too_many_digits_for_a_float_is_a_level_that_is_too_large(tmp_path):
    """Before, it was a fault of the program."""
    path = tmp_path / "a.toml"
    path.write_text(f"level = 1{'0' * 400}\n")
    found = config.settings({}, str(path)).config
    assert found.level == math.inf
    with pytest.raises(InvalidParameter, match="level=inf must lie strictly between 0 and 1"):
        session.prepare(found, catalogue(()))


def test_a_file_may_begin_with_the_mark_that_editors_of_windows_write(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfseed = 3\n")
    assert config.read_config(path) == {"seed": 3}


@pytest.mark.parametrize("name", ["dask", "Threads", ""])
def test_a_file_names_the_executors_of_the_flag_alone(tmp_path, name):
    """The executor of a cluster asked for an "address", which no key and no flag is."""
    path = tmp_path / "a.toml"
    path.write_text(f'executor = "{name}"\n')
    with pytest.raises(InvalidParameter) as refused:
        config.settings({}, str(path))
    assert str(refused.value) == (
        f"executor={name!r} must be one of serial, threads, processes; a cluster is named by its "
        "scheduler"
    )


@pytest.mark.parametrize("more", [0, 1])
def test_a_file_may_be_as_long_and_as_deep_as_the_limits_and_no_more(tmp_path, more):
    path = tmp_path / "c.toml"
    line = 'profile = "quick"\n'
    path.write_text(line + "#" * (config.MAX_BYTES - len(line) + more))
    if more:
        with pytest.raises(InvalidParameter, match="is longer than a configuration may be"):
            config.read_config(path)
    else:
        assert config.read_config(path) == {"profile": "quick"}
    path.write_text(line + "# " + "[" * (config.MAX_DEPTH + more))
    if more:
        with pytest.raises(InvalidParameter, match="nested too deeply"):
            config.read_config(path)
    else:
        assert config.read_config(path) == {"profile": "quick"}
