"""Items that begin on static states: filled up to few shapes, and the same as if each were started as it is."""

import pytest
import torch

from seqloom.generation import static_intake
from seqloom.generation.scorer import PairScorer
from seqloom.generation.settings import GenerationSettings
from seqloom.generation.static_intake import _rows, _tokens
from seqloom.generation.static_writing import Static
from tests.generation.test_static_writing import OTHERS, compare, items_of, scorer_of
from tests.generation.tiny import PAIRS


def test_few_shapes() -> None:
    assert [_rows(n) for n in (1, 16, 17, 300)] == [16, 16, 32, 512]
    assert all(_tokens(n) >= n and _tokens(n) % 16 == 0 for n in range(1, 3000))
    assert all(_tokens(n) <= 1.13 * n for n in range(128, 20_000))
    assert len({_tokens(n) for n in range(8192, 16_385)}) <= 9


@pytest.mark.parametrize("name", ["attention", "convolution", "rotary", "biased", "multi-step"])
def test_filled_up_is_started(name: str) -> None:
    scorer, items = scorer_of(name), items_of(5)
    assert isinstance(scorer, PairScorer)
    assert scorer.framed
    wanted, _ = scorer.start(items)
    tokens = [token for item in items for token in scorer.read(item)]
    lengths_B = torch.tensor([len(item.source) + 1 for item in items] + [0, 0, 0])
    found = scorer.start_framed(torch.tensor([*tokens, *[3] * 7]), lengths_B, 16)
    assert found.read_B[:5].tolist() == wanted.read_B.tolist()
    last_R = torch.full((5,), scorer.begin)
    for one, other in zip(found.decoder.layers, wanted.decoder.layers, strict=True):
        assert one is not None
        assert other is not None
        for row, length in enumerate(lengths_B[:5].tolist()):
            for part in ("keys_AGSK", "values_AGSK"):
                memory, like = getattr(one.cross, part)[row, :, :length], getattr(other.cross, part)[row, :, :length]
                torch.testing.assert_close(memory, like, atol=1e-5, rtol=1e-5)
    assert scorer.scores(last_R, wanted)[0].isfinite().all()


@pytest.mark.parametrize("name", [name for name in (*PAIRS, *OTHERS) if name in ("recurrence", "bottleneck")])
def test_a_recurrence_wants_to_know_lengths(name: str) -> None:
    scorer = scorer_of(name)
    assert isinstance(scorer, PairScorer)
    assert not scorer.framed


def test_shapes_beyond_the_most_are_started_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_intake, "MOST", 1)
    scorer = scorer_of("attention")
    static = Static(scorer)
    compare(scorer, items_of(100), GenerationSettings(beam=2, batch=16), static)
    (frame,) = static._frames.values()
    assert len(frame.intake._shapes) == 1
    assert frame.intake.works
