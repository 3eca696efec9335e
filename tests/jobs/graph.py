"""A small graph for tests."""

import random
from pathlib import Path


def write_graph(folder: Path, split: bool = True) -> None:
    """Two groups of friends, each with a word of its own, which some of them do not say."""
    draw = random.Random(1)
    nodes, edges = ["id\tsplit\tlabel\tfeatures" if split else "id\tlabel\tfeatures"], []
    for number in range(40):
        group = number % 2
        features = [group] if draw.random() < 0.6 else []
        part = ("train", "valid", "test", "")[number // 2 % 4]
        cells = [f"n{number}", part, "ab"[group], " ".join(map(str, [*features, 2]))]
        nodes.append("\t".join(cells if split else [cells[0], *cells[2:]]))
        for other in draw.sample(range(group, 40, 2), 4):
            edges.append(f"n{number}\tn{other}")
    (folder / "nodes.tsv").write_text("\n".join(nodes) + "\n")
    (folder / "edges.tsv").write_text("\n".join(edges) + "\n")
