"""Writing on buffers that stay where they are says what the search says that looks at each step."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from seqloom.generation import static_writing
from seqloom.generation.contract import Item, Scorer, Written
from seqloom.generation.no_numbers import NoNumbersError
from seqloom.generation.sampling import Sampling
from seqloom.generation.scorer import PairScorer, TextScorer
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings, LengthSettings, MeanLength, NoLength, WuLength
from seqloom.generation.static_frame import Frame
from seqloom.generation.static_writing import Static, is_static
from seqloom.layers.recording import NotRecordedError
from seqloom.models import EncoderDecoder, Sizes, build_model
from seqloom.models.in_half import in_half
from seqloom.models.settings import ModelSettings
from tests.generation.tiny import BASE, BEGIN, END, PAIRS, pair_model, text_model

SIZE = 9
ROTARY = {**BASE, "mixer": {"kind": "attention", "heads": 2, "key_heads": 1, "relative": {"kind": "rotary"}}}
OTHERS: dict[str, dict[str, Any]] = {
    "rotary": ROTARY,
    "biased": {**BASE, "mixer": {"kind": "attention", "heads": 2, "relative": {"kind": "t5"}}},
    "window": {**BASE, "mixer": {"kind": "attention", "heads": 2, "window": 3}},
    "additive": {**BASE, "mixer": {"kind": "attention", "heads": 2, "score": "additive"}},
    "multi-step": {**BASE, "mixer": {"kind": "convolution"}, "cross": {"kind": "multi-step"}},
    "block": {**BASE, "mixer": {"kind": "attention", "heads": 2, "block": 4}},
    "compressed": {**BASE, "decoder": {"mixer": {"kind": "memory-compressed", "heads": 2, "factor": 3}}},
    "linear": {**BASE, "decoder": {"mixer": {"kind": "gated-linear"}}, "cross": {"kind": "attention", "heads": 1}},
}


def scorer_of(name: str, seed: int = 3) -> PairScorer | TextScorer:
    if name == "text":
        return TextScorer(text_model(seed, SIZE, 2.5), BEGIN, END, never=(BEGIN,))
    if name in PAIRS:
        return PairScorer(pair_model(name, seed, SIZE, 2.5), BEGIN, END, never=(BEGIN,))
    torch.manual_seed(seed)
    model = build_model(ModelSettings.model_validate(OTHERS[name]), Sizes(SIZE, SIZE))
    assert isinstance(model, EncoderDecoder)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2)
    return PairScorer(model.eval(), BEGIN, END, never=(BEGIN,))


def items_of(count: int, seed: int = 1) -> list[Item]:
    draw = random.Random(seed)
    return [
        Item([draw.randrange(2, SIZE) for _ in range(draw.randint(1, 9))], number, draw.randint(1, 12))
        for number in range(count)
    ]


def compare(scorer: Scorer, items: Sequence[Item], settings: GenerationSettings, static: Static) -> None:
    plain = dict(write(scorer, items, settings))
    found = dict(write(scorer, items, settings, static=static))
    assert static.works
    assert set(found) == set(plain)
    pairs = [pair for number in plain for pair in zip(found[number], plain[number], strict=True)]
    for one, other in pairs:
        if one.tokens != other.tokens:  # two that are as good: which is met first hangs on the last digit
            assert one.score == pytest.approx(other.score, abs=1e-6)
            continue
        assert one.ended == other.ended
        assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4, rel=1e-5)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4, rel=1e-5)
    assert sum(one.tokens == other.tokens for one, other in pairs) > 0.97 * len(pairs)


@pytest.mark.parametrize("name", [*PAIRS, *OTHERS, "text"])
def test_greedy(name: str) -> None:
    scorer = scorer_of(name)
    compare(scorer, items_of(50), GenerationSettings(beam=1, batch=20), Static(scorer))


@pytest.mark.parametrize("beam", [1, 3])
def test_long_prompts_are_read_in_parts(beam: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_writing, "READ", 20)
    scorer, read = scorer_of("text"), list[int]()
    start = scorer.start

    def watched(items: Sequence[Item]) -> Any:
        read.append(len(items) * max(len(item.source) for item in items))
        return start(items)  # type: ignore[arg-type]

    plain = dict(write(scorer, items_of(50), GenerationSettings(beam=beam, batch=20)))
    monkeypatch.setattr(scorer, "start", watched)
    found = dict(write(scorer, items_of(50), GenerationSettings(beam=beam, batch=20), static=Static(scorer)))
    assert [found[number][0].tokens for number in plain] == [answers[0].tokens for answers in plain.values()]
    assert max(read) <= 20
    assert len(read) > 10


@pytest.mark.parametrize("name", [*PAIRS, *OTHERS, "text"])
@pytest.mark.parametrize(("n_best", "length"), [(1, WuLength()), (4, MeanLength()), (2, NoLength())])
def test_beam(name: str, n_best: int, length: LengthSettings) -> None:
    scorer = scorer_of(name)
    settings = GenerationSettings(beam=4, n_best=n_best, length=length, batch=18)
    items = [replace(item, cuts=item.number % 2 == 1) for item in items_of(40)]
    compare(scorer, items, settings, Static(scorer))


@pytest.mark.parametrize("seed", range(4))
def test_who_shares_the_frame_does_not_matter(seed: int) -> None:
    """One frame after the other, refilled, narrowed down, and used again."""
    scorer = scorer_of("attention", seed)
    static = Static(scorer)
    for beam, batch, count in (1, 64, 150), (3, 33, 80), (1, 64, 150), (1, 16, 7):
        compare(scorer, items_of(count, seed), GenerationSettings(beam=beam, batch=batch), static)


def test_frames_narrow_down_and_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = list[int]()
    run = Frame.run

    def counted(self: Frame) -> None:
        counts.append(self.count)
        run(self)

    monkeypatch.setattr(Frame, "run", counted)
    scorer, static = scorer_of("attention"), Static(scorer_of("attention"))
    for _ in range(2):
        for _ in write(scorer, items_of(100), GenerationSettings(beam=1, batch=64), static=static):
            pass
    assert {64, 16} <= set(counts)
    assert len(static._frames) == 1


def test_wishes_are_the_others_search() -> None:
    scorer, plain, wishing = scorer_of("attention"), items_of(20), items_of(20, 2)
    wishing = [Item(item.source, item.number + 20, item.longest + 2, prefix=(3,)) for item in wishing]
    compare(scorer, [*plain, *wishing], GenerationSettings(beam=2), Static(scorer))


@pytest.mark.parametrize(
    "changes", [{"sample": Sampling()}, {"no_repeat": 2}, {"coverage": 0.2}, {"shortest": 3}, {"groups": 2}]
)
def test_what_the_books_do_not_know(changes: dict[str, Any]) -> None:
    assert is_static(GenerationSettings(), attention=False)
    assert not is_static(GenerationSettings(), attention=True)
    assert not is_static(GenerationSettings(**changes), attention=False)


def test_a_vocabulary_smaller_than_the_beam() -> None:
    scorer = PairScorer(pair_model("attention", 3, 5, 2.5), BEGIN, END)
    items = [Item([2, 3, 4][: 1 + number % 3], number, 5) for number in range(20)]
    compare(scorer, items, GenerationSettings(beam=12, n_best=3), Static(scorer))


def test_no_numbers() -> None:
    scorer = scorer_of("attention")
    with torch.no_grad():
        next(scorer.model.head.parameters()).fill_(torch.nan)
    for beam in 1, 3:
        with pytest.raises(NoNumbersError):
            list(write(scorer, items_of(3), GenerationSettings(beam=beam), static=Static(scorer)))


def test_whoever_stops_reading_leaves_nothing_behind() -> None:
    scorer = scorer_of("attention")
    static, settings = Static(scorer), GenerationSettings(beam=2, batch=16)
    reading = write(scorer, items_of(60), settings, static=static)
    next(reading)
    assert isinstance(reading, Iterator)
    reading.close()  # type: ignore[attr-defined]
    compare(scorer, items_of(30, 5), settings, static)


def test_two_at_a_time() -> None:
    """Who comes while another is being written goes the old way, and disturbs nobody."""
    scorer = scorer_of("attention")
    static, settings = Static(scorer), GenerationSettings(beam=2, batch=16)
    plain = [dict(write(scorer, items_of(40, seed), settings)) for seed in (1, 2)]
    found = [dict[int, list[Written]](), dict[int, list[Written]]()]
    readers = [write(scorer, items_of(40, seed), settings, static=static) for seed in (1, 2)]
    for _ in range(40):
        for reader, one in zip(readers, found, strict=True):
            number, answers = next(reader)
            one[number] = answers
    for one, other in zip(found, plain, strict=True):
        assert {n: a[0].tokens for n, a in one.items()} == {n: a[0].tokens for n, a in other.items()}


@pytest.mark.parametrize("beam", [1, 3])
def test_a_state_that_cannot_be_static_goes_the_old_way(beam: int) -> None:
    settings = {**BASE, "decoder": {"cross": {"kind": "aligned"}}}
    torch.manual_seed(1)
    model = build_model(ModelSettings.model_validate(settings), Sizes(SIZE, SIZE)).eval()
    assert isinstance(model, EncoderDecoder)
    scorer = PairScorer(model, BEGIN, END)
    static = Static(scorer)
    asked = GenerationSettings(beam=beam)
    assert dict(write(scorer, items_of(20), asked, static=static)) == dict(write(scorer, items_of(20), asked))
    assert not static.works


def test_what_fails_on_the_way_is_written_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some answers are out when the recording breaks off; the others come by the other search, and none twice."""
    scorer, settings = scorer_of("convolution"), GenerationSettings(beam=1, batch=16)
    run, times = Frame.run, [0]

    def breaks(self: Frame) -> None:
        times[0] += 1
        if times[0] == 4:
            raise NotRecordedError("a kernel waits")
        run(self)

    monkeypatch.setattr(Frame, "run", breaks)
    static, found = Static(scorer), list[tuple[int, list[Written]]]()
    found += write(scorer, items_of(80), settings, static=static)
    plain = dict(write(scorer, items_of(80), settings))
    assert len(found) == len(plain)
    assert {number: [one.tokens for one in answers] for number, answers in found} == {
        number: [one.tokens for one in answers] for number, answers in plain.items()
    }
    assert not static.works
    assert times[0] == 4, "it is not tried again"


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Frame) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(Frame, "run", fails)
    scorer = scorer_of("attention")
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        list(write(scorer, items_of(5), GenerationSettings(beam=1), static=Static(scorer)))


