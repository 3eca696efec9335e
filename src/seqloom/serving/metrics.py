"""How it goes, in Prometheus' text format."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from seqloom.serving.shelf import Book, Shelf

TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds, the upper ends of a histogram's parts."""
Labels = Mapping[str, str]


class Metrics:
    """Counts requests by route and status: a path that somebody made up is no label of its own."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self._parts: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def add(self, route: str, status: int, seconds: float) -> None:
        self.requests[route, status] += 1
        self._parts.setdefault(route, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]  # a Counter counts in fractions too

    def text(self, shelf: Shelf) -> str:
        return "".join([*self._of_requests(), *_of_models(shelf)])

    def _of_requests(self) -> Iterator[str]:
        each = (({"route": route, "status": str(status)}, count) for (route, status), count in self.requests.items())
        yield family("seqloom_requests_total", "counter", "Requests answered, by route and status.", each)
        name = "seqloom_request_seconds"
        yield f"# HELP {name} From a request's first byte to its answer's last.\n# TYPE {name} histogram\n"
        for route, parts in self._parts.items():
            total = 0
            for bound, count in zip([*map(str, BOUNDS), "+Inf"], parts, strict=True):
                total += count
                yield _line(f"{name}_bucket", {"route": route, "le": bound}, total)
            yield _line(f"{name}_sum", {"route": route}, self._seconds[route])
            yield _line(f"{name}_count", {"route": route}, total)


def _of_models(shelf: Shelf) -> Iterator[str]:
    def each(name: str, kind: str, help_text: str, value: Callable[[Book], float]) -> str:
        return family(name, kind, help_text, (({"model": book.name}, value(book)) for book in shelf.books.values()))

    counts, tried = shelf.counts, "Tokens written; of a beam, steps of an answer."
    yield each("seqloom_inputs_total", "counter", "Inputs answered.", lambda book: counts.inputs[book.name])
    yield each("seqloom_tokens_total", "counter", tried, lambda book: counts.tokens[book.name])
    yield each("seqloom_waiting", "gauge", "Inputs that wait.", lambda book: book.desk.waiting if book.desk else 0)
    yield each("seqloom_writing", "gauge", "Inputs in work.", lambda book: book.desk.writing if book.desk else 0)
    yield each("seqloom_loaded", "gauge", "1: the model is loaded.", lambda book: int(book.desk is not None))
    yield each("seqloom_weights_bytes", "gauge", "Of its weights.", lambda book: book.bytes)


def family(name: str, kind: str, help_text: str, values: Iterable[tuple[Labels, float]]) -> str:
    lines = "".join(_line(name, labels, value) for labels, value in values)
    return f"# HELP {name} {help_text}\n# TYPE {name} {kind}\n{lines}"


def _line(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{shown}}} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
