"""What is odd about a graph, before a model learns from it."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from seqloom.data.check import Finding, Report
from seqloom.data.check.report import PLACES, STOPS, Place, Severity, Statistics
from seqloom.data.check.report import Part as PartName
from seqloom.data.graph import Graph, Part, read_graph
from seqloom.data.reading import Skipped
from seqloom.jobs.corpora.graph import graph_corpora
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import UserError

NAMES: dict[Part, PartName] = {"train": "training", "valid": "validation", "test": "test"}


def check_graph(recipe: Recipe) -> tuple[Report, tuple[str, ...]]:
    """The report, and what the graph is. All that can be left out is told at once; what stops, alone."""
    try:
        found = graph_corpora(recipe.model_copy(update={"data": recipe.data.model_copy(update={"bad": "skip"})}))
        nodes, edges = recipe.data.corpora[0].files
        _, skipped = read_graph(nodes, edges, "skip")
    except UserError as error:
        where, _, why = str(error).partition(": ")
        return Report([_finding("fault", why or str(error), (where,), STOPS)]), ()
    graph = found.task.graph
    report = Report([*_faults(skipped, len(graph)), *_findings(graph)])
    for part, name in NAMES.items():
        own = graph.numbers_of(part).tolist()
        if own:
            labels = len({graph.labels[number] for number in own})
            report.statistics.append(Statistics(name, len(own), 0, {}, labels))
    return report, tuple(note for note in found.notes if " left out: " not in note)


def _faults(skipped: Skipped, nodes: int) -> Iterator[Finding]:
    for reason, count in skipped.counts.items():
        fix = "mend the lines; train --skip-bad leaves them out"
        yield Finding("fault", reason, "training", count, count / nodes, _places(skipped.places[reason]), fix)


def _findings(graph: Graph) -> Iterator[Finding]:
    joined, described = graph.neighbours(), np.bincount(graph.row_P, minlength=len(graph))
    bare = np.flatnonzero(described == 0).tolist()
    nothing = [number for number in bare if not joined[number]]
    if nothing:
        yield _of_nodes(
            "warning", "nodes without a feature and without an edge", graph, nothing,
            "nothing is known of them: all get the same label; leave them out",
        )  # fmt: skip
    elif bare:
        yield _of_nodes("note", "nodes without a feature", graph, bare, "they are known by their neighbours alone")
    ends = Counter(zip(graph.source_E.tolist(), graph.target_E.tolist(), strict=True))
    twice = [edge for edge, count in ends.items() if count > 1]
    if twice:
        places = tuple(f"{graph.ids[one]} → {graph.ids[other]}" for one, other in twice[:PLACES])
        count = sum(ends[edge] - 1 for edge in twice)
        yield _finding("note", "edges that stand there twice", places, "they count once", count, count / ends.total())
    counts = Counter(graph.labels[number] for number in graph.numbers_of("train").tolist())
    rare = [label for label, count in counts.items() if count == 1]
    if rare:
        fix = "one example tells little; give more, or join labels"
        yield _finding("warning", "labels of one training node", tuple(rare[:PLACES]), fix, len(rare))


def _of_nodes(severity: Severity, title: str, graph: Graph, numbers: list[int], fix: str) -> Finding:
    places = tuple(graph.ids[number] for number in numbers[:PLACES])
    return _finding(severity, title, places, fix, len(numbers), len(numbers) / len(graph))


def _finding(
    severity: Severity, title: str, places: tuple[str, ...], fix: str, count: int = 1, share: float = 0.0
) -> Finding:
    return Finding(severity, title, "training", count, share, _places(places), fix)


def _places(places: tuple[str, ...]) -> tuple[Place, ...]:
    return tuple(map(Place, places))
