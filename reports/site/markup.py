r"""The report's LaTeX as HTML: one converter for the small dialect that `reports` writes.

Sentences, numbers and tables are written once, as values of type `Latex`.  The PDF takes them as
they are.  Here they become `Markup`: every character of text is escaped, and formulas become
MathML.  A command that the dialect does not have is an error, as it is in the PDF's engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

from reports.characters import Latex
from reports.errors import ReportError
from reports.site.mathml import mathml

#: The address of a label, or nothing where the site has no page for it.
Link = Callable[[str], str]

_WRAPPED = {"texttt": "code", "emph": "em", "textbf": "strong"}
_SYMBOLS = {
    "textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textquotesingle": "'",
    "textasciigrave": "`", "ldots": "…", "S": "§", "quad": "\u2003", "newline": Markup("<br>"),
}  # fmt: skip
_CHARACTERS = {"~": "\u00a0", "`": "‘", "'": "’"}
_JOINED = {"---": "—", "--": "–", "``": "“", "''": "”"}
_COLOURS = frozenset(("supported", "refuted", "inconclusive", "vacuous", "notrun", "muted", "ink"))
_TOKEN = re.compile(
    r"\\(?P<command>[A-Za-z]+)[ ]*|\\(?P<symbol>.)|\$(?P<math>[^$]*)\$|(?P<open>\{)|(?P<close>\})"
    r"|(?P<joined>---|--|``|'')|(?P<character>[~`'])|(?P<text>[^\\${}~`'-]+|-)",
    re.DOTALL,
)


def inline(source: str, link: Link = lambda _label: "") -> Markup:
    r"""LaTeX of the report inside a line.

    Raises
    ------
    ReportError
        For a command that the dialect does not have.

    >>> print(inline(r"\textbf{a} \& b --- \texttt{<x>}"))
    <strong>a</strong> &amp; b — <code>&lt;x&gt;</code>
    """
    return _Parser(source, link).run(nested=False)


def blocks(source: str, link: Link = lambda _label: "") -> Markup:
    """Paragraphs, headings and description lists of the report's own text."""
    out = Markup("")
    for piece in re.split(r"\n\s*\n|(?=\\subsection\{|\\begin\{description\})", source):
        out += _block(piece.strip(), link)
    return out


def _block(piece: str, link: Link) -> Markup:
    if heading := re.match(r"\\(?:sub)*section\{([^{}]*)\}(?:\\label\{[^{}]*\})?\s*", piece):
        title = Markup("<h2>{}</h2>").format(inline(heading[1], link))
        return title + _block(piece[heading.end() :], link)
    if piece.startswith(r"\begin{description}"):
        body, _, rest = piece.removeprefix(r"\begin{description}").partition(r"\end{description}")
        items = Markup("")
        for item in body.split(r"\item[")[1:]:
            term, text = _until_bracket(item)
            items += Markup("<dt>{}</dt><dd>{}</dd>").format(
                inline(term, link), inline(text.strip(), link)
            )
        return Markup("<dl>{}</dl>").format(items) + _block(rest.strip(), link)
    return Markup("<p>{}</p>").format(inline(piece, link)) if piece else Markup("")


def _until_bracket(item: str) -> tuple[str, str]:
    """The term of an item and its text.  Brackets inside braces belong to the term."""
    depth = 0
    for i, character in enumerate(item):
        depth += (character == "{") - (character == "}")
        if character == "]" and not depth:
            return item[:i], item[i + 1 :]
    raise ReportError("an item of a list has no closing bracket")


class _Parser:
    """A reader of the dialect.  It holds the source and its place in it."""

    def __init__(self, source: str, link: Link) -> None:
        self._source = source
        self._link = link
        self._at = 0

    def run(self, *, nested: bool) -> Markup:
        """Convert up to the end, or up to the brace that closes a group."""
        out: list[Markup | str] = []
        while self._at < len(self._source):
            token = _TOKEN.match(self._source, self._at)
            if token is None:  # a dollar without a partner
                raise self._error(self._source[self._at :])
            self._at = token.end()
            if token["close"]:
                if nested:
                    break
                raise self._error("}")
            out.append(self._convert(token))
        else:
            if nested:
                raise self._error("{")
        return Markup("").join(out)

    def _convert(self, token: re.Match[str]) -> Markup | str:
        if token["command"]:
            return self._command(token["command"])
        if token["symbol"]:
            return self._symbol(token["symbol"])
        if token["math"] is not None:
            return mathml(token["math"])
        if token["open"]:
            return self.run(nested=True)
        if token["joined"]:
            return _JOINED[token["joined"]]
        return _CHARACTERS.get(token[0], token[0])

    def _symbol(self, symbol: str) -> Markup | str:
        if symbol in "{}$%&#_ ":
            return symbol
        if symbol == ",":
            return "\u202f"
        if symbol == "\\":
            return Markup("<br>")
        raise self._error(f"\\{symbol}")

    def _command(self, name: str) -> Markup | str:
        if name in _SYMBOLS:
            return _SYMBOLS[name]
        if name in _WRAPPED:
            tag = Markup(_WRAPPED[name])
            return Markup("<{}>{}</{}>").format(tag, self._argument(), tag)
        if name in ("textcolor", "verdictword"):
            colour, text = self._plain_argument(), self._argument()
            if colour not in _COLOURS:
                raise self._error(f"\\{name}{{{colour}}}")
            kind = f"verdict {colour}" if name == "verdictword" else colour
            return Markup('<span class="{}">{}</span>').format(kind, text)
        if name == "hyperref":
            label = self._plain_argument("[]")
            address, text = self._link(label), self._argument()
            return Markup('<a href="{}">{}</a>').format(address, text) if address else text
        if name in ("label", "pageref"):
            self._plain_argument()
            return ""
        raise self._error(f"\\{name}")

    def _argument(self) -> Markup:
        if not self._source.startswith("{", self._at):
            raise self._error(self._source[self._at : self._at + 20])
        self._at += 1
        return self.run(nested=True)

    def _plain_argument(self, fences: str = "{}") -> str:
        end = self._source.find(fences[1], self._at)
        if not self._source.startswith(fences[0], self._at) or end < 0:
            raise self._error(self._source[self._at : self._at + 20])
        text = self._source[self._at + 1 : end]
        self._at = end + 1
        return text

    def _error(self, place: str) -> ReportError:
        return ReportError(f"unsupported LaTeX for a web page: {' '.join(place.split())[:80]!r}")


def html_value(value: object, link: Link) -> object:
    """A value of a template: LaTeX is converted, and the template escapes all else."""
    return inline(value, link) if isinstance(value, Latex) else value


def plain(text: Markup) -> str:
    """The characters of HTML without its marks, for titles and descriptions of figures."""
    return str(escape(text).striptags())
