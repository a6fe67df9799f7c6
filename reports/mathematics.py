r"""Stored formulas as LaTeX that both engines read in the same way.

A stored formula may come from a stranger.  Only the commands in `COMMANDS` and the environments in
`ENVIRONMENTS` pass: none of them reads or writes a file, defines a macro or leaves math mode.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reports.characters import MATH_CHARACTERS, Latex, character_source
from reports.errors import ReportError

_COMMANDS = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi
    rho varrho sigma tau upsilon phi varphi chi psi omega
    Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
    le leq ge geq ll gg ne neq approx sim simeq cong equiv propto lesssim gtrsim prec succ preceq
    succeq subset subseteq supset supseteq in ni notin cup cap setminus emptyset varnothing
    forall exists nexists neg lnot land lor wedge vee to gets mapsto leftarrow rightarrow
    Leftarrow Rightarrow Leftrightarrow leftrightarrow implies iff uparrow downarrow
    times cdot div pm mp ast star circ bullet oplus ominus otimes odot top bot perp parallel
    mid nmid sum prod int oint bigcup bigcap bigoplus bigotimes lim limsup liminf sup inf max min
    arg log ln lg exp sin cos tan arctan arcsin arccos sinh cosh tanh det dim ker deg gcd Pr hom
    sqrt frac dfrac tfrac binom left right middle big Big bigg Bigg bigl bigr Bigl Bigr
    biggl biggr Biggl Biggr lVert rVert lvert rvert Vert vert lceil rceil lfloor rfloor
    langle rangle lbrace rbrace lbrack rbrack
    hat widehat tilde widetilde bar overline underline vec dot ddot check breve
    overbrace underbrace overset underset stackrel not
    text textbf textit textrm mathrm mathbf mathit mathcal mathbb mathfrak mathsf boldsymbol
    operatorname limits nolimits displaystyle textstyle scriptstyle
    quad qquad dots ldots cdots vdots ddots colon prime infty partial nabla ell hbar Re Im surd
    norm abs when poly polylog begin end
"""
#: Commands that formulas may use, beside letters and digits.
COMMANDS = frozenset(re.findall(r"\w+", _COMMANDS))
ENVIRONMENTS = frozenset(
    ("cases", "aligned", "gathered", "matrix", "pmatrix", "bmatrix", "vmatrix")
)
#: Characters that may follow a backslash.
_SYMBOLS = frozenset(",;:! |{}\\_%&#$")
_COMMAND = re.compile(r"\\([A-Za-z]+|.|$)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\\(?:begin|end)(?![A-Za-z])\s*(?:\{([a-z]*)\*?\})?")


def why_refused(source: str) -> str:
    r"""The reason why a formula may not be typeset, as a phrase that follows "because".

    The phrase is empty where the formula may be typeset.

    >>> why_refused(r"\frac{1}{2} \le x_1")
    ''
    >>> print(why_refused(r"x + \input{y}"))
    it uses \input, which formulas may not use
    """
    for command in _COMMAND.finditer(source):
        name = command[1]
        allowed = name in COMMANDS if name.isalpha() else name in _SYMBOLS
        if not allowed:
            return f"it uses \\{name[:40]}, which formulas may not use"
    for environment in _ENVIRONMENT.finditer(source):
        if environment[1] not in ENVIRONMENTS:
            return f"it uses the environment {environment[1] or '?'}, which formulas may not use"
    bare = _COMMAND.sub(" ", source)  # a blank, so that two carets around a command do not meet
    if found := re.search(r"[%#$]|\^\^", bare):
        return f"it holds {found[0]}, which would end or change the formula"
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            break
    return "its braces do not pair" if depth else ""


_BIG = re.compile(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![A-Za-z])\s*")


