"""Requests that are not answered: which status they get, and what is said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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


@dataclass(eq=False)
class RefusalError(Exception):
    """message: where, what and the fix, for whoever sent the request."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

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
