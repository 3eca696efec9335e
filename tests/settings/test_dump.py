"""Settings to text and back."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from seqloom.settings import Frozen, dump, loads
from tests.settings.example import Attention, Bias, Convolution, Model, Recipe, Rotary

READABLE = """\
source = "a paper"

[model]
width = 16
mixer = [
    { kind = "attention", heads = 4, score = "scaled-dot", relative = { kind = "bias", reach = 3 }, window = "all" },
    { kind = "convolution", kernel = 3, convolution = false },
]
dropout = 0.1
tie = true
decoder = { heads = 2 }
names = ["a", "b"]
limits = { a = 1, "b c" = 2 }

[model.memory]
kind = "attention"
heads = 8
score = "scaled-dot"
relative = { kind = "rotary", base = 10000.0 }
window = "all"
"""


def test_the_text_is_readable() -> None:
    model = Model(
        width=16,
        mixer=(Attention(heads=4, relative=Bias(reach=3)), Convolution(kernel=3)),
        memory=Attention(relative=Rotary()),
        dropout=0.1,
        tie=True,
        decoder=Attention(heads=2),
        names=("a", "b"),
        limits={"a": 1, "b c": 2},
    )
    assert dump(Recipe(source="a paper", model=model)) == READABLE
    assert loads(READABLE, Recipe).model == model


relatives = (
    st.none()
    | st.builds(Bias, reach=st.integers(1))
    | st.builds(Rotary, base=st.floats(allow_nan=False, allow_infinity=False))
)
mixers = st.builds(Attention, heads=st.just(2), relative=relatives) | st.builds(Convolution, kernel=st.integers(1, 99))
texts = st.text(st.characters(codec="utf-8"))
models = st.builds(
    Model,
    width=st.integers().map(lambda half: 2 * half),
    mixer=mixers | st.lists(mixers, max_size=3).map(tuple),
    memory=mixers,
    dropout=st.floats(0, 1, exclude_max=True),
    tie=st.booleans(),
    cross=st.none() | mixers,
    decoder=st.builds(Attention) | st.builds(Attention, relative=relatives.filter(bool)),
    limits=st.dictionaries(texts, st.integers()),
)


@given(st.builds(Recipe, source=texts, model=models))
def test_round_trip(recipe: Recipe) -> None:
    # TOML knows 64-bit whole numbers only by promise; the parser here takes any.
    again = loads(dump(recipe), Recipe)
    assert again == recipe
    assert again.model.decoder.model_fields_set == recipe.model.decoder.model_fields_set


class Other(Frozen):
    when: date
    where: Annotated[Path, Field(strict=False)]
    deep: tuple[tuple[dict[str, tuple[int, ...]], ...], ...] = ()


def test_other_types() -> None:
    other = Other(when=date(2017, 6, 12), where=Path("a/b"), deep=(({"x": (1, 2)}, {}), ()))
    assert dump(other) == 'when = 2017-06-12\nwhere = "a/b"\ndeep = [[{ x = [1, 2] }, {}], []]\n'
    assert loads(dump(other), Other) == other


def test_what_toml_cannot_say() -> None:
    class Odd(Frozen):
        number: complex

    with pytest.raises(TypeError, match=r"TOML has no way to write 1j"):
        dump(Odd(number=1j))


def test_long_tables_at_any_depth_stay_valid() -> None:
    class Deep(Frozen):
        a: dict[str, dict[str, dict[str, str]]]

    deep = Deep(a={"b": {"c": {f"key {i}": "x" * 30 for i in range(4)}, "d": {}}, "e": {}})
    assert tomllib.loads(dump(deep)) == deep.model_dump()