def math_source(source: str) -> Latex:
    r"""A formula in the dialect that LaTeX and the embedded engine read alike.

    ``\|`` becomes a pair of fences, manual sizes and negative spaces are dropped, thick spaces
    become thin ones, and Unicode letters and relations become commands.
    """
    text = "".join(
        f"{MATH_CHARACTERS[c]} "
        if c in MATH_CHARACTERS
        else c
        if c.isascii()
        else f"\\text{{{character_source(c)}}}"
        for c in source.replace("\u00a0", " ")
    )
    text = re.sub(r"\\left\s*(?:\\\||\\Vert(?![A-Za-z]))", r"\\left\\lVert ", text)
    text = re.sub(r"\\right\s*(?:\\\||\\Vert(?![A-Za-z]))", r"\\right\\rVert ", text)
    text = _BIG.sub("", text)
    text = text.replace(r"\!", "")
    text = re.sub(r"\\[;:]", r"\\,", text)
    parts = re.split(r"(?<!\\)\\\|", text)
    fenced = "".join(
        part + ((r"\lVert ", r"\rVert ")[i % 2] if i < len(parts) - 1 else "")
        for i, part in enumerate(parts)
    )
    return Latex(re.sub(r"\s*\n\s*", " ", fenced).strip())


def exponentials(source: str) -> str:
    r"""``e^{...}`` of a fraction as ``\exp(...)``: fractions in exponents are too small to read."""
    out, start = "", 0
    for match in re.finditer(r"(?<![A-Za-z\\])e\^\{", source):
        depth, end = 1, match.end()
        while depth and end < len(source):
            depth += (source[end] == "{") - (source[end] == "}")
            end += 1
        body = source[match.end() : end - 1]
        if match.start() >= start and not depth and r"\frac" in body:
            out += source[start : match.start()] + rf"\exp\left({body.strip()}\right)"
            start = end
    return out + source[start:]


def display_source(source: str) -> Latex:
    r"""The formula of a display: delimiters of any kind are removed and the dialect unified.

    Raises
    ------
    ReportError
        When the formula uses a command that `COMMANDS` does not hold.
    """
    source = re.sub(
        r"^\\begin\{(equation\*?|displaymath)\}|\\end\{(equation\*?|displaymath)\}$",
        "",
        source.strip(),
    )
    for opening, closing in (("$$", "$$"), (r"\[", r"\]"), ("$", "$"), (r"\(", r"\)")):
        if source.startswith(opening) and source.endswith(closing) and len(source) > 2:
            source = source[len(opening) : len(source) - len(closing)]
            break
    require_allowed(source)
    return math_source(exponentials(source))


def require_allowed(source: str) -> None:
    """Raise for a formula that `refused` rejects.  The error quotes its beginning."""
    if reason := why_refused(source):
        shown = " ".join(source.split())[:80]
        raise ReportError(f"the formula {shown!r} cannot be typeset because {reason}")


# -- long formulas on several lines ----------------------------------------------------------------


#: Widths are in digits of the formula's type.  A line of a statement's box holds this many.
LINE = 86.0
_INDENT = 4.0  # of the second line and those after it
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_RELATIONS = frozenset(("=", "<", ">")) | {
    rf"\{name}"
    for name in (
        "le", "leq", "ge", "geq", "lesssim", "gtrsim", "ll", "gg", "approx", "sim", "subset",
        "subseteq", "Rightarrow", "Leftrightarrow", "implies",
    )
}  # fmt: skip
_SIGNS = frozenset(("+", "-", r"\pm"))
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")
_FRACTIONS = frozenset((r"\frac", r"\dfrac", r"\tfrac", r"\binom"))
_WORDS = frozenset(
    rf"\{name}"
    for name in ("log", "ln", "exp", "min", "max", "sup", "inf", "sin", "cos", "lim", "Pr", "det")
)
_TEXTS = frozenset((r"\text", r"\mathrm", r"\operatorname", r"\textit", r"\mathit"))
_BLANKS = {r"\quad": 2.0, r"\qquad": 4.0, r"\,": 0.35, r"\ ": 0.6, r"\left": 0.4, r"\right": 0.4}
_SCRIPT = 0.72


