"""The JSON schema that editors read."""

from typing import Any

from seqloom.settings import schema
from tests.settings.example import Recipe

MADE = schema(Recipe)
DEFINITIONS = MADE["$defs"]


def test_head() -> None:
    assert MADE["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (MADE["title"], MADE["description"]) == ("Recipe", "A whole recipe.")
    assert MADE["additionalProperties"] is False


def test_descriptions() -> None:
    attention = DEFINITIONS["Attention"]
    assert attention["description"] == "Each position reads the others by likeness."
    assert attention["properties"]["heads"] == {
        "default": 8,
        "description": "How many heads share the width.",
        "exclusiveMinimum": 0,
        "type": "integer",
    }


def test_a_choice_asks_for_its_kind() -> None:
    assert DEFINITIONS["Attention"]["required"] == ["kind"]
    assert DEFINITIONS["Convolution"]["required"] == ["kind", "kernel"]
    assert DEFINITIONS["Attention"]["properties"]["kind"]["const"] == "attention"
    assert DEFINITIONS["Model"]["properties"]["memory"]["oneOf"] == [
        {"$ref": "#/$defs/Attention"},
        {"$ref": "#/$defs/Convolution"},
    ]


def test_one_or_many() -> None:
    one, many = DEFINITIONS["Model"]["properties"]["mixer"]["oneOf"]
    assert many["type"] == "array"
    assert many["items"]["oneOf"] == one["oneOf"]


def test_no_null() -> None:
    """TOML has none, so an editor should not offer it."""

    def values(node: Any) -> list[Any]:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return [node, *(below for item in inner for below in values(item))]

    relative = DEFINITIONS["Attention"]["properties"]["relative"]
    assert [choice["$ref"] for choice in relative["oneOf"]] == ["#/$defs/Bias", "#/$defs/Rotary"]
    assert None not in values(MADE)
    assert {"type": "null"} not in values(MADE)
