"""The search for an answer as a tree, with words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seqloom.generation.search import tree_steps
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.tree import Ending, Node, Tree
from seqloom.jobs.answering.writing import Prepared, Writer
from seqloom.jobs.look import Look
from seqloom.jobs.looking.documents import Place
from seqloom.jobs.looking.question import changes_target, prepared
from seqloom.jobs.looking.stream import TREE
from seqloom.jobs.looking.subject import places
from seqloom.jobs.looking.writing import changed_scorer
from seqloom.settings import UserError


@dataclass(frozen=True)
class NodeDocument:
    """group: of a diverse beam."""

    id: int
    parent: int | None
    step: int
    token: Place
    log_probability: float
    total: float
    kept: bool
    finished: bool
    group: int


@dataclass(frozen=True)
class FinishedDocument:
    """score = total / penalty(length) + coverage. ended: False: it was cut, and stands behind all that ended."""

    node: int | None
    text: str
    total: float
    length: int
    score: float
    coverage: float
    ended: bool


@dataclass(frozen=True)
class BeamDocument:
    nodes: tuple[NodeDocument, ...]
    finished: tuple[FinishedDocument, ...]
    winner: int
    length: dict[str, Any]
    beam: int
    groups: int


def beam(look: Look) -> Iterator[BeamDocument | None]:
    """None for each step of the search, between which others may use the model; then the document."""
    writer = look.model.writer
    if writer is None:
        raise UserError(f"beam: {look.model.recipe.task.kind} is not written token by token: there is no search")
    if look.request.target is not None:
        raise UserError("beam: a target that is given is not searched for; leave it out")
    settings = _searched(look.settings)
    if TREE in look.kept:  # the answer was searched for already
        tree, winner, asked = look.kept[TREE]
        yield _document(tree, winner, writer, asked, settings)
        return
    asked = prepared(look, writer, _changed(look) if changes_target(look) else ())
    assert asked.item is not None
    search = tree_steps(changed_scorer(writer, asked.item, settings, look.inner), asked.item, settings)
    while True:
        try:
            with look.model.named():
                next(search)
        except StopIteration as end:
            written, tree = end.value
            yield _document(tree, tree.place(written[0]), writer, asked, settings)
            return
        yield None


def _searched(settings: GenerationSettings) -> GenerationSettings:
    """What is drawn, or chosen among many afterwards, is searched for here all the same."""
    return settings.model_copy(update={"sample": None, "rerank": None})


def _changed(look: Look) -> tuple[int, ...]:
    """The beginning of the answer up to the last token that is changed, as the look's own answer has it."""
    last = max(one.place for one in look.request.changes if one.kind == "token" and one.side == "target")
    return tuple(place.id for place in look.answer().target[: last + 1])


def _document(tree: Tree, winner: int, writer: Writer, asked: Prepared, settings: GenerationSettings) -> BeamDocument:
    tokens = places([node.token for node in tree.nodes], writer.target)
    nodes = tuple(_node(node, token) for node, token in zip(tree.nodes, tokens, strict=True))
    finished = tuple(_finished(tree, ending, writer, asked) for ending in tree.endings)
    length = settings.length.model_dump(mode="json")
    return BeamDocument(nodes, finished, winner, length, settings.beam, settings.groups)


def _node(node: Node, token: Place) -> NodeDocument:
    return NodeDocument(
        node.id, node.parent, node.step, token, node.log_prob, node.total, node.kept, node.finished, node.group
    )


def _finished(tree: Tree, ending: Ending, writer: Writer, asked: Prepared) -> FinishedDocument:
    assert asked.item is not None
    text = writer.text(asked.item, tree.tokens(ending))
    return FinishedDocument(ending.node, text, ending.total, ending.length, ending.score, ending.coverage, ending.ended)
