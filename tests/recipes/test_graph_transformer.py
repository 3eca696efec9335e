"""The graph Transformer: who sees whom is the graph's edges."""

import random
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.layout import Layout, Packed, Padded, with_structure
from seqloom.models import EncoderOnly, Sizes, build_model
from tests.cli.run import run
from tests.recipes.shrunk import obeys_the_laws, parameters, recipe

TINY = ["model.width=32", "model.mixer.heads=4", "model.feed_forward.width=64"]
TYPES, NODES = 7, 9


def built(depth: int = 2) -> EncoderOnly:
    torch.manual_seed(1)
    model = build_model(recipe("graph-transformer-small", *TINY, f"model.depth={depth}").model, Sizes(TYPES, 2))
    assert isinstance(model, EncoderOnly)
    return model.eval()


def kinds(nodes: Tensor) -> Tensor:
    """What nodes are, as features: one of a few kinds each."""
    return F.one_hot(nodes, TYPES).float()


def path(nodes: int) -> Tensor:
    """Each node's neighbours are the one before and the one behind; no node is its own."""
    at = torch.arange(nodes)
    return ((at[:, None] - at).abs() == 1)[None]


def test_parameters() -> None:
    published = recipe("graph-transformer").target.parameters
    assert published is not None
    assert parameters("graph-transformer") == pytest.approx(published, rel=0.02)
    assert parameters("graph-transformer") == published - 3700


def test_a_layer_is_a_step_along_the_edges() -> None:
    """A change is seen as many edges away as there are layers, and no further."""
    layout = with_structure(Padded.whole(1, NODES), path(NODES))
    nodes = torch.zeros(1, NODES, dtype=torch.int64)
    other = nodes.clone()
    other[0, 4] = 1
    for depth in (1, 2, 3):
        model = built(depth)
        with torch.no_grad():
            moved = (model(kinds(nodes), layout).hidden != model(kinds(other), layout).hidden).any(-1)[0]
        assert moved.tolist() == [abs(node - 4) <= depth for node in range(NODES)]


def test_names_of_nodes_do_not_matter() -> None:
    model, nodes, edges = built(), torch.arange(NODES)[None] % TYPES, path(NODES)
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        there = model.scores(model(kinds(nodes), with_structure(Padded.whole(1, NODES), edges)))
        moved = with_structure(Padded.whole(1, NODES), edges[:, order][:, :, order])
        here = model.scores(model(kinds(nodes[:, order]), moved))
    torch.testing.assert_close(here, there[:, order])


