"""Every path of a TOML text has its line."""

import random
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.settings.lines import KeyPath, locate


def paths(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    """Every path in what the standard parser makes of a text."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    here = [path] if path else []
    return here + [below for step, inner in items for below in paths(inner, (*path, step))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# a = 1\n\n", {}),
        ("a = 1\nb=2", {("a",): 1, ("b",): 2}),
        ("a = 1 # b = 2\r\nc = 3\r\n", {("a",): 1, ("c",): 2}),
        ("[a]\nb = 1\n[a.c]\nd = 2", {("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", "d"): 4}),
        ("\n[a.b]\n[a]", {("a",): 3, ("a", "b"): 2}),  # the header of its own wins over the one that implies it
        (" [ a . 'b.c' ] # x\nd=1", {("a",): 1, ("a", "b.c"): 1, ("a", "b.c", "d"): 2}),
        ("[[a]]\n[[a]]\nb=1\n[a.c]", {("a",): 1, ("a", 0): 1, ("a", 1): 2, ("a", 1, "b"): 3, ("a", 1, "c"): 4}),
        (
            "[[a]]\n[[a.b]]\n[[a.b]]\n[[a]]\n[[a.b]]\nc=1",
            {
                ("a",): 1,
                ("a", 0): 1,
                ("a", 0, "b"): 2,
                ("a", 0, "b", 0): 2,
                ("a", 0, "b", 1): 3,
                ("a", 1): 4,
                ("a", 1, "b"): 5,
                ("a", 1, "b", 0): 5,
                ("a", 1, "b", 0, "c"): 6,
            },
        ),
        ('a.b."c d" = 1\na.e = 2', {("a",): 1, ("a", "b"): 1, ("a", "b", "c d"): 1, ("a", "e"): 2}),
        ('"\\u0061\\t" = 1', {("a\t",): 1}),
        ("a = { b = 1, c.d = { e = 2 } }", dict.fromkeys(paths({"a": {"b": 1, "c": {"d": {"e": 2}}}}), 1)),
        (
            "a = [ # [\n  { b = 1 },\n  # ]\n  { b = 2 }, ]\nc = 1",
            {("a",): 1, ("a", 0): 2, ("a", 0, "b"): 2, ("a", 1): 4, ("a", 1, "b"): 4, ("c",): 5},
        ),
        ("a = [[1,\n2],\n[3]]", {("a",): 1, ("a", 0): 1, ("a", 0, 0): 1, ("a", 0, 1): 2, ("a", 1): 3, ("a", 1, 0): 3}),
        ('a = """\nb = 1\n\\""" [c]\n"""""\nd = 1', {("a",): 1, ("d",): 5}),
        ("a = '''\nb = 1\n''\\'''''\nd = 1", {("a",): 1, ("d",): 4}),
        ('a = \'\\\'\nb = "\\"#"\nc = \'\'\nd = ""', {("a",): 1, ("b",): 2, ("c",): 3, ("d",): 4}),
        ("a = 1979-05-27 07:32:00\nb = [1979-05-27 07:32:00, 2]", {("a",): 1, ("b",): 2, ("b", 0): 2, ("b", 1): 2}),
    ],
)
def test_lines(text: str, expected: dict[KeyPath, int]) -> None:
    assert set(expected) == set(paths(tomllib.loads(text)))
    assert locate(text) == expected


KEYS = ["a", "b-2", "3", "_", '"a.b"', "'c d'", '""', '"\\u00e9\\""', "'#'", "'['"]
SCALARS = [
    "1", "-1_000.5e-3", "inf", "true",
    "1979-05-27 07:32:00", "07:32:00", '""', "''", '"# [a]"', "'\"'", '"\\"] }, a = 1"',
    '"""\na = 1\n[b]\n"""', '"""x\\""", """""', "'''\n[[a]]\n\"\"\"'''", "'''it''s'''''", '"""\\\n  """', '""""""',
]  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=12,
)


class Writer:
    """Writes values in any of TOML's ways, and notes the line of each path as it goes."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.text = ""
        self.lines: dict[KeyPath, int] = {}

    def mark(self, path: KeyPath) -> None:
        for length in range(1, len(path)):
            self.lines.setdefault(path[:length], self.text.count("\n") + 1)
        self.lines[path] = self.text.count("\n") + 1

    def table(self, values: dict[str, Any], path: KeyPath = (), keys: tuple[str, ...] = ()) -> None:
        """The settings of a table, then the tables in it that get headers of their own."""
        below = {key for key, value in values.items() if self.chance.random() < 0.6 and _may_have_header(value)}
        for key in values.keys() - below:
            self.setting(key, values[key], path)
            self.text += self.chance.choice(["\n", "  # a = 1\n", "\r\n", "\n\n"])
        for key in sorted(below):
            for index, value in enumerate(values[key]) if isinstance(values[key], list) else [(None, values[key])]:
                inner = (*path, name(key)) if index is None else (*path, name(key), index)
                self.text += "[" + self.space() if index is None else "[[" + self.space()
                self.mark(inner)
                self.text += f"{self.space()}.".join((*keys, key)) + self.space()
                self.text += "]\n" if index is None else "]] # [x]\n"
                self.table(value, inner, (*keys, key))

    def setting(self, key: str, value: Any, path: KeyPath) -> None:
        path = (*path, name(key))
        if isinstance(value, dict) and value and self.chance.random() < 0.4:
            ((inner, single),) = list(value.items())[:1]
            value.clear()  # a dotted key writes one setting; the rest is dropped, which the parser sees as well
            self.text += f"{key}{self.space()}."
            return self.setting(inner, single, path)
        self.mark(path)
        self.text += f"{key}{self.space()}={self.space()}"
        return self.value(value, path)

    def value(self, value: Any, path: KeyPath) -> None:
        if isinstance(value, str):
            self.text += value
        elif isinstance(value, list):
            self.text += "["
            for index, item in enumerate(value):
                self.text += self.gap()
                self.mark((*path, index))
                self.value(item, (*path, index))
                self.text += self.gap() + ("," if index < len(value) - 1 or self.chance.random() < 0.5 else "")
            self.text += self.gap() + "]"
        else:
            self.text += "{" + self.space()
            for index, key in enumerate(value):
                self.text += ", " if index else ""
                self.setting(key, value[key], path)
            self.text += self.space() + "}"

    def space(self) -> str:
        return self.chance.choice(["", " ", "\t"])

    def gap(self) -> str:
        return self.chance.choice(["", " ", "\n", " # ], }\n  "])


def _may_have_header(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)
    )


def name(key: str) -> str:
    return next(iter(tomllib.loads(f"{key} = 0")))


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5), st.randoms(use_true_random=False))
def test_any_text_that_the_parser_takes(values: dict[str, Any], chance: random.Random) -> None:
    writer = Writer(chance)
    writer.table(values)
    assert set(writer.lines) == set(paths(tomllib.loads(writer.text)))
    assert locate(writer.text) == writer.lines
