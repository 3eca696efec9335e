"""Whether it lives, and how it goes."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, PlainTextResponse

from seqloom import __version__
from seqloom.serving import metrics as prometheus
from seqloom.serving.page import page
from seqloom.serving.service import service

router = APIRouter(tags=["the server"])
SAFE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}


@router.get("/healthz", summary="Whether it lives; needs no token")
async def health(request: Request) -> Any:
    return {"status": "ok", "version": __version__}


@router.get("/metrics", summary="How it goes, for Prometheus", response_class=PlainTextResponse)
async def metrics(request: Request) -> Any:
    it = service(request)
    return PlainTextResponse(it.metrics.text(it.shelf), media_type=prometheus.TYPE)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Any:
    return HTMLResponse(page(request.app.openapi(), [book.name for book in service(request).shelf.runs]), headers=SAFE)
