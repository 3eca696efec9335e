"""A file of nodes and a file of edges → a graph; every fault with its file and line."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seqloom.data.graph.graph import Graph, Part
from seqloom.data.graph.node_features import Sparse, columns, counted_words, dense_or_sparse, repeated_words
from seqloom.data.graph.tables import Row, rows
from seqloom.data.reading.faults import Broken, DataError, Faults, Skipped
from seqloom.data.settings import Bad
from seqloom.settings.words import nearest

ID, _LABEL, _SPLIT = ("id", "node"), ("label", "class", "target"), ("split", "set", "part")
_FEATURES, _TEXT = ("features", "x"), ("text", "title")
ABOUT = (*_LABEL, *_SPLIT, *_FEATURES, *_TEXT)
NODES = frozenset((*ID, *ABOUT))
FROM, TO = ("source", "src", "from", "citing"), ("target", "dst", "to", "cited")
EDGES = frozenset((*FROM, *TO))
_PARTS: dict[str, Part] = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev"), "valid"),
    "test": "test",
    **dict.fromkeys(("other", "none", "unlabelled", "unlabeled", "-", ""), "other"),
}


@dataclass
class _Nodes:
    """What was read of nodes so far."""

    lines: list[int] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    parts: list[Part | None] = field(default_factory=list)
    features: list[Sparse] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    width: int | None = None
    """Of dense features."""


def read_graph(
    nodes: str, edges: str, bad: Bad = "stop", words: tuple[str, ...] | None = None
) -> tuple[Graph, Skipped]:
    """nodes: with the columns id, label, features or text, and perhaps split. edges: source and target.

    words: those that are counted in texts; None: all that come again.
    A node or an edge that cannot be used raises DataError, or is left out and counted.
    """
    faults = Faults(bad)
    found = _read_nodes(nodes, faults)
    _refuse_parts(nodes, found)
    source_E, target_E = _read_edges(edges, nodes, found.ids, faults)
    features, known = found.features, tuple[str, ...]()
    if found.texts:
        known = repeated_words(found.texts) if words is None else words
        features = counted_words(found.texts, known)
    size = max(found.width or 0, len(known), 1 + max((max(one, default=-1) for one in features), default=-1))
    if not size:
        raise DataError(f"{nodes}: no node has a feature; name a column features, or text")
    row_P = np.repeat(np.arange(len(features)), [len(one) for one in features])
    column_P = np.array([column for one in features for column in one], np.int64)
    value_P = np.array([value for one in features for value in one.values()], np.float32)
    parts = _parts(found)
    graph = Graph(
        tuple(found.ids), tuple(found.labels), parts, row_P, column_P, value_P, size, source_E, target_E, known
    )
    return graph, faults.taken()


def _read_nodes(name: str, faults: Faults) -> _Nodes:
    found = _Nodes()
    for row in rows(name, NODES, frozenset(ID)):
        if isinstance(row, Row):
            fault = _add(found, row, name)
            if fault is not None:
                faults.fault(f"{name}:{row.line}", fault)
        else:
            faults.fault(f"{name}:{row[0]}", row[1])
    if not found.ids:
        raise DataError(f"{name}: no node in it; is it the right file?")
    return found


def _add(found: _Nodes, row: Row, name: str) -> Broken | None:
    """What is wrong with the node, if anything; otherwise it is one more."""
    if cell(row, ID) is None:
        # without names of columns, what stands in the first row says more than their numbers
        has = ", ".join(repr(one) for one in list(row.cells.values() if "1" in row.cells else row.cells)[:6])
        raise DataError(
            f"{name}:{row.line}: no column is called id; a file of nodes names its columns (id, label, features or "
            f"text, split), and this one begins with {has}; is it the right file? The nodes come first, then the edges"
        )
    node = str(cell(row, ID)).strip()
    if not node:
        return Broken("no id", "the id is empty")
    if node in found.ids:
        return Broken("an id twice", f"the id {node!r} stands in line {found.lines[found.ids[node]]} too", "remove one")
    label = cell(row, _LABEL)
    part = _part(row)
    if isinstance(part, Broken):
        return part
    features = _features(found, row)
    if isinstance(features, Broken):
        return features
    found.ids[node] = len(found.ids)
    found.lines.append(row.line)
    found.labels.append("" if label is None else str(label).strip())
    found.parts.append(part)
    if isinstance(features, str):
        found.texts.append(features)
    else:
        found.features.append(features)
    return None


def cell(row: Row, names: Sequence[str]) -> Any:
    return next((row.cells[name] for name in names if name in row.cells), None)


def _part(row: Row) -> Part | Broken | None:
    """None: no column says it."""
    value = cell(row, _SPLIT)
    if value is None:
        return "other" if any(name in row.cells for name in _SPLIT) else None
    name = str(value).strip().lower()
    if name not in _PARTS:
        near = nearest(name, list(_PARTS))
        what = f"the split should be train, valid, test or empty, but is {value!r}"
        return Broken("no split", what, f"write {near}" if near else "mend the line")
    return _PARTS[name]


def _features(found: _Nodes, row: Row) -> Sparse | str | Broken:
    """Of one node, as those before it have them."""
    text = cell(row, _TEXT)
    alone = {name: value for name, value in row.cells.items() if name not in NODES}
    # x beside y and others is a number as they are
    named = "features" if "features" in row.cells or (alone and text is None) else "x"
    if named in row.cells:
        values: Sparse | list[float] | Broken = dense_or_sparse(row.cells[named])
    elif text is not None:
        return str(text)
    else:
        values = columns(alone.values() if "x" not in row.cells else [row.cells["x"], *alone.values()])
    if isinstance(values, Broken | dict):
        return values
    if found.width is not None and len(values) != found.width:
        return Broken("another number of features", f"{len(values)} features, but the nodes before have {found.width}")
    found.width = len(values)
    return {number: value for number, value in enumerate(values) if value}


def _refuse_parts(name: str, found: _Nodes) -> None:
    """A graph from which nothing can be learnt, or a label that nobody can learn."""
    said = any(part is not None for part in found.parts)
    training = [number for number, part in enumerate(found.parts) if part in ("train", None) and found.labels[number]]
    unlabelled = [number for number, part in enumerate(found.parts) if part == "train" and not found.labels[number]]
    if unlabelled:
        line = found.lines[unlabelled[0]]
        raise DataError(f"{name}:{line}: a node to train on without a label; give it one, or leave its split empty")
    if not training:
        why = "no node has the split train" if said else "no node has a label"
        raise DataError(f"{name}: nothing to learn from: {why}")
    known = {found.labels[number] for number in training}
    for number, part in enumerate(found.parts):
        if part in ("valid", "test") and found.labels[number] not in known:
            label = found.labels[number]
            unseen = f"the label {label!r} of a {part} node is of no training node"
            what = unseen if label else f"a {part} node without a label"
            fix = "is the name the same?" if label else "give it one, or leave its split empty"
            raise DataError(f"{name}:{found.lines[number]}: {what}; {fix}")


def _parts(found: _Nodes) -> tuple[Part, ...]:
    """Where no column says it, nodes with a label are for training; who holds some out decides it later."""
    return tuple(
        ("train" if label else "other") if part is None else part
        for part, label in zip(found.parts, found.labels, strict=True)
    )


def _read_edges(
    name: str, nodes: str, ids: dict[str, int], faults: Faults
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    sources, targets = list[int](), list[int]()
    for row in rows(name, EDGES, EDGES):
        if not isinstance(row, Row):
            faults.fault(f"{name}:{row[0]}", row[1])
            continue
        ends = [cell(row, (*names, number)) for names, number in ((FROM, "1"), (TO, "2"))]
        if any(end is None for end in ends):
            what = f"an edge has two ends, source and target, but here is {list(row.cells.values())}"
            faults.fault(f"{name}:{row.line}", Broken("no edge", what))
            continue
        missing = [str(end).strip() for end in ends if str(end).strip() not in ids]
        if missing:
            what = f"an edge to {missing[0]!r}, which is no node of {nodes}"
            faults.fault(f"{name}:{row.line}", Broken("an edge to a missing node", what, "remove it, or add the node"))
            continue
        sources.append(ids[str(ends[0]).strip()])
        targets.append(ids[str(ends[1]).strip()])
    return np.array(sources, np.int64), np.array(targets, np.int64)
