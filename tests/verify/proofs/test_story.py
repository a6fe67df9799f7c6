"""The idea of a certificate in sentences counts the steps that the certificate has."""

import json
import random
import re

import pytest

from verify.proofs.story import story

WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
#: A kind of step -> what one and what several of them are called.
CALLED = {
    "step": ("step", "steps"),
    "let": ("substitution", "substitutions"),
    "cut": ("intermediate fact", "intermediate facts"),
    "lemma": ("tangent of a logarithm or an exponential",
              "tangents of logarithms or exponentials"),
    "induct": ("induction over the steps of a recursion",
               "inductions over the steps of a recursion"),
    "square": ("comparison of squares", "comparisons of squares"),
    "cases": ("time", "times"),
}  # fmt: skip
ENDS = {"sum": "a sum of terms", "boxes": "enclosed by balls", "monotone": "grows from a value"}
BELOW = {"let": 1, "cut": 2, "lemma": 1, "induct": 3, "square": 2, "cases": 2, "monotone": 2}


def tree(draw, depth):
    """A certificate of steps that are drawn, with as many below each as it leaves goals."""
    kind = draw.choice([*BELOW, "sum"]) if depth else draw.choice(["sum", "boxes"])
    below = [tree(draw, depth - 1) for _ in range(BELOW.get(kind, 0))]
    return {"step": kind, "then": below} if below else {"step": kind}


def chain(kind, length):
    """A certificate of one step after another, and a sum."""
    made = {"step": "sum"}
    for _ in range(length):
        made = {"step": kind, "then": [made]}
    return made


def amount(text, kind):
    """How many of a kind the sentences name, zero where they do not name it."""
    one, more = (re.escape(words) for words in CALLED[kind])
    found = re.findall(rf"\b({'|'.join(WORDS)}|[0-9,]+) (?:({more})|({one}))\b", text)
    if not found:
        return 0
    ((number, several, _),) = found
    count = WORDS.index(number) if number in WORDS else int(number.replace(",", ""))
    assert bool(several) == (count != 1)
    return count


@pytest.mark.parametrize(
    "certificate",
    [*(tree(random.Random(seed), 1 + seed % 4) for seed in range(24)),
     *(chain(kind, n) for kind in ("let", "lemma") for n in (1, 8, 9, 10, 11, 25)),
     chain("let", 150)],
)  # fmt: skip
def test_the_sentences_name_every_step_that_is_written_in_the_certificate(certificate):
    """A step is counted in the text of the certificate, in which each is written once."""
    text = json.dumps(certificate, separators=(",", ":"))
    told = story(certificate)
    assert amount(told, "step") == text.count('"step":')
    for kind in CALLED.keys() - {"step"}:
        assert amount(told, kind) == text.count(f'"step":"{kind}"'), (kind, told)
    for kind, words in ENDS.items():
        assert (words in told) == (f'"step":"{kind}"' in text), (kind, told)
    assert f" {len(text):,} bytes." in told
    assert ("Each claim that is left" in told) == (text.count('"step":') > 1)
