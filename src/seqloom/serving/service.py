"""What every route needs."""

from dataclasses import dataclass

from starlette.requests import Request

from seqloom.serving.log import Log
from seqloom.serving.metrics import Metrics
from seqloom.serving.settings import ServingSettings
from seqloom.serving.shelf import Shelf


@dataclass(frozen=True)
class Service:
    shelf: Shelf
    settings: ServingSettings
    metrics: Metrics
    log: Log

    def about(self, request: Request, model: str, inputs: int) -> None:
        """What the log says of a request, besides its path."""
        request.state.about = f"{model} {inputs}"


def service(request: Request) -> Service:
    found: Service = request.app.state.service
    return found
