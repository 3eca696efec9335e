"""Tags of sentences, alone and chained, of one network and of several."""

import math

import pytest
import torch

from seqloom.jobs.answering.tags_of import links_of, tags_of, together
from seqloom.layers.chain import Links
from seqloom.models import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.layers.test_chain import LENGTHS, drawn, every, total


def test_a_chain_of_sentences_of_any_length() -> None:
    scores_BTV, _, links = drawn()
    sentences = [scores_BTV[row, :length] for row, length in enumerate(LENGTHS)]
    for scores_TV, found in zip(sentences, tags_of(sentences, links), strict=True):
        scores = every(scores_TV, links)
        assert found.tags == max(scores, key=lambda tags: scores[tags])
        assert found.log_prob == pytest.approx(scores[found.tags] - total(scores))
        for step, (tag, log_prob) in enumerate(zip(found.tags, found.each, strict=True)):
            chance = math.fsum(math.exp(score - total(scores)) for tags, score in scores.items() if tags[step] == tag)
            assert log_prob == pytest.approx(math.log(chance))


def test_given_tags() -> None:
    scores_BTV, _, links = drawn()
    (found,) = tags_of([scores_BTV[3, :3]], links, [[2, 2, 0]])
    scores = every(scores_BTV[3, :3], links)
    assert (found.tags, found.log_prob) == ((2, 2, 0), pytest.approx(scores[2, 2, 0] - total(scores)))


def test_tags_alone_are_multiplied() -> None:
    scores_WV = torch.tensor([[0.9, 0.1], [0.3, 0.7]]).log()
    (best,), (given,) = tags_of([scores_WV], None), tags_of([scores_WV], None, [[1, 1]])
    assert (best.tags, best.log_prob) == ((0, 1), pytest.approx(math.log(0.63)))
    assert (given.tags, given.log_prob) == ((1, 1), pytest.approx(math.log(0.07)))
    (none,) = tags_of([scores_WV[:0]], None)
    assert (none.tags, none.log_prob, none.each) == ((), 0.0, [])


def test_what_several_say() -> None:
    one, other = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.2, 0.8]).log()
    assert together([one, other], [1, 3], chained=False).exp().tolist() == pytest.approx([0.275, 0.725])
    wanted = [0.5**0.25 * 0.2**0.75, 0.5**0.25 * 0.8**0.75]
    assert together([one, other], [1, 3], chained=True).exp().tolist() == pytest.approx(wanted)


def test_links_of_several() -> None:
    settings = {"family": "encoder-only", "width": 4, "depth": 1, "mixer": {"kind": "convolution"}}
    alone, chained, other = (
        build_model(ModelSettings.model_validate(settings | {"output": output}), Sizes(5, 2))
        for output in ({"kind": "tags"}, *[{"kind": "tags", "chain": True}] * 2)
    )
    for network, value in (chained, 3.0), (other, 6.0):
        for part in network.head.chain.parameters():  # type: ignore[union-attr]
            torch.nn.init.constant_(part, value)
    assert links_of(alone, alone) is None
    links = links_of(chained, alone, other)
    assert isinstance(links, Links)
    assert links.follow_VV.tolist() == [[3.0, 3.0], [3.0, 3.0]]
