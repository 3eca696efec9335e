"""Pages of Markdown as programs: their blocks, the names of their headings, and what their Python prints.

`python -m tests.docs.pages PAGE…` writes what each block prints into the page, where a block of text stands behind it.
"""

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.arrows import SOURCE

ROOT = SOURCE.parents[1]
PAGES = {
    page: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = "text"
"""The language of a block that shows what the block of Python before it prints."""


class Program(NamedTuple):
    """A block of Python. line: of the page, where it begins; shown: what the page says that it prints."""

    code: str
    line: int
    shown: str | None

    @property
    def claims(self) -> bool:
        """Whether it can be wrong: an `assert`, or something to compare with what is printed."""
        return self.shown is not None or re.search(r"^\s*assert\b", self.code, re.MULTILINE) is not None


def blocks(text: str, language: str | None = None) -> list[str]:
    return [block for of, block in _BLOCK.findall(text) if language in (None, of)]


def anchors(text: str) -> set[str]:
    """As a reader of Markdown makes them of headings."""
    heads = re.findall(r"^#+ (.+)$", _BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def links(text: str) -> list[tuple[str, str]]:
    """What is said of them, and where they lead; those to other places of the network are left out."""
    found = re.findall(r"([^\[\]]*)\]\(([^)\s]+)\)", _BLOCK.sub("", text))
    return [(said, link) for said, link in found if "://" not in link]


def lost_links(page: Path) -> list[str]:
    """Those that lead to no file, or to no heading of it."""
    lost = []
    for _, link in links(PAGES[page]):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            lost.append(link)
    return lost


def programs(text: str) -> list[Program]:
    """A block of text belongs to the block of Python right before it; elsewhere it is a mistake."""
    found: list[Program] = []
    free = -1  # where the last block of Python ends, until something else comes
    for match in _BLOCK.finditer(text):
        language, content = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        follows = free >= 0 and not text[free : match.start()].strip()
        if language == "python":
            found.append(Program(content, line, None))
        elif language == OUTPUT:
            if not follows:
                raise ValueError(f"line {line}: shown, but no block of Python right before it prints it")
            found[-1] = found[-1]._replace(shown=content)
        free = match.end() if language == "python" else -1
    return found


def outputs(text: str, name: str, names: dict[str, object]) -> Iterator[tuple[Program, str]]:
    """Each block of Python, run behind the others with the same names, and what it printed."""
    for program in programs(text):
        # so that a traceback tells the line of the page
        code = compile("\n" * program.line + program.code, name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        yield program, printed.getvalue()


def run(page: Path, *, compared: bool = True) -> dict[str, object]:
    """All blocks, one after the other, as a reader would type them; the names that they leave.

    compared: what they print must be what is shown, no less and no more.
    """
    names: dict[str, object] = {"__name__": page.stem}
    for program, printed in outputs(PAGES[page], str(page), names):
        said = f"{page.name}:{program.line} prints something else than it shows"
        assert not compared or printed == (program.shown or ""), said
    return names


def filled(text: str, name: str) -> str:
    """The page with what really comes out behind every block that shows something."""
    printed = iter([out for program, out in outputs(text, name, {"__name__": name}) if program.shown is not None])

    def put(match: re.Match[str]) -> str:
        return f"```{OUTPUT}\n{next(printed)}```" if match[1] == OUTPUT else match[0]

    return _BLOCK.sub(put, text)


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(filled(file.read_text(encoding="utf-8"), file.name), encoding="utf-8")
