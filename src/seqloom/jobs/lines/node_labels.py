"""What a model of a graph says of its nodes: a label for each."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from seqloom.data.graph import Graph, Part, read_graph
from seqloom.data.reading import Skipped
from seqloom.data.settings import Bad
from seqloom.jobs.answering.node_labeller import probabilities
from seqloom.jobs.corpora.graph import graph_files
from seqloom.jobs.lines.answer_lines import OutputFormat
from seqloom.jobs.lines.output_file import Screen
from seqloom.jobs.lines.whole_file import write_whole
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.tasks.nodes import NodesTask, placed


def node_labels(model: Model, graph: Graph, ids: Sequence[str]) -> list[Sequence[str]]:
    """Of these nodes, of any graph that the model can read."""
    task = model.task
    assert isinstance(task, NodesTask)
    there = NodesTask(task.settings, replace(task.codecs, graph=placed(graph, task.settings, task.graph)))
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
    if bool(graph.words) != bool(task.graph.words):
        has, knows = ("texts", "numbers") if graph.words else ("numbers", "texts")
        raise UserError(
            f"{files[0]}: its nodes have {has}, and the model knows them by {knows}; give what it was trained with"
        )
    if graph.features > task.graph.features:
        raise UserError(
            f"{files[0]}: has {graph.features:,} features, and the model knows {task.graph.features:,}; "
            "it can label graphs of the same features only"
        )
    return replace(graph, features=task.graph.features), skipped


def asked_nodes(graph: Graph, learnt: Graph) -> tuple[list[int], str]:
    """The nodes to be scored: those of the test, else all with a label; but none that was trained on.

    learnt: the graph of the training, which keeps some nodes for validation where no column says which.
    """
    parts = _learnt_parts(graph, learnt)
    known = [number for number, label in enumerate(graph.labels) if label]
    asked = graph.numbers_of("test").tolist() or [number for number in known if parts.get(number) == "test"] or known
    numbers = [number for number in asked if parts.get(number) != "train"]
    if not numbers:
        return asked, f"{len(asked):,} nodes are scored: all of them were trained on, so that the score is too good"
    kept = sum(parts.get(number) == "valid" for number in numbers) if asked is known else 0
    which = "those" if kept == len(numbers) else f"{kept:,} of them"
    note = f": {which} of the validation, which chose the model too, as no node is for the test" if kept else ""
    left = len(asked) - len(numbers)
    return numbers, f"{len(numbers):,} nodes are scored{note}" + (f"; left out: {left:,} trained on" if left else "")


def also_learnt(graph: Graph, ids: Sequence[str], learnt: Graph) -> int:
    """How many of the nodes that are scored another run was trained on."""
    parts, wanted = _learnt_parts(graph, learnt), set(ids)
    return sum(part == "train" and graph.ids[number] in wanted for number, part in parts.items())


def _learnt_parts(graph: Graph, learnt: Graph) -> dict[int, Part]:
    """What nodes were in training, wherever they stand in either file: those of the same id and the same features.

    Another graph may have the same ids, which often are numbers from 0 on.
    """
    at = {name: number for number, name in enumerate(learnt.ids)}
    own, others = _features(graph), _features(learnt)
    both = ((number, at[name]) for number, name in enumerate(graph.ids) if name in at)
    return {number: learnt.parts[other] for number, other in both if own.get(number) == others.get(other)}


def _features(graph: Graph) -> dict[int, set[int]]:
    """Which of them each node has; not of nodes without any."""
    found: dict[int, set[int]] = {}
    for number, feature in zip(graph.row_P.tolist(), graph.column_P.tolist(), strict=True):
        found.setdefault(number, set()).add(feature)
    return found


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
