r"""Formulas as one line of readable text, for a terminal.

The text is made from the LaTeX that a report prints, so both show the same formula.  Greek letters,
relations and quantifiers become Unicode characters.  Subscripts and powers keep ``_`` and ``^``,
because constants are named so on the command line.

>>> readable(r"(1 - \eta\mu)^{HT} x^{*}")
'(1 - η μ)^(H T) x*'
>>> readable(r"P(\mathcal{E}_i) \le c_{1} e^{- c_{2} \left(\frac{\rho}{\rho + 1}\right)^{2}}")
'P(ℰ_i) ≤ c_1 exp(-c_2 (ρ/(ρ + 1))^2)'
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

_LETTERS = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "varepsilon": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "iota": "ι",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "upsilon": "υ",
    "phi": "φ",
    "varphi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Gamma": "Γ",
    "Delta": "Δ",
    "Theta": "Θ",
    "Lambda": "Λ",
    "Xi": "Ξ",
    "Pi": "Π",
    "Sigma": "Σ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "Omega": "Ω",
    "ell": "ℓ",
    "nabla": "∇",
    "partial": "∂",
    "infty": "∞",
    "top": "⊤",
    "emptyset": "∅",
}
_OPERATORS = {
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "ne": "≠",
    "neq": "≠",
    "in": "∈",
    "notin": "∉",
    "subseteq": "⊆",
    "subset": "⊂",
    "cap": "∩",
    "ominus": "⊖",
    "cup": "∪",
    "lesssim": "≲",
    "gtrsim": "≳",
    "approx": "≈",
    "propto": "∝",
    "sim": "~",
    "to": "→",
    "cdot": "·",
    "times": "×",
    "pm": "±",
    "odot": "⊙",
    "otimes": "⊗",
}
_FUNCTIONS = {"log", "exp", "max", "min", "sup", "inf", "det", "tr", "poly", "Pr", "lim", "rank"}
_SPACES = {",", ";", ":", " ", "!", "quad", "qquad", "left", "right", "displaystyle"}
_TEXT = {"text", "mathrm", "operatorname", "textrm", "mathbf", "mathit", "mathsf"}
_SCRIPT = {"E": "ℰ", "F": "ℱ", "L": "ℒ", "B": "ℬ", "H": "ℋ", "I": "ℐ", "M": "ℳ", "R": "ℛ"}
_BOARD = {"E": "E", "P": "P", "R": "ℝ", "N": "ℕ", "Z": "ℤ"}
_ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "widetilde": "\u0303"}
_ACCENTS |= {"bar": "\u0304", "dot": "\u0307"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\d+(?:\.\d+)?|\s+|.", re.DOTALL)

Kind = Literal["number", "symbol", "operator", "open", "close", "comma", "function", "quantifier"]


@dataclass
class _Piece:
    """A piece of text.  ``bare`` pieces bind tightly and need no brackets in a quotient."""

    text: str
    kind: Kind
    bare: bool = True


class _Reader:
    """Reads tokens and writes pieces.  An unknown command is copied unchanged."""

    def __init__(self, latex: str) -> None:
        self.tokens = _TOKEN.findall(latex)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def skip_blanks(self) -> None:
        while self.peek().isspace():
            self.at += 1

    def row(self, until: str = "") -> list[_Piece]:
        """Pieces up to a closing token (or the end)."""
        pieces: list[_Piece] = []
        while self.at < len(self.tokens) and self.peek() != until:
            self.piece(pieces)
        self.at += 1 if until else 0
        return pieces

    def argument(self) -> list[_Piece]:
        """A group in braces, or the next single token."""
        self.skip_blanks()
        if self.peek() == "{":
            self.next()
            return self.row("}")
        pieces: list[_Piece] = []
        token = self.peek()
        if token[:1].isdigit() and len(token) > 1:  # \frac12 takes one digit at a time
            self.tokens[self.at : self.at + 1] = [token[0], token[1:]]
        self.piece(pieces, scripts=False)
        return pieces

    def raw(self) -> str:
        """A group in braces, copied unchanged (for words)."""
        self.skip_blanks()
        if self.peek() != "{":
            return self.next()
        self.next()
        depth, words = 1, []
        while self.at < len(self.tokens):
            token = self.next()
            depth += {"{": 1, "}": -1}.get(token, 0)
            if depth == 0:
                break
            words.append(token)
        return "".join(words)

    def piece(self, out: list[_Piece], scripts: bool = True) -> None:
        """Read one token with its arguments and put its text on ``out``."""
        token = self.next()
        if not token or token.isspace():
            return
        if token == "{":
            inside = self.row("}")
            out.append(_Piece(_join(inside), "symbol", _is_bare(inside)))
        elif token in ("^", "_"):
            if scripts and out:
                self._script(token, out)
            else:
                out.append(_Piece(token, "operator"))
        elif token.startswith("\\"):
            self._command(token[1:], out)
        elif token[0].isdigit():
            out.append(_Piece(token, "number"))
        elif token in "([":
            out.append(_Piece(token, "open"))
        elif token in ")]":
            out.append(_Piece(token, "close"))
        elif token in ",;":
            out.append(_Piece(token, "comma"))
        elif token == "'" and out:
            out[-1].text += "'"
        elif token in "+-=<>/:*":
            out.append(_Piece(token, "operator"))
        elif token not in "}&~":
            out.append(_Piece(token, "symbol"))

    def _script(self, sign: str, out: list[_Piece]) -> None:
        inside = self.argument()
        text = _join(inside, tight=True)
        last = out[-1]
        if sign == "^" and last.text == "e" and last.kind == "symbol":
            out[-1] = _Piece(f"exp({_join(inside)})", "symbol")
        elif sign == "^" and text == "*":
            last.text += "*"
        elif sign == "^" and len(inside) > 1 and text.isalnum():  # (1 - a)^(H T), not ^HT
            last.text += f"^({_join(inside)})"
        elif len(inside) == 1 or re.fullmatch(r"[\w']+|\([^()]*\)", text):
            last.text += f"{sign}{text}"
        else:
            last.text += f"{sign}{{{text}}}" if "," in text else f"{sign}({text})"

    def _command(self, name: str, out: list[_Piece]) -> None:
        if name in _SPACES:
            return
        if name in _LETTERS:
            out.append(_Piece(_LETTERS[name], "symbol"))
        elif name in _OPERATORS:
            out.append(_Piece(_OPERATORS[name], "operator"))
        elif name in ("forall", "exists"):
            out.append(_Piece({"forall": "∀", "exists": "∃"}[name], "quantifier"))
        elif name in ("frac", "tfrac", "dfrac"):
            above, below = self.argument(), self.argument()
            top = _join(above) if not _is_sum(above) else f"({_join(above)})"
            bottom = _join(below) if _is_bare(below) else f"({_join(below)})"
            out.append(_Piece(f"{top}/{bottom}", "symbol", bare=False))
        elif name == "sqrt":
            inside = self.argument()
            text = _join(inside)
            out.append(_Piece(f"√{text}" if _is_bare(inside) else f"√({text})", "symbol"))
        elif name in ("norm", "abs"):
            bar = "‖" if name == "norm" else "|"
            out.append(_Piece(f"{bar}{_join(self.argument())}{bar}", "symbol"))
        elif name == "overline":
            inside = self.argument()
            text = _join(inside)
            if text.isalpha() and len(text) == 1:  # a mean, such as M with a bar
                out.append(_Piece(text + _ACCENTS["bar"], "symbol"))
            else:  # the complement of an event or a set
                out.append(_Piece(f"¬{text}" if _is_bare(inside) else f"¬({text})", "symbol"))
        elif name in _ACCENTS:
            out.append(_Piece(_join(self.argument()) + _ACCENTS[name], "symbol"))
        elif name in _TEXT:
            out.append(_Piece(self.raw(), "symbol"))
        elif name in ("mathcal", "mathbb"):
            letter = self.raw()
            letters = _SCRIPT if name == "mathcal" else _BOARD
            out.append(_Piece(letters.get(letter, letter), "symbol"))
        elif name in _FUNCTIONS:
            out.append(_Piece(name, "function"))
        elif name == "dots" or name == "ldots":
            out.append(_Piece("…", "symbol"))
        elif name == "|":
            out.append(_Piece("‖", "symbol"))
        else:
            out.append(_Piece(name, "symbol"))


def _is_sum(pieces: list[_Piece]) -> bool:
    return any(p.kind == "operator" and p.text != "*" for p in pieces[1:])


def _is_bare(pieces: list[_Piece]) -> bool:
    if len(pieces) == 1:
        return pieces[0].bare
    inner = [p.kind for p in pieces[1:-1]]
    enclosed = len(pieces) > 1 and pieces[0].text == "(" and pieces[-1].text == ")"
    return enclosed and "open" not in inner and "close" not in inner


def _join(pieces: list[_Piece], tight: bool = False) -> str:
    """The pieces as text: spaces between factors and around operators that stand between two."""
    text = ""
    before: _Piece | None = None
    for i, piece in enumerate(_with_bars(pieces)):
        word = piece.text
        if before is not None and before.kind == "function" and not piece.bare:
            word = f"({word})"
        if piece.kind == "operator":
            binary = before is not None and before.kind in _OPERANDS and i < len(pieces) - 1
            if binary and not tight and word not in "/*:":
                word = f" {word} "
        elif before is not None and _gap(before, piece, word, tight):
            text += " "
        text += word
        before = piece
    return re.sub(r" +", " ", text).strip()


_OPERANDS = ("symbol", "number", "close")


def _with_bars(pieces: list[_Piece]) -> list[_Piece]:
    """The pieces, with opening and closing bars told apart: every second bar of a kind closes."""
    is_open = {"|": False, "‖": False}
    marked = []
    for piece in pieces:
        if piece.text in is_open and piece.kind == "symbol":
            bar = piece.text
            piece = _Piece(bar, "close" if is_open[bar] else "open")
            is_open[bar] = not is_open[bar]
        marked.append(piece)
    return marked


def _gap(before: _Piece, piece: _Piece, word: str, tight: bool) -> bool:
    """Whether a blank stands between two pieces, neither of them an operator."""
    if before.kind == "function":
        return not word.startswith("(")
    if tight or before.kind in ("open", "operator") or piece.kind == "close":
        return False
    if before.kind == "comma" or piece.kind in ("quantifier", "function"):
        return True
    if before.kind == "number":
        return not before.bare or re.match(r"[a-z]{2}", word) is not None
    if piece.kind == "open" or word[:1] in "(‖":
        called = re.fullmatch(r"[A-ZΩΘ](_\w+)?|poly", before.text)
        return before.kind in _OPERANDS and called is None
    return before.kind in _OPERANDS and piece.kind in ("symbol", "number")


def readable(latex: str) -> str:
    """A formula in LaTeX as one line of readable text."""
    return unicodedata.normalize("NFC", _join(_Reader(latex).row()))


def readable_text(text: str) -> str:
    """A sentence with formulas between dollars as readable text."""
    parts = text.split("$")
    return "".join(readable(part) if i % 2 else part for i, part in enumerate(parts))
