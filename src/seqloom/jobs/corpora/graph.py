"""A graph's two files → its task, and which nodes are trained, validated and tested on."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from seqloom.data.building import Building, digest
from seqloom.data.cache import Cache, CacheWriter, Examples
from seqloom.data.graph import Graph, Part, looks_like_graph, read_graph
from seqloom.data.order import Weighted
from seqloom.data.prepare import FORMAT
from seqloom.data.ragged import Longs, Ragged
from seqloom.data.reading import Skipped
from seqloom.data.settings import Corpus
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.settings import UserError
from seqloom.settings.cache_folder import cache_folder
from seqloom.settings.words import counted
from seqloom.tasks import Codecs, Nodes, build_task
from seqloom.tasks.nodes import NodesTask, placed
from seqloom.text import Labels, Vocabulary, Words
from seqloom.text.labels import NONE

TWO = "a graph is two files, its nodes and its edges: --data nodes.tsv edges.tsv"


@dataclass(frozen=True)
class GraphCorpora:
    """As in build.py: each of train, valid and test is one example, or one for each part of the graph."""

    task: NodesTask
    train: tuple[Weighted, ...]
    valid: tuple[Cache, ...]
    test: tuple[Cache, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...]


def graph_files(files: Sequence[str]) -> tuple[Corpus, ...]:
    """The files of a command line as a graph."""
    if len(set(files)) != 2:
        raise UserError(f"{' '.join(files)}: {TWO}")
    if looks_like_graph(files[1], files[0]):
        raise UserError(f"{' '.join(files)}: the nodes come first, then the edges: --data {files[1]} {files[0]}")
    return (Corpus(files=tuple(files), format="graph"),)


def graph_corpora(recipe: Recipe, codecs: Codecs | None = None) -> GraphCorpora:
    """codecs: of a run to begin from, whose labels are kept."""
    assert isinstance(recipe.task, Nodes)
    corpus, skipped = _only(recipe), Skipped()
    if codecs is None or codecs.graph is None:
        nodes, edges = corpus.files
        graph, skipped = read_graph(nodes, edges, recipe.data.bad)
        graph = placed(_split(graph, recipe), recipe.task)
        labels = Labels.train(graph.labels[number] for number in graph.numbers_of("train"))
        if len(labels) == 1:
            raise UserError(
                f"{nodes}: all nodes to train on have one label, {labels.names[0]!r}, so that there is nothing to tell "
                "apart; is it the right column? Otherwise add nodes with another label"
            )
        codecs = Codecs(Vocabulary.train(Words(), graph.words or ["-"]), labels, graph=graph)
    else:
        codecs = replace(codecs, graph=placed(codecs.graph, recipe.task, codecs.graph))
    task = build_task(recipe.task, codecs, recipe.model.family)
    assert isinstance(task, NodesTask)
    name = " and ".join(corpus.files)
    parts = {part: _cached(task, part) for part in ("train", "valid", "test")}
    return GraphCorpora(
        task,
        (Weighted(parts["train"]),),
        (parts["valid"],),
        (parts["test"],) if len(task.graph.numbers_of("test")) else (),
        (name,),
        (*(f"{name}: {line}" for line in skipped.lines()), *_notes(task)),
    )


def _only(recipe: Recipe) -> Corpus:
    if recipe.data.valid or recipe.data.test:
        raise UserError("--valid and --test: of a graph the column split says which nodes are valid and test")
    if len(recipe.data.corpora) != 1 or len(recipe.data.corpora[0].files) != 2:
        raise UserError(TWO)
    return recipe.data.corpora[0]


def _split(graph: Graph, recipe: Recipe) -> Graph:
    """Some nodes kept for validation, where no column says which: those whose id's checksum is low."""
    if len(graph.numbers_of("valid")):
        return graph
    training = graph.numbers_of("train").tolist()
    by_sum = sorted(training, key=lambda number: zlib.crc32(graph.ids[number].encode()))
    left = {label: sum(graph.labels[number] == label for number in training) for label in graph.labels}
    parts, wanted = list(graph.parts), max(1, round(recipe.data.held_out * len(training)))
    for number in by_sum:
        label = graph.labels[number]
        if wanted and left[label] > 1:  # of each label something is learnt
            parts[number], left[label], wanted = "valid", left[label] - 1, wanted - 1
    if "valid" not in parts:
        raise UserError(
            f"{recipe.data.corpora[0].files[0]}: too few nodes with a label to keep one for validation; "
            "give more, or name some in a column split"
        )
    return replace(graph, parts=tuple(parts))


def _cached(task: NodesTask, part: Part) -> Cache:
    """One example: all nodes, and the labels of those of a part; or one for each unconnected part that has any."""
    key = [FORMAT, "graph", task.codecs.fingerprint, part, *([] if task.whole else ["parts"])]
    folder: Path = cache_folder() / "examples" / digest(key)
    if not folder.exists():
        labels = np.array(task.labels.encode(task.graph.labels, unknown="unseen"))
        goal_N = np.full(len(labels), NONE)
        asked = task.graph.numbers_of(part)
        goal_N[asked] = labels[asked]
        with (
            Building(folder) as partial,
            CacheWriter(partial / "examples.arrow", {"source": np.int32, "target": np.int32}, {}) as cache,
        ):
            cache.add(_examples(task, goal_N, asked))
    return Cache(folder / "examples.arrow")


def _examples(task: NodesTask, goal_N: Longs, asked: Longs) -> Examples:
    """asked: the nodes whose labels are; parts of the graph without one are not read."""
    island_N = np.zeros(len(goal_N), np.int64) if task.whole else task.graph.island_N
    read_N = np.isin(island_N, island_N[asked]) | task.whole
    node_M = np.flatnonzero(read_N)
    node_M = node_M[np.argsort(island_N[node_M], kind="stable")]
    lengths = np.unique(island_N[node_M], return_counts=True)[1]
    source, target = (Ragged.of(values.astype(np.int32), lengths) for values in (node_M, goal_N[node_M]))
    return Examples({"source": source, "target": target}, np.zeros(len(lengths), np.int64), np.arange(len(lengths)) + 1)


def _notes(task: NodesTask) -> Iterator[str]:
    graph = task.graph
    counts = {part: len(graph.numbers_of(part)) for part in ("train", "valid", "test")}
    yield (
        f"a graph of {len(graph):,} nodes and {len(graph.source_E):,} edges, {graph.features:,} features, "
        f"{len(task.labels)} labels; {counts['train']:,} nodes to train on, {counts['valid']:,} to validate, "
        f"{counts['test']:,} to test"
    )
    if not task.whole:
        yield f"{counted(int(graph.island_N.max()) + 1, 'part')} that no edge joins, which are read as they fit a batch"
    alone = len(graph) - len(np.unique(np.concatenate((graph.source_E, graph.target_E))))
    if alone:
        one = "node has no edge, and is known by its own features alone"
        yield counted(alone, one, "nodes have no edge, and are known by their own features alone")
