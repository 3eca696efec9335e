"""The interface on one plain page, made out of the OpenAPI description: no script, no other host."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
td { border-top: 1px solid #8884; padding: .2rem .6rem .2rem 0; vertical-align: top }
code, pre { font-family: ui-monospace, monospace; font-size: .9em }
pre { overflow-x: auto; padding: .6rem; background: #8881 }
"""
_EXAMPLE = """curl http://localhost:8000/v1/predict -H 'Content-Type: application/json' \\
    -d '{"inputs": ["…"], "n_best": 1}'"""


def page(schema: dict[str, Any], models: Sequence[str]) -> str:
    named = ", ".join(f"<code>{escape(name)}</code>" for name in models)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>seqloom</title><style>{_STYLE}</style><h1>seqloom</h1><p>Models: {named}</p>"
        f"<pre>{escape(_EXAMPLE)}</pre>"
        '<p>Below, every path with its fields; as OpenAPI: <a href="openapi.json">openapi.json</a></p>'
        + "".join(_paths(schema))
        + "</html>\n"
    )


def _paths(schema: dict[str, Any]) -> Iterator[str]:
    for path, methods in schema["paths"].items():
        for method, about in methods.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(about.get('summary', ''))}. "
            yield f"{escape(about.get('description', ''))}</p>"
            body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if body is not None:
                yield f"<table>{''.join(_fields(schema, body))}</table>"


def _fields(schema: dict[str, Any], body: dict[str, Any]) -> Iterator[str]:
    table = _looked_up(schema, body)
    for name, field in table.get("properties", {}).items():
        needed = " (needed)" if name in table.get("required", ()) else ""
        cells = f"<code>{escape(name)}</code>{needed}", escape(_type(field)), escape(field.get("description", ""))
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _looked_up(schema: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    name = body.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = schema["components"]["schemas"][name] if name else body
    return found


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(kind for kind in map(_type, field["anyOf"]) if kind != "null")
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    return str(field.get("const", field.get("type", "anything")))
