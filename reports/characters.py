"""Characters as LaTeX: the type of ready source, the macros, and TeX's special characters."""

from __future__ import annotations

from itertools import pairwise


class Latex(str):
    """A string that is LaTeX source already."""

    __slots__ = ()


MACROS = r"""\newcommand{\norm}[1]{\left\lVert #1\right\rVert}
\newcommand{\abs}[1]{\left\lvert #1\right\rvert}
\newcommand{\when}[1]{\quad\text{if } #1}
\newcommand{\poly}{\operatorname{poly}}
\newcommand{\polylog}{\operatorname{polylog}}
\newcommand{\verdictword}[2]{\textcolor{#1}{\textbf{#2}}}"""
"""The macros that stored formulas may use, beside amsmath and amssymb."""

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "`": r"{\textasciigrave}",  # grouped: pandoc would take a following group for its argument
    "[": "{[}",  # not an option of the command before it
    "]": "{]}",
    "<": "{<}",  # pandoc would take <1> behind a command for the slides of a presentation
    "\u00a0": "~",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``{}",
    "”": "''{}",
    "…": r"\ldots{}",
    "§": r"\S{}",
}
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "zeta": "ζ",
    "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω",
}  # fmt: skip
MATH_CHARACTERS = {letter: f"\\{name}" for name, letter in GREEK.items()} | {
    "ε": r"\varepsilon",
    "ϕ": r"\phi",
    "µ": r"\mu",
    "ℓ": r"\ell",
    "≤": r"\le",
    "≥": r"\ge",
    "≪": r"\ll",
    "≫": r"\gg",
    "≲": r"\lesssim",
    "≳": r"\gtrsim",
    "≠": r"\ne",
    "≈": r"\approx",
    "∼": r"\sim",
    "∝": r"\propto",
    "±": r"\pm",
    "−": "-",
    "×": r"\times",
    "·": r"\cdot",
    "√": r"\surd",
    "∞": r"\infty",
    "∈": r"\in",
    "∉": r"\notin",
    "∪": r"\cup",
    "∩": r"\cap",
    "⊂": r"\subset",
    "∀": r"\forall",
    "∃": r"\exists",
    "∑": r"\sum",
    "∏": r"\prod",
    "∫": r"\int",
    "∇": r"\nabla",
    "∂": r"\partial",
    "→": r"\to",
    "←": r"\leftarrow",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "‖": r"\Vert",
    "∥": r"\Vert",
    "⌈": r"\lceil",
    "⌉": r"\rceil",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "ᵀ": r"^{\top}",
    "⊤": r"\top",
    "⊥": r"\perp",
    "²": "^{2}",
    "³": "^{3}",
    "⁻": "^{-}",
    "½": r"\tfrac12",
    "°": r"^{\circ}",
    "ℝ": r"\mathbb{R}",
    "ℙ": r"\mathbb{P}",
    "𝔼": r"\mathbb{E}",
}
LIGATURES = "->,'"  # doubled, fonts join them into dashes, guillemets and quotes


def character_source(character: str) -> str:
    """One character outside ASCII, in text."""
    if character in SPECIAL:
        return SPECIAL[character]
    if character in MATH_CHARACTERS:
        return f"${MATH_CHARACTERS[character]}$"
    if "À" <= character <= "ÿ" or character in "ŁłŐőŠšŽžĆćČčĐđ¡¿£":
        return character
    return f"{{[}}U+{ord(character):04X}{{]}}"


def pair_quotes(text: str, opening: bool = True) -> tuple[str, bool]:
    """Straight double quotes as opening and closing ones, and whether the next one opens."""
    first, *rest = text.split('"')
    out = [first]
    for piece in rest:
        out += ["“" if opening else "”", piece]
        opening = not opening
    return "".join(out), opening


def plain_text(text: str) -> str:
    """Text without math: specials escaped, straight double quotes paired."""
    out = []
    for character, following in pairwise(pair_quotes(text)[0] + " "):
        if character in LIGATURES:
            joined = following == character or (character == "'" and following in "“”")
            out.append(character + "{}" * joined)
        elif character in SPECIAL:
            out.append(SPECIAL[character])
        elif character.isascii():
            # Control characters cannot be typeset, so they become blanks.
            out.append(character if character.isprintable() else " ")
        else:
            out.append(character_source(character))
    return "".join(out)
