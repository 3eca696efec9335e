"""The studio's page at /, and its modules under /studio/: a fixed list of files, read when the server starts."""

from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from seqloom.jobs.looking.studio_folder import FIRST, TYPES, files, folder
from seqloom.serving import health_api

UNDER = "/studio/"
SAFE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing of other hosts, nothing inline. Pictures are drawn here before they are kept: data: and blob:."""


class StudioPage:
    """The files by the path at which each is served."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = {UNDER + name: body for name, body in files.items() if name != FIRST}
        if FIRST in files:
            self.files["/"] = files[FIRST]
        self.marks = {path: f'"{sha256(body).hexdigest()[:32]}"' for path, body in self.files.items()}

    @property
    def paths(self) -> frozenset[str]:
        """What is told without a token: none of it is the models'."""
        return frozenset({*self.files, *_ELSEWHERE})

    def answer(self, request: Request, path: str) -> Response:
        headers = {"Cache-Control": "no-cache", "ETag": self.marks[path], "Content-Security-Policy": SAFE}
        if self.marks[path] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        kind = TYPES[PurePosixPath(FIRST if path == "/" else path).suffix]
        return Response(self.files[path], headers=headers, media_type=kind)


_ELSEWHERE = {"/studio": ".", UNDER: "..", UNDER + FIRST: ".."}
"""Other names of the page: relative, as a proxy may serve it all below a path of its own."""


def read_page() -> StudioPage:
    return StudioPage(files(folder()))


def router(page: StudioPage) -> APIRouter:
    routes = APIRouter(include_in_schema=False)
    for path in page.files:
        routes.add_api_route(path, _file(page, path), methods=["GET"])
    for path, target in _ELSEWHERE.items():
        routes.add_api_route(path, _elsewhere(target), methods=["GET"])
    if "/" not in page.files:  # a checkout without the studio
        routes.add_api_route("/", health_api.docs, methods=["GET"])
    return routes


def _file(page: StudioPage, path: str) -> Any:
    async def get(request: Request) -> Response:
        return page.answer(request, path)

    return get


def _elsewhere(target: str) -> Any:
    async def get() -> Response:
        return RedirectResponse(target)

    return get
