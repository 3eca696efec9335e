"""Strings below fields are in the schema, and read only when it is asked for."""

from typing import Any

from pydantic import BaseModel, Field

from seqloom.settings import Frozen
from seqloom.settings.described import described
from seqloom.settings.schema import schema


class Base(Frozen):
    width: int = 1
    """How wide
    it is."""
    depth: int = Field(default=2, description="of layers")
    """This one is not read: the field says it itself."""
    plain: int = 3

    def method(self) -> int:
        """Of no field."""
        return self.width


class Derived(Base):
    plain: int = 4
    """Only here."""


class Holder(Frozen):
    part: Derived = Derived()
    """What is held."""


def _descriptions(model: type[BaseModel]) -> dict[str, Any]:
    return {name: field.get("description") for name, field in model.model_json_schema()["properties"].items()}


def test_strings_below_fields() -> None:
    assert _descriptions(Base) == {"width": "How wide\nit is.", "depth": "of layers", "plain": None}


def test_of_classes_that_it_derives_from_too() -> None:
    assert _descriptions(Derived) == {"width": "How wide\nit is.", "depth": "of layers", "plain": "Only here."}


def test_within_others() -> None:
    made = schema(Holder)
    assert made["properties"]["part"]["description"] == "What is held."
    assert made["$defs"]["Derived"]["properties"]["plain"]["description"] == "Only here."


def test_a_class_that_is_in_no_file() -> None:
    names: dict[str, Any] = {"Frozen": Frozen}
    exec("class Typed(Frozen):\n    width: int = 1\n    'of it'\n", names)
    assert described(names["Typed"]) == {}
    assert _descriptions(names["Typed"]) == {"width": None}


def test_they_are_not_read_before() -> None:
    assert Base.model_fields["width"].description is None
