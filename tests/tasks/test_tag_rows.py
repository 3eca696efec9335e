"""The loss of a chain of tags, of words in pieces and of unknown tags."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqloom.layers.chain import Links, log_marginals
from seqloom.layers.layout import Packed
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings
from seqloom.tasks import Frame, Goals, Tag
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.tag import TagTask
from seqloom.tasks.tag_rows import TagRows
from seqloom.text.labels import NONE, UNSEEN
from tests.layers.test_chain import every, total
from tests.tasks.small import CHARACTERS, WORDS, by_hand, encoded, model_for, padded, rows_of, task_of
from tests.tasks.test_tag import SENTENCES, TAGS

CHAIN: dict[str, Any] = {"kind": "tags", "chain": True}


def _made(text: Any = CHARACTERS, spelled: bool = False, linked: bool = True) -> tuple[TagTask, EncoderOnly, Links]:
    task = task_of(Tag(spelled=spelled), "tags", text, SENTENCES, TAGS)
    more = {"input": {"kind": "spelled", "letters": 8}} if spelled else {}
    model = model_for(task, "encoder-only", CHAIN, **more).eval()
    assert isinstance(task, TagTask)
    assert isinstance(model, EncoderOnly)
    chain = model.head.chain
    for part in chain.parameters() if linked else ():  # type: ignore[union-attr]
        nn.init.normal_(part)
    return task, model, chain.links  # type: ignore[union-attr]


def _by_hand(scores: list[Tensor], goals: list[list[int]], links: Links) -> float:
    """−log p of the known tags: of every sequence of tags, those that have them."""
    found = 0.0
    for scores_TV, goal in zip(scores, goals, strict=True):
        words = [place for place, tag in enumerate(goal) if tag != NONE]
        all_ = every(scores_TV[words], links)
        fits = {
            y: s for y, s in all_.items() if all(goal[at] in (tag, UNSEEN) for at, tag in zip(words, y, strict=True))
        }
        found += total(all_) - total(fits)
    return found


@pytest.mark.parametrize("unknown", [False, True])
def test_the_loss_is_that_of_every_sequence(unknown: bool) -> None:
    """Of words of several pieces only the first counts; of a word with an unknown tag all tags are possible."""
    task, model, links = _made()
    examples = encoded(task, SENTENCES, [TAGS[0], TAGS[1], ["V", "strange" if unknown else "P", "N"]])
    scores = model.scores(model(*padded(rows_of(examples.columns["source"]))))
    goals = rows_of(examples.columns["target"])
    wanted = _by_hand(list(scores), goals, links)
    with torch.no_grad():
        assert task.loss(model, task.batch(examples), Goals()).item() == pytest.approx(wanted)
    assert task.batch(examples).count == 6 - unknown


def test_spelled_words() -> None:
    task, model, links = _made(WORDS, spelled=True)
    batch = task.batch(encoded(task, SENTENCES, TAGS))
    assert batch.source is not None
    scores = model.scores(model(batch.source.tokens_N, batch.source.layout)).split([2, 1, 3])
    goals = [part.tolist() for part in batch.goal.split([2, 1, 3])]
    assert task.loss(model, batch, Goals()).item() == pytest.approx(_by_hand(list(scores), goals, links))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_without_links_it_is_the_loss_of_tags_alone(smoothing: float) -> None:
    task, model, _ = _made(linked=False)
    examples = encoded(task, SENTENCES, TAGS)
    scores = model.scores(model(*padded(rows_of(examples.columns["source"]))))
    wanted = by_hand(list(scores), rows_of(examples.columns["target"]), smoothing)
    torch.testing.assert_close(task.loss(model, task.batch(examples), Goals(smoothing)), wanted)


def test_a_sentence_alone_and_beside_others() -> None:
    task, model, _ = _made()
    each = [
        task.loss(model, task.batch(encoded(task, [s], [t])), Goals(0.1)) for s, t in zip(SENTENCES, TAGS, strict=True)
    ]
    torch.testing.assert_close(task.loss(model, task.batch(encoded(task, SENTENCES, TAGS)), Goals(0.1)), sum(each))


def test_a_frame_changes_nothing() -> None:
    """Tokens, rows and steps that fill it up are no words."""
    task, model, _ = _made()
    batch = task.batch(encoded(task, SENTENCES, TAGS))
    frame = Frame.around(batch, 1000)
    assert frame is not None
    numbers = torch.empty(frame.size, dtype=torch.int64)
    frame.write(batch, numbers)
    framed = frame.read(batch, numbers)
    assert framed.source is not None
    assert len(framed.source.tokens_N) > len(batch.source.tokens_N)  # type: ignore[union-attr]
    for goals in Goals(0.1), Goals(r_drop=1.0):
        torch.testing.assert_close(task.loss(model, framed, goals), task.loss(model, batch, goals))


def test_an_empty_sentence_costs_nothing() -> None:
    scores_NV = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    _, _, links = _made()
    goal_N = torch.tensor([1, NONE, NONE])
    for lengths in ([1, 2], [0, 1, 2, 0]):  # the row of two begins no word
        loss = TagRows.of(scores_NV, Packed.of(lengths), goal_N).loss(links)
        assert loss.item() == pytest.approx(_by_hand([scores_NV[:1]], [[1]], links))
    loss.backward()
    assert scores_NV.grad is not None
    assert scores_NV.grad[1:].abs().sum() == 0
    none = TagRows.of(scores_NV, Packed.of([3]), torch.full((3,), NONE)).loss(links)
    assert none.item() == 0


def test_how_far_two_are_apart_is_the_divergence_of_every_sequence() -> None:
    _, _, links = _made()
    scores = torch.randn(2, 4, 4, dtype=torch.float64)
    rows = [TagRows.of(each, Packed.of([3, 1]), torch.tensor([0, 1, 2, 3])) for each in scores]
    wanted = 0.0
    for words in (slice(0, 3), slice(3, 4)):
        p, q = (every(each[words].log_softmax(-1), links) for each in scores)
        log_p, log_q = ({tags: score - total(each) for tags, score in each.items()} for each in (p, q))
        wanted += math.fsum((math.exp(log_p[y]) - math.exp(log_q[y])) * (log_p[y] - log_q[y]) for y in p)
    assert rows[0].apart(rows[1], links).item() == pytest.approx(wanted)


def test_two_passes_that_agree_have_the_plain_loss() -> None:
    task, model, _ = _made()
    batch = task.batch(encoded(task, SENTENCES, TAGS))
    plain = task.loss(model, batch, Goals())
    model.train()  # which has no dropout
    torch.testing.assert_close(task.loss(model, batch, Goals(r_drop=5.0)), plain)
    restless = model_for(task, "encoder-only", CHAIN, dropout=0.3).train()
    torch.manual_seed(1)
    apart = task.loss(restless, batch, Goals(r_drop=5.0))
    torch.manual_seed(1)
    assert apart > task.loss(restless, batch, Goals(r_drop=1e-9)) + 0.1
    torch.manual_seed(1)
    torch.testing.assert_close(apart, _twice(task, restless, 5.0))


def _twice(task: TagTask, model: Model, weight: float) -> Tensor:
    """½ (loss₁ + loss₂) + α/4 (KL(p₁‖p₂) + KL(p₂‖p₁)), of whole sequences."""
    batch, both = (task.batch(encoded(task, SENTENCES * times, TAGS * times)) for times in (1, 2))
    assert isinstance(model, EncoderOnly)
    assert batch.source is not None
    assert both.source is not None
    scores = model.scores(model(both.source.tokens_N, both.source.layout)).chunk(2)
    one, other = (TagRows.of(each, batch.source.layout, batch.goal) for each in scores)
    links = model.head.chain.links  # type: ignore[union-attr]
    assert one.apart(other, links) > 0.1
    return (one.loss(links) + other.loss(links)) / 2 + weight / 4 * one.apart(other, links)


def _learnt(output: dict[str, Any], rate: float = 0.05) -> tuple[EncoderOnly, TagTask, float]:
    """Of words that say nothing: after an A comes a B, and after a B an A; what begins is A as often as B."""
    sentences = [["x"] * length for length in (2, 3, 4, 5) for _ in range(2)]
    tags = [
        list(itertools.islice(itertools.cycle("AB" if row % 2 else "BA"), len(s))) for row, s in enumerate(sentences)
    ]
    task = task_of(Tag(), "tags", WORDS, sentences, tags)
    model = model_for(task, "encoder-only", output)
    assert isinstance(model, EncoderOnly)
    assert isinstance(task, TagTask)
    batch = task.batch(encoded(task, sentences, tags))
    optimiser = torch.optim.Adam(model.parameters(), rate)
    for _ in range(150):
        optimiser.zero_grad()
        loss = task.loss(model, batch, Goals())
        loss.backward()
        optimiser.step()
    return model, task, loss.item() / batch.count


def test_only_a_chain_knows_that_tags_alternate() -> None:
    chained, task, loss = _learnt(CHAIN)
    _, _, alone = _learnt({"kind": "tags"})
    # a sentence of n words has two readings: log 2 for all of it, where tags alone have log 2 for each word
    assert loss == pytest.approx(8 * math.log(2) / 28, rel=0.05)
    assert alone == pytest.approx(math.log(2), rel=0.05)
    batch = task.batch(encoded(task, [["x"] * 6], [["A"] * 6]))
    assert batch.source is not None
    output = chained(batch.source.tokens_N, batch.source.layout)
    rows = TagRows.of(chained.scores(output), output.layout, batch.goal)
    links = chained.head.chain.links  # type: ignore[union-attr]
    best = rows.best(links).tolist()
    assert best in ([0, 1] * 3, [1, 0] * 3)
    assert log_marginals(rows.scores_BTV, rows.words.lengths_B, links).exp().amax() < 0.9  # of each word alone, either


def test_it_learns_a_few_sentences_by_heart() -> None:
    task, model, _ = _made(WORDS, linked=False)
    batch = task.batch(encoded(task, SENTENCES, TAGS))
    optimiser = torch.optim.Adam(model.train().parameters(), 0.01)
    for _ in range(60):
        optimiser.zero_grad()
        loss = task.loss(model, batch, Goals())
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.05
    assert batch.source is not None
    output = model(batch.source.tokens_N, batch.source.layout)
    rows = TagRows.of(model.scores(output), output.layout, batch.goal)
    assert rows.best(model.head.chain.links).equal(batch.goal)  # type: ignore[union-attr]


def test_nodes_do_not_follow_each_other() -> None:
    settings = {"family": "encoder-only", "input": {"kind": "features"}, "output": CHAIN}
    assert "set output.chain = false" in (NodesTask.refuses(ModelSettings.model_validate(settings)) or "")