def test_in_half_precision() -> None:
    """Nearly the same: the caches and the products are of eight bits before the point and behind it."""
    full = scorer_of("attention")
    assert isinstance(full, PairScorer)
    half = PairScorer(in_half(full.model, torch.bfloat16), BEGIN, END, never=(BEGIN,), half=torch.bfloat16)
    items, settings = items_of(60), GenerationSettings(beam=1, batch=20)
    plain = dict(write(full, items, settings))
    static = Static(half)
    for found in dict(write(half, items, settings)), dict(write(half, items, settings, static=static)):
        same = [number for number, (one,) in found.items() if one.tokens == plain[number][0].tokens]
        assert len(same) > 45
        for number in same:
            assert found[number][0].log_prob == pytest.approx(plain[number][0].log_prob, abs=0.3)
    (frame,) = static._frames.values()
    assert {x.dtype for x in _floats(frame.state)} == {torch.bfloat16}


def _floats(state: Any) -> Iterator[torch.Tensor]:
    if isinstance(state, torch.Tensor):
        if state.is_floating_point():
            yield state
    elif isinstance(state, tuple):
        for part in state:
            yield from _floats(part)
    elif hasattr(state, "__dataclass_fields__"):
        for name in state.__dataclass_fields__:
            yield from _floats(getattr(state, name))


def test_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are read ahead, with longer ones in a later window."""
    monkeypatch.setattr(static_writing, "WINDOW", 2)
    scorer = scorer_of("attention")
    long = [Item([2, 3, 4] * 25, 100 + number, 90) for number in range(3)]
    compare(scorer, [*items_of(70), *long], GenerationSettings(beam=2, batch=16), Static(scorer))
