"""Answers as JSON: what is no number is null."""

from typing import Any

from starlette.responses import JSONResponse

from seqloom.jobs.lines.json_line import json_line


class PlainJson(JSONResponse):
    def render(self, content: Any) -> bytes:
        return json_line(content).encode()
