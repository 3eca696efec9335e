"""The whole application: routes, errors, and what stands before them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse

from seqloom import __version__
from seqloom.serving import health_api, ollama_api, openai_api, predict_api, studio_api, studio_page
from seqloom.serving.faults import told
from seqloom.serving.gate import App, Gate, Keeper
from seqloom.serving.log import Log
from seqloom.serving.metrics import Metrics
from seqloom.serving.refusal import DESCRIBED, ErrorAnswer, RefusalError, ShortErrorAnswer
from seqloom.serving.service import Service
from seqloom.serving.settings import ServingSettings
from seqloom.serving.shelf import Shelf


def build_app(shelf: Shelf, settings: ServingSettings, host: str, token: str | None, log: Log) -> App:
    """host: the address that it listens at. token: what every request must carry; None: nothing."""
    service = Service(shelf, settings, Metrics(), log)

    @asynccontextmanager
    async def alive(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(shelf.watch()) if settings.watch else None
        try:
            yield
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.wait({watching})  # raises nothing: the shelf is closed, whatever became of it
            await shelf.close()

    api = FastAPI(
        title="seqloom", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=alive
    )
    api.state.service = service
    for router in (predict_api.router, openai_api.router, studio_api.router):
        api.include_router(router, responses=_described(ErrorAnswer))
    api.include_router(ollama_api.router, responses=_described(ShortErrorAnswer))
    api.include_router(health_api.router)
    page = studio_page.read_page()
    api.include_router(studio_page.router(page))
    api.add_exception_handler(RefusalError, _refused)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(HTTPException, _unknown)
    app: App = api
    if token is not None:
        app = Keeper(app, token, page.paths)
    if settings.origins:
        app = CORSMiddleware(app, allow_origins=settings.origins, allow_methods=["GET", "POST"], allow_headers=["*"])
    return Gate(app, settings, host, service.metrics, log)


def _described(answer: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": answer, "description": about} for status, about in DESCRIBED.items()}


async def _refused(request: Request, refusal: Exception) -> JSONResponse:
    assert isinstance(refusal, RefusalError)
    return JSONResponse(refusal.content(request.url.path), refusal.status, dict(refusal.headers or {}))


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return await _refused(request, RefusalError(422, told(error.errors())))


async def _unknown(request: Request, error: Exception) -> JSONResponse:
    """A path or a method that there is not."""
    assert isinstance(error, HTTPException)
    said = {404: "there is no such path; /docs tells them all", 405: "this path takes no such method"}
    message = said.get(error.status_code, str(error.detail))
    return await _refused(request, RefusalError(error.status_code, message, error.headers or {}))
