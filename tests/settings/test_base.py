"""The habits of settings classes."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from seqloom.settings import Frozen, impossible
from tests.settings.example import Attention, Convolution, Model


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Attention().heads = 2  # type: ignore[misc]


@pytest.mark.parametrize("heads", ["8", 8.0, True])
def test_types_are_not_converted(heads: object) -> None:
    with pytest.raises(ValidationError, match="valid integer"):
        Attention(heads=heads)  # type: ignore[arg-type]


def test_a_whole_number_is_a_number() -> None:
    assert Model(width=2, mixer=Convolution(kernel=1), dropout=0).dropout == 0.0


def test_one_or_many_takes_both_from_python() -> None:
    one, many = Attention(heads=2), (Attention(heads=2), Convolution(kernel=3))
    assert Model(width=2, mixer=one).mixer == one
    assert Model(width=2, mixer=many).mixer == many


def test_no_lists() -> None:
    with pytest.raises(TypeError, match=r"Bad.sizes: settings are frozen; use tuple\[X, ...\] instead of a list"):

        class Bad(Frozen):
            sizes: list[int]


@pytest.mark.parametrize("default", [Field(), Field(3), Field(default_factory=int)])
def test_what_may_be_none_is_none_by_default(default: object) -> None:
    with pytest.raises(TypeError, match=r"Bad.size: may be None, so its default must be None: TOML has no null"):

        class Bad(Frozen):
            size: int | None = default  # type: ignore[assignment]


def test_none_by_default_is_well() -> None:
    class Good(Frozen):
        size: Annotated[int, Field(gt=0)] | None = None
        word: Annotated[Literal["a"] | None, Field(description="x")] = None

    assert Good().size is None


def test_impossible_reads_well_from_python() -> None:
    with pytest.raises(ValidationError, match="width 10 cannot be split into 4 heads"):
        Model(width=10, mixer=Attention(heads=4))
    assert impossible("why {not}").message() == "why {not}"
