"""What a model of a graph says of its nodes: a label for each."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from seqloom.data.graph import Graph, read_graph
from seqloom.data.reading import Skipped
from seqloom.data.settings import Bad
from seqloom.jobs.answer_lines import OutputFormat
from seqloom.jobs.graph_corpora import graph_files
from seqloom.jobs.model import Model
from seqloom.jobs.node_labeller import probabilities
from seqloom.jobs.output_file import Screen
from seqloom.jobs.whole_file import write_whole
from seqloom.settings import UserError
from seqloom.tasks.nodes import NodesTask


def node_labels(model: Model, graph: Graph, ids: Sequence[str]) -> list[Sequence[str]]:
    """Of these nodes, of any graph that the model can read."""
    task = model.task
    assert isinstance(task, NodesTask)
    there = NodesTask(task.settings, replace(task.codecs, graph=graph))
    best_N = probabilities(there, model.networks, model.device).argmax(-1).tolist()
    said = {name: task.labels.names[best] for name, best in zip(graph.ids, best_N, strict=True)}
    return [[said[name]] for name in ids]


def graph_of(model: Model, files: Sequence[str], bad: Bad) -> tuple[Graph, Skipped]:
    """The graph of two files, as the model can read it."""
    task = model.task
    assert isinstance(task, NodesTask)
    (corpus,) = graph_files(files)
    nodes, edges = corpus.files
    graph, skipped = read_graph(nodes, edges, bad, task.graph.words or None)
    if graph.features > task.graph.features:
        raise UserError(
            f"{files[0]}: has {graph.features:,} features, and the model knows {task.graph.features:,}; "
            "it can label graphs of the same features only"
        )
    return replace(graph, features=task.graph.features), skipped


def asked_nodes(graph: Graph, learnt: Graph) -> tuple[list[int], str]:
    """The nodes to be scored: those of the test, else of the validation, of another graph all with a label.

    learnt: the graph of the training, which keeps some nodes for validation where no column says which.
    """
    test = graph.numbers_of("test").tolist()
    known = [number for number, label in enumerate(graph.labels) if label]
    kept = [number for number in known if learnt.parts[number] == "valid"] if graph.ids == learnt.ids else []
    numbers = test or kept or known
    which = (
        "" if test or not kept else ": those of the validation, which chose the model too, as no node is for the test"
    )
    return numbers, f"{len(numbers):,} nodes are scored{which}"


def label_nodes(
    model: Model,
    out: Path | None,
    form: OutputFormat,
    scores: bool,
    n_best: int,
    force: bool,
    note: Callable[[str], None],
) -> None:
    """A line for each node, in the order of its file: id, label, and if asked for how sure the model is."""
    task = model.task
    assert isinstance(task, NodesTask)
    found = probabilities(task, model.networks, model.device)
    text = "".join(_lines(task, found, form, scores, n_best))
    if out is None:
        Screen().write(text)
    elif write_whole(out, text, force, note):
        note(f"{out}: labels of {len(task.graph):,} nodes")


def _lines(task: NodesTask, found_NV: Tensor, form: OutputFormat, scores: bool, n_best: int) -> Iterator[str]:
    top, which = found_NV.topk(min(n_best, found_NV.shape[1]), -1)
    for node, (best, labels) in enumerate(zip(top.tolist(), which.tolist(), strict=True)):
        name = task.graph.ids[node]
        each = [(task.labels.names[label], score) for label, score in zip(labels, best, strict=True)]
        if form == "jsonl":
            line: dict[str, object] = {"id": name, "label": each[0][0], "score": each[0][1]}
            line |= {"n_best": [{"label": label, "score": score} for label, score in each]} if n_best > 1 else {}
            yield json.dumps(line, ensure_ascii=False) + "\n"
            continue
        for label, score in each:
            yield f"{name}\t{label}" + (f"\t{score:.6g}" if scores or form == "tsv" else "") + "\n"
