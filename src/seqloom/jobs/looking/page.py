"""The studio's page as one file: its modules, its styles and the documents that it shows; no server, no other host."""

import base64
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from seqloom.jobs.looking.studio_folder import FIRST, TYPES, files, folder
from seqloom.settings import FailedError

HERE = "studio/"  # how index.html names the other files
SAFE = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
_IMPORT = re.compile(r"""(?P<before>\bfrom\s*|\bimport\s*\(?\s*)(?P<mark>["'])(?P<path>\.{1,2}/[^"']+)(?P=mark)""")
_STYLE = re.compile(r"""<link\b[^>]*\brel="stylesheet"[^>]*\bhref="studio/(?P<name>[^"]+)"[^>]*>""")
_SCRIPT = re.compile(r"""<script\b[^>]*\bsrc="studio/(?P<name>[^"]+)"[^>]*>\s*</script>""")
_NAMED = re.compile(r"""\b(?P<field>href|src)="studio/(?P<name>[^"]+)\"""")


def look_page(documents: Sequence[Mapping[str, Any]], title: str, start: str = "") -> str:
    """documents: {"path", "request", "answer"}, as the page would ask for them. start: where it opens, `#/flow?…`."""
    parts = files(folder())
    if FIRST not in parts:
        raise FailedError(f"{folder()}: the studio's files are not there; install seqloom anew")
    page = parts[FIRST].decode()
    page = _STYLE.sub(lambda found: f"<style>\n{_css(parts, found['name'])}</style>", page)
    scripts = [found["name"] for found in _SCRIPT.finditer(page)]
    page = _SCRIPT.sub("", page)
    page = _NAMED.sub(lambda found: f'{found["field"]}="{_data(found["name"], _part(parts, found["name"]))}"', page)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{SAFE}">'
    inside = "".join(
        [
            _json("importmap", {"imports": _modules(parts)}),
            _json("application/json", list(documents), "documents"),
            _start(start),
            *(f'<script type="module">import "{HERE}{name}";</script>\n' for name in scripts),
        ]
    )
    page = re.sub(r"(<meta charset=[^>]*>)", lambda found: f"{found[0]}\n{policy}", page, count=1)
    page = re.sub(r"<title>[^<]*</title>", lambda _: f"<title>{escape(title)}</title>", page, count=1)
    return page.replace("</head>", f"{inside}</head>", 1)


def _modules(parts: Mapping[str, bytes]) -> dict[str, str]:
    """Each module under a name of its own: one that is in the page itself has no place that others are relative to."""
    return {HERE + name: _data(name, _named(name, body)) for name, body in parts.items() if name.endswith(".js")}


def _named(name: str, body: bytes) -> bytes:
    """Its imports by those names."""

    def there(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), found["path"]))
        return f"{found['before']}{found['mark']}{HERE}{path}{found['mark']}"

    return _IMPORT.sub(there, body.decode()).encode()


def _css(parts: Mapping[str, bytes], name: str) -> str:
    return _part(parts, name).decode().replace("</", "<\\/")


def _part(parts: Mapping[str, bytes], name: str) -> bytes:
    if name not in parts:
        raise FailedError(f"{folder()}: {FIRST} names {name}, which is not there; install seqloom anew")
    return parts[name]


def _data(name: str, body: bytes) -> str:
    kind = TYPES[posixpath.splitext(name)[1]].partition(";")[0]
    return f"data:{kind};base64,{base64.b64encode(body).decode()}"


def _json(kind: str, content: Any, name: str = "") -> str:
    """What stands in it can end no script."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    named = f' id="{name}"' if name else ""
    return f'<script type="{kind}"{named}>{text}</script>\n'


def _start(start: str) -> str:
    if not start:
        return ""
    text = json.dumps(start).replace("<", "\\u003c")
    return f'<script>if (!location.hash) history.replaceState(null, "", {text});</script>\n'
