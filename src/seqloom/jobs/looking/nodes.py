"""The nodes of a graph, looked at: one of them, and those that it learns from."""
# N nodes of the whole graph  M nodes near the one  V labels  E edges

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seqloom.data.graph import Graph
from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changed import changed
from seqloom.inspect.changes import Change
from seqloom.inspect.trace import Example, trace
from seqloom.jobs.answering.answer import Question
from seqloom.jobs.looking.documents import AnswerDocument, GraphDocument, NodeDocument, Place
from seqloom.jobs.looking.subject import Subject
from seqloom.jobs.model import Model
from seqloom.layers.attention import SelfAttention
from seqloom.layers.layout import Edges, Padded, with_edges
from seqloom.settings import UserError
from seqloom.settings.words import show
from seqloom.tasks.nodes import NodesTask
from seqloom.text.labels import NONE

MOST = 240
"""Nodes that are shown at once."""


def node_subject(model: Model, task: NodesTask, given: Any, target: Any, changes: Sequence[Change]) -> Subject:
    """given: the name of a node, or its number. target: a label of it."""
    graph, network, labeller = task.graph, model.networks[0], model.node_labeller
    assert labeller is not None
    node = _node(model, graph, given)
    side = task.side()
    edges = side.layout.edges
    assert edges is not None
    layers = sum(isinstance(module, SelfAttention) for module in network.modules())
    near, whole = _near(edges, node, max(layers, 1))
    read = side.tokens_N
    read_MF = (read.index_select(0, near).to_dense() if read.is_sparse else read[near]).to(model.device)
    inside = _inside(edges, near).to(model.device)
    layout = with_edges(Padded.whole(1, len(near), model.device), inside)
    goal = None
    if target is not None:
        if not isinstance(target, str):
            raise UserError(f"target should be a label, but is {show(target)}")
        goal = torch.full((len(near),), NONE)
        goal[0] = task.labels.encode([target])[0]
    example = Example(read_MF, goal=goal, layout=layout)
    ids = tuple(graph.ids[number] for number in near.tolist())
    seen = tuple(Place(name, number) for name, number in zip(ids, near.tolist(), strict=True))

    def said(scores_MV: Tensor) -> AnswerDocument:
        weights = _weights(model, example, changes)
        # those at the edge of what is shown learn from others: what the whole graph says of them
        chances_MV = scores_MV.float().softmax(-1).cpu() if changes else labeller.found_NV[near]
        return _answer(task, chances_MV, near, inside, weights, seen)

    notes = (
        () if whole else (f"{ids[0]!r} learns from more nodes than are shown: these numbers are of the nearest alone",)
    )
    return Subject(example, said, lambda: task.labels.names, seen, forced=target is not None, notes=notes)


def _node(model: Model, graph: Graph, given: Any) -> int:
    given = given.get("node") if isinstance(given, dict) else given
    if isinstance(given, str):
        return model.prepare(Question(given), 0, GenerationSettings()).tokens[0]
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(graph):
        return given
    raise UserError(f"input should be a node's id, or its number from 0 to {len(graph) - 1}, but is {show(given)}")


def _near(edges: Edges, node: int, hops: int) -> tuple[Tensor, bool]:
    """The nodes that a node learns from over so many layers, itself first; and whether these are all.

    What a node reads in the last layer has read others in the layer before.
    """
    found, layer, whole = [node], [node], True
    for _ in range(hops):
        asks = torch.isin(edges.query_E, torch.tensor(layer))
        known = set(found)
        layer = [one for one in edges.key_E[asks].unique().tolist() if one not in known]
        room = MOST - len(found)
        whole = whole and len(layer) <= room
        layer = layer[: max(room, 0)]
        found += layer
    return torch.tensor(found), whole


def _inside(edges: Edges, near_M: Tensor) -> Edges:
    """The edges among these nodes, by their places."""
    place_N = torch.full((int(max(edges.query_E.max(), edges.key_E.max(), near_M.max())) + 1,), -1)
    place_N[near_M] = torch.arange(len(near_M))
    query_E, key_E = place_N[edges.query_E], place_N[edges.key_E]
    both = (query_E >= 0) & (key_E >= 0)
    return Edges.of(torch.zeros_like(query_E[both]), query_E[both], key_E[both])


def _weights(model: Model, example: Example, changes: Sequence[Change]) -> Tensor | None:
    """How much each node reads of each in the last layer, the mean over its heads: w_MM."""
    network = model.networks[0]
    last = [name for name, module in network.named_modules() if isinstance(module, SelfAttention)]
    if not last:
        return None
    with changed(network, changes):
        pass  # a change that cannot be is said before anything is run
    return trace(network, example, changes).parts(last[-1]).weights_BHTS[0].mean(0).cpu()


def _answer(
    task: NodesTask,
    chances_MV: Tensor,
    near_M: Tensor,
    inside: Edges,
    weights_MM: Tensor | None,
    seen: tuple[Place, ...],
) -> AnswerDocument:
    graph, names = task.graph, task.labels.names
    best = chances_MV.max(-1)
    nodes = tuple(
        NodeDocument(graph.ids[number], graph.labels[number] or None, names[label], chance)
        for number, label, chance in zip(near_M.tolist(), best.indices.tolist(), best.values.tolist(), strict=True)
    )
    pairs = zip(inside.key_E.tolist(), inside.query_E.tolist(), strict=True)
    edges = tuple(
        (key, query, 1.0 if weights_MM is None else float(weights_MM[query, key]))
        for key, query in pairs
        if key != query
    )
    return AnswerDocument(nodes[0].said, nodes[0].probability, seen, graph=GraphDocument(nodes, edges))