def width(source: str) -> float:
    r"""A rough width of a display in digits.  A fraction is as wide as its wider part.

    >>> width(r"\frac{1000}{2}") == width("1000") + 0.5
    True
    """
    return _width([t for t in _TOKEN.findall(source) if not t.isspace()])


def _argument(tokens: Sequence[str], i: int) -> tuple[Sequence[str], int]:
    """The tokens of the argument at ``i``, and the place behind it."""
    if i >= len(tokens):
        return (), i
    if tokens[i] != "{":
        return tokens[i : i + 1], i + 1
    depth, end = 1, i + 1
    while depth and end < len(tokens):
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        end += 1
    return tokens[i + 1 : end - 1], end


def _width(tokens: Sequence[str]) -> float:
    total, scripts, i = 0.0, 0.0, 0
    while i < len(tokens):
        token = tokens[i]
        i += 1
        if token in "^_":
            # One script below the other is as wide as the wider one.
            inside, i = _argument(tokens, i)
            wide = _SCRIPT * _width(inside)
            total += max(wide - scripts, 0.0)
            scripts = max(wide, scripts)
            continue
        scripts = 0.0
        if token in _FRACTIONS:
            above, i = _argument(tokens, i)
            below, i = _argument(tokens, i)
            total += max(_width(above), _width(below)) + 0.5
        elif token in _TEXTS:
            inside, i = _argument(tokens, i)
            total += sum(len(piece) for piece in inside)
        elif token in _RELATIONS or token in _SIGNS:
            total += 2.6
        elif token in _WORDS:
            total += len(token) - 0.6
        elif token in _BLANKS:
            total += _BLANKS[token]
        elif token not in "{}":
            total += 1.8 if token == r"\sqrt" else 1.1 if token[-1].isalpha() else 0.9
    return total


def _pieces(source: str) -> list[str]:
    """The parts of a formula, each of which but the first begins with a relation or a sign."""
    pieces, depth, before = [""], 0, ""
    for token in _TOKEN.findall(source):
        breaks = token in _RELATIONS or (token in _SIGNS and _is_binary(before))
        if breaks and depth == 0 and pieces[-1].strip():
            pieces.append("")
        if before == r"\left" or before == r"\right":
            depth += 1 if before == r"\left" else -1  # with any fence, also a bracket or a dot
        else:
            depth += (token in _OPENING) - (token in _CLOSING)
        pieces[-1] += token
        before = token if not token.isspace() else before
    return pieces


def _is_binary(before: str) -> bool:
    """Whether a sign after this token stands between two terms."""
    return before not in _RELATIONS | _OPENING | {"", ",", r"\left", r"\exp", "^", "_"}


def broken(source: str, line: float = LINE) -> Latex:
    """A formula on as many lines as it needs, each within ``line`` digits where it has a place.

    A formula that is laid out by hand is left as it is.

    >>> print(broken("a = b + c", line=8))
    \\begin{aligned}&a = b \\\\&\\qquad{}+ c\\end{aligned}
    """
    if width(source) <= line or re.search(r"\\begin(?![A-Za-z])|\\\\|&", source):
        return Latex(source)
    lines, used = [""], 0.0
    for piece in _pieces(source):
        wide = width(piece)
        if lines[-1].strip() and used + wide > line:
            lines.append(r"\qquad{}")
            used = _INDENT
        lines[-1] += piece
        used += wide
    if len(lines) == 1:
        return Latex(source)
    return Latex(r"\begin{aligned}&" + r"\\&".join(lines) + r"\end{aligned}")


def display(source: str, *, paper: bool) -> Latex:
    """A formula of its own lines: broken on paper, whole in a browser, which scrolls."""
    whole = display_source(source)
    return broken(whole) if paper else whole
