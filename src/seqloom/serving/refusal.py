"""Requests that are not answered: which status they get, and what is said."""

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException
from pydantic import BaseModel

from seqloom.serving.log import Log
from seqloom.settings import UserError

KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    499: "client_closed_request",
    500: "server_error",
    503: "overloaded_error",
}
"""As clients of OpenAI's interface know them; others are invalid requests."""
DESCRIBED = {
    400: "no JSON",
    404: "no such model",
    408: "not answered in time",
    413: "too long a body",
    422: "a field that is not as it should be, or that this model cannot do",
    429: "the queue is full; Retry-After says when to try again",
    503: "too many requests at once, or the server stops",
}
"""For the OpenAPI description."""


class About(BaseModel):
    message: str
    type: str
    param: None
    code: int


class ErrorAnswer(BaseModel):
    """As OpenAI says it."""

    error: About


class ShortErrorAnswer(BaseModel):
    """As Ollama says it."""

    error: str


class RefusalError(HTTPException):
    """message: where, what and the fix, for whoever sent the request."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.status, self.message = status, message

    def __str__(self) -> str:
        return self.message

    def content(self, path: str) -> dict[str, Any]:
        """Under /api/ as Ollama says it, elsewhere as OpenAI does."""
        if path.startswith("/api/"):
            return {"error": self.message}
        kind = KINDS.get(self.status, "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "param": None, "code": self.status}}


def busy(message: str, seconds: float, status: int = 429) -> RefusalError:
    """seconds: after which it may be tried again."""
    return RefusalError(status, message, {"Retry-After": str(max(1, round(seconds)))})


def refusal_of(error: Exception, log: Log) -> RefusalError:
    """Of what went wrong in the engine: a user's mistake is told to whoever asked, all else to the log."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, UserError):
        return RefusalError(422, str(error))
    log(f"answering failed: {type(error).__name__}: {error}")
    return RefusalError(500, "the model failed; the server's log says why")
