r"""LaTeX of the catalogue as one line of readable text: ``c₂ σ √(d/(m n'))/p``.

It covers the commands that our statements and sympy use.  A command that it does not know keeps its
name, so nothing is lost.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}^_&]|\s+|[^\\{}^_&\s]", re.DOTALL)

_GREEK_NAMES = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta kappa lambda mu nu xi pi rho
    sigma tau phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega
"""
_GREEK = dict(zip(_GREEK_NAMES.split(), "αβγδεεζηθθκλμνξπρστφφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True))

#: Signs with blanks around them.
_RELATIONS = {
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "gtrsim": "≳", "lesssim": "≲", "ne": "≠",
    "propto": "∝", "approx": "≈", "sim": "~", "in": "∈", "to": "→", "neq": "≠",
    "subset": "⊂", "subseteq": "⊆", "times": "×", "pm": "±", "cap": "∩", "cup": "∪", "mid": "|",
    "setminus": "\\", "notin": "∉", "ll": "≪", "gg": "≫", "iff": "⇔", "implies": "⇒",
    "quad": " ", "qquad": " ", "Rightarrow": "⇒", "mapsto": "→", "wedge": "∧", "vee": "∨",
}  # fmt: skip

_SIGNS = {
    **_GREEK,
    "forall": "∀", "exists": "∃", "cdot": "·", "infty": "∞", "dots": "…", "ldots": "…",
    "cdots": "…", "top": "ᵀ", "ell": "ℓ", "star": "*", "prime": "'", "circ": "∘", "partial": "∂",
    "sum": "∑", "prod": "∏", "int": "∫", "nabla": "∇", "emptyset": "∅", "lVert": "‖", "rVert": "‖",
    "Vert": "‖", "lvert": "|", "rvert": "|", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊",
    "rfloor": "⌋", "langle": "⟨", "rangle": "⟩", "colon": ":", "not": "not ", "Pr": "P",
    ",": " ", ";": " ", ":": " ", " ": " ", "!": "", "|": "‖", "%": "%", "_": "_", "#": "#",
    "{": "{", "}": "}", "$": "$", "&": "&", "\\": " ", "-": "",
}  # fmt: skip

#: Commands whose argument is printed as it is.
_TRANSPARENT = {
    *("mathrm", "mathbb", "mathcal", "mathbf", "mathit", "text", "operatorname", "boldsymbol"),
    *("textbf", "textit", "emph", "mbox", "bm", "mathsf", "textrm"),
}
_SILENT = {"left", "right", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "limits"}
_ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "tilde": "\u0303"}
_ACCENTS |= {"widetilde": "\u0303", "overline": "\u0304", "dot": "\u0307"}

_UP = dict(zip("0123456789+-()tkT*", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵗᵏᵀ*", strict=True))
_DOWN = dict(zip("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋", strict=True))
_FRACTIONS = {"frac", "dfrac", "tfrac"}


def readable(text: str) -> str:
    r"""A text whose formulas stand between dollar signs, with the formulas made readable.

    >>> readable(r"at most $\frac{1}{m}$ of $\sqrt{d}$")
    'at most 1/m of √d'
    """
    parts = text.split("$")
    return "".join(formula(part) if i % 2 else part for i, part in enumerate(parts))


def formula(latex: str) -> str:
    r"""A formula (LaTeX, without dollar signs) as readable text.

    >>> formula(r"\norm{\theta_j^+} \le c_{2} \sigma \sqrt{\frac{d}{m n'}}")
    "‖θ_j⁺‖ ≤ c₂ σ √(d/(m n'))"
    """
    out = _Reader(_TOKEN.findall(latex)).sequence()
    out = re.sub(r"\s+", " ", out).strip()
    out = re.sub(r"(^|[(\[])- ", r"\1-", out)
    return re.sub(r"([(\[⌈⌊]) | (?=[)\]⌉⌋,;])", lambda m: m[1] or "", out)


class _Reader:
    """A recursive reader over the tokens of one formula."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def sequence(self, end: str | None = None) -> str:
        """Everything up to the closing token."""
        out = ""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == end:
                self.at += 1
                break
            out = self.joined(out)
        return out

    def joined(self, out: str) -> str:
        """The text so far with the next token added."""
        token = self.tokens[self.at]
        if token == "^":
            self.at += 1
            return _power(out, self.argument())
        if token == "_":
            self.at += 1
            return out + _index(self.argument())
        piece = self.atom()
        if token[1:] in _FRACTIONS and out.rstrip().endswith(("log", "exp", "ln")):
            return f"{out.rstrip()}({piece.strip()})"
        if piece in {"+", "-"} and out.rstrip() and out.rstrip()[-1] not in "(+-≤≥≳≲=<>[{,;∀∃|":
            return f"{out.rstrip()} {piece} "
        if piece in {"=", "<", ">"}:
            return f"{out.rstrip()} {piece} "
        if piece and out and _runs_together(out[-1], piece[0], token):
            return f"{out} {piece}"
        return out + piece

    def argument(self) -> str:
        """The next group or single token, blanks before it passed over."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.atom().strip() if self.at < len(self.tokens) else ""

    def atom(self) -> str:
        """One token with its arguments."""
        token = self.tokens[self.at]
        self.at += 1
        if token == "{":
            return self.sequence("}")
        if token == "~" or token.isspace() or token == "&":
            return " "
        if not token.startswith("\\") or token == "\\":
            return "" if token == "}" else token
        return self.command(token[1:])

    def command(self, name: str) -> str:
        """A command, whatever arguments it takes read with it."""
        if name in _SILENT:
            return ""
        if name in _RELATIONS:
            return f" {_RELATIONS[name]} "
        if name in _SIGNS:
            return _SIGNS[name]
        if name in _FRACTIONS:
            return _fraction(self.argument(), self.argument()) + " "
        if name == "binom":
            return f"C({self.argument()}, {self.argument()})"
        if name == "sqrt":
            inside = self.argument()
            return f"√{inside}" if _is_word(inside) else f"√({inside})"
        if name == "norm":
            return f"‖{self.argument()}‖"
        if name == "abs":
            return f"|{self.argument()}|"
        if name == "when":
            return f"1[{self.argument()}]"
        if name in _TRANSPARENT:
            return self.argument()
        if name in _ACCENTS:
            inside = self.argument()
            return inside[:1] + _ACCENTS[name] + inside[1:]
        if name in {"begin", "end"}:
            self.argument()
            return " "
        return name


def _runs_together(before: str, first: str, token: str) -> bool:
    """Whether a command's word or sign would stick to a word before it."""
    if not token.startswith("\\"):
        return False
    return (before.isalnum() or before in ")'*‖") and (first.isalpha() or first in "√‖")


def _is_word(text: str) -> bool:
    """Whether a text is one symbol or number, so that it needs no brackets."""
    return (
        re.fullmatch(r"(\d+|max|min|op|[^\W\d_])[₀-₉₊₋]*(_\w+)?['*]?|\|[^| ]*\||", text) is not None
    )


def _top_level(text: str, signs: str) -> bool:
    """Whether one of the signs stands outside all brackets; a leading minus does not count."""
    depth = 0
    for i, char in enumerate(text):
        depth += (char in "([⌈⌊{") - (char in ")]⌉⌋}")
        if depth == 0 and i > 0 and char in signs:
            return True
    return False


def _fraction(above: str, below: str) -> str:
    above = f"({above})" if _top_level(above, "+-=≤≥") and not _is_norm(above) else above
    simple = _is_norm(below) or _is_word(below)
    return f"{above}/{below if simple else f'({below})'}"


def _is_norm(text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == "‖" and text.count("‖") == 2


def _power(base: str, exponent: str) -> str:
    base = base.rstrip()
    if exponent.startswith("(") and exponent.endswith(")") and not _top_level(exponent[:-1], ")"):
        inside = exponent if all(char in _UP for char in exponent) else exponent[1:-1]
        exponent = inside
    if base.endswith("e") and (len(base) == 1 or not base[-2].isalpha()):
        return f"{base[:-1]}exp({exponent})"
    if exponent and all(char in _UP for char in exponent):
        return base + "".join(_UP[char] for char in exponent)
    if exponent in {"ᵀ", "*", "'"}:
        return base + exponent
    return f"{base}^{exponent} " if _is_word(exponent) else f"{base}^({exponent}) "


def _index(index: str) -> str:
    if index and all(char in _DOWN for char in index):
        return "".join(_DOWN[char] for char in index)
    return f"_{index}" if _is_word(index) or index.isalpha() else f"_({index})"