def graphs(count: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes of two kinds, edges by chance; a node's class says whether it has a neighbour of the second kind."""
    draw = torch.Generator().manual_seed(2)
    kinds_BT = (torch.rand(count, NODES, generator=draw) < 0.3).long()
    half = torch.rand(count, NODES, NODES, generator=draw) < 0.15
    edges_BTT = (half | half.transpose(1, 2)) & ~torch.eye(NODES, dtype=torch.bool)
    return kinds_BT, edges_BTT, (edges_BTT & kinds_BT[:, None].bool()).any(-1).long()


def learnt(model: EncoderOnly, layout: Layout, nodes: Tensor, goal: Tensor) -> float:
    """The share of nodes that are right behind some training."""
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), 0.005)
    for _ in range(60):
        loss = F.cross_entropy(model.scores(model(kinds(nodes), layout)).flatten(0, -2), goal.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return float((model.scores(model(kinds(nodes), layout)).argmax(-1) == goal).float().mean())


def test_edges_are_learnt_from() -> None:
    """By heart with them; without them nodes of one kind are all alike."""
    nodes, edges, goal = graphs()
    assert 0.2 < float(goal.float().mean()) < 0.8
    plain = Padded.whole(len(nodes), NODES)
    assert learnt(built(), with_structure(plain, edges), nodes, goal) >= 0.99
    assert learnt(built(), plain, nodes, goal) < 0.9


def test_packed_graphs() -> None:
    nodes, edges, _ = graphs(2)
    model = built()
    with torch.no_grad():
        padded = model.scores(model(kinds(nodes), with_structure(Padded.whole(2, NODES), edges)))
        packed = model.scores(model(kinds(nodes.flatten()), with_structure(Packed.of([NODES, NODES]), edges)))
    torch.testing.assert_close(packed, padded.flatten(0, 1))


def write_parts(folder: Path) -> None:
    """Pairs, and nodes alone. A node's label is what the other one is, or that there is none; not what it is itself."""
    draw, nodes, edges = random.Random(1), ["id\tsplit\tlabel\tfeatures"], list[str]()
    for part in range(90):
        own, other = draw.randrange(2), draw.randrange(2)
        split = ("train", "train", "train", "valid", "test")[part % 5]
        if part % 3 == 0:
            nodes.append(f"{part}\t{split}\talone\t{own}")
            continue
        nodes += [f"{part}a\t{split}\t{'xy'[other]}\t{own}", f"{part}b\t{split}\t{'xy'[own]}\t{other}"]
        edges.append(f"{part}a\t{part}b")
    (folder / "nodes.tsv").write_text("\n".join(nodes) + "\n")
    (folder / "edges.tsv").write_text("\n".join(edges) + "\n")


@pytest.mark.parametrize("name", ["graph-transformer", "graph-transformer-small"])
def test_trained_on_many_small_graphs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever ignores the edges knows a third of the labels, or less; some parts make a batch."""
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_parts(Path())
    limits = [
        "training.minutes=1",
        "training.steps=120",
        "training.batch=40",
        "training.validate_every=30",
        "training.optimiser.rate=0.003",
    ]
    sizes = [*TINY, "model.depth=2", *limits]
    changes = [word for change in sizes for word in ("--set", change)]
    done = run("train", name, "--data", "nodes.tsv", "edges.tsv", "--out", "runs/g", *changes)
    assert done.code == 0, done.error
    assert "90 parts that no edge joins" in done.error
    assert "30 nodes have no edge" in done.error
    assert float(dict(line.split("\t") for line in done.out.splitlines())["test accuracy"]) == 100
    said = dict(line.split("\t") for line in run("predict", "runs/g").out.splitlines())
    rows = [line.split("\t") for line in Path("nodes.tsv").read_text().splitlines()[1:]]
    assert said == {row[0]: row[2] for row in rows}


def write_paths(folder: Path) -> None:
    """Paths of nodes that are all alike; those of the middle half are to be told from those nearer to an end."""
    nodes, edges = ["id\tsplit\tlabel\tfeatures"], list[str]()
    for number in range(10):
        split, length = ("train", "train", "train", "valid", "test")[number % 5], 30 + number
        for at in range(length):
            nodes.append(f"{number}-{at}\t{split}\t{'inner' if 1 <= 4 * at // length <= 2 else 'outer'}\t0")
            edges += [f"{number}-{at}\t{number}-{at - 1}"] if at else []
    (folder / "nodes.tsv").write_text("\n".join(nodes) + "\n")
    (folder / "edges.tsv").write_text("\n".join(edges) + "\n")


def test_positions_tell_where_a_node_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two layers see two nodes far; what is in the middle is seen by the Laplacian's eigenvectors alone."""
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_paths(Path())
    limits = ["training.minutes=1", "training.steps=150", "training.validate_every=30", "training.optimiser.rate=0.003"]
    found = []
    for number, kind in enumerate(("laplacian", "none")):
        sizes = [*TINY, "model.depth=2", *limits, f"task.positions.kind={kind}"]
        changes = [word for change in sizes for word in ("--set", change)]
        words = ("graph-transformer-small", "--data", "nodes.tsv", "edges.tsv", "--out", f"runs/{number}")
        done = run("train", *words, *changes)
        assert done.code == 0, done.error
        found.append(float(dict(line.split("\t") for line in done.out.splitlines())["test accuracy"]))
    assert found[0] > 90
    assert found[1] < 75
    scored = run("evaluate", "runs/0", "--data", "nodes.tsv", "edges.tsv", "--metrics", "accuracy")
    assert f"{found[0]:.2f}" in scored.out, "the same positions"


def test_laws() -> None:
    obeys_the_laws(recipe("graph-transformer-small", *TINY))
