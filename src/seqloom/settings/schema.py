"""The JSON schema of settings, so that editors complete and check recipes."""

from typing import Any

from pydantic import BaseModel

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a settings class, for editors that know TOML."""
    made = model.model_json_schema()
    definitions = made.get("$defs", {})
    for kinds in _find(made, "discriminator"):
        for reference in kinds["mapping"].values():
            _require(definitions[reference.rpartition("/")[2]], kinds["propertyName"])
    return {"$schema": DIALECT, **_tidy(made)}


def _find(node: Any, name: str) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for item in node for found in _find(item, name)]
    if not isinstance(node, dict):
        return []
    here = [node[name]] if isinstance(node.get(name), dict) and "mapping" in node[name] else []
    return here + [found for item in node.values() for found in _find(item, name)]


def _require(definition: dict[str, Any], name: str) -> None:
    """A table in a union must say its kind, though the class has a default: else the editor cannot tell which it is."""
    definition["required"] = sorted({name, *definition.get("required", ())}, key=list(definition["properties"]).index)


def _tidy(node: Any) -> Any:
    """Without null, which TOML cannot say, and without the titles that only repeat a name."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidy = {name: _tidy(item) for name, item in node.items() if item is not None}
    if "properties" in tidy:
        for setting in tidy["properties"].values():
            setting.pop("title", None)
    choices = tidy.get("anyOf")
    if choices and {"type": "null"} in choices:
        choices.remove({"type": "null"})
        if len(choices) == 1:
            tidy |= tidy.pop("anyOf")[0]
    return tidy
