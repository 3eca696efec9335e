"""Writing by heart on a GPU (static states, recorded steps, kernels of ours) says what the plain search says there."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from seqloom.generation.contract import Item, Written
from seqloom.generation.scorer import PairScorer, TextScorer
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings, LengthSettings, MeanLength, WuLength
from seqloom.generation.static_frame import Frame
from seqloom.generation.static_writing import Static
from seqloom.generation.tops import tops
from seqloom.layers.experts import MixtureOfExperts
from seqloom.layers.kernels import has_triton
from seqloom.layers.paths import only_plain
from seqloom.layers.recording import NotRecordedError, Tape
from seqloom.models import DecoderOnly, EncoderDecoder, Sizes, build_model
from seqloom.models.in_half import in_half
from seqloom.models.settings import ModelSettings

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # torch's own, about kernels and precision
]

BEGIN, END, SIZE = 0, 1, 300
ATTENTION: dict[str, Any] = {
    "width": 64,
    "depth": 2,
    "mixer": {"kind": "attention", "heads": 4},
    "norm": {"kind": "layer", "place": "post"},
    "positions": {"kind": "sinusoidal"},
    "tie": "all",
}
KINDS: dict[str, dict[str, Any]] = {
    "attention": ATTENTION,
    "grouped": {
        **ATTENTION,
        "mixer": {"kind": "attention", "heads": 4, "key_heads": 2, "head_width": 24, "relative": {"kind": "rotary"}},
        "norm": {"kind": "rms"},
    },
    "biased": {**ATTENTION, "mixer": {"kind": "attention", "heads": 4, "relative": {"kind": "t5"}}},
    "recurrence": {
        "width": 64,
        "depth": 1,
        "encoder": {"mixer": {"kind": "recurrence", "cell": "lstm", "direction": "both"}},
        "decoder": {"mixer": {"kind": "attentive-recurrence", "cell": "lstm", "depth": 2}},
    },
    "convolution": {
        "width": 64,
        "depth": 2,
        "mixer": {"kind": "convolution", "gated": True},
        "cross": {"kind": "multi-step"},
    },
    "window": {**ATTENTION, "mixer": {"kind": "attention", "heads": 4, "window": 5}},
    "compressed": {
        **ATTENTION,
        "family": "decoder-only",
        "mixer": [
            {"kind": "attention", "heads": 4, "block": 8},
            {"kind": "memory-compressed", "heads": 4, "factor": 3},
        ],
    },
    "experts": {**ATTENTION, "feed_forward": {"kind": "experts", "experts": 4, "active": 2}},
    "text": {**ATTENTION, "family": "decoder-only"},
}


@pytest.fixture(autouse=True)
def _exact() -> None:
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def scorer_of(settings: dict[str, Any], half: bool = False) -> PairScorer | TextScorer:
    torch.manual_seed(3)
    model = build_model(ModelSettings.model_validate(settings), Sizes(SIZE, SIZE)).cuda().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.6)
    model = in_half(model, torch.bfloat16) if half else model  # type: ignore[assignment]
    dtype = torch.bfloat16 if half else None
    if isinstance(model, DecoderOnly):
        return TextScorer(model, BEGIN, END, never=(BEGIN,), half=dtype)
    assert isinstance(model, EncoderDecoder)
    return PairScorer(model, BEGIN, END, never=(BEGIN,), half=dtype)


def items_of(count: int) -> list[Item]:
    draw = random.Random(1)
    return [
        Item([draw.randrange(2, SIZE) for _ in range(draw.randint(1, 40))], number, draw.randint(1, 60))
        for number in range(count)
    ]


def compare(
    scorer: PairScorer | TextScorer, items: Sequence[Item], settings: GenerationSettings, static: Static, near: float
) -> None:
    """near: how far log_probs may lie apart. Where two are as good, either may be found."""
    plain = dict(write(scorer, items, settings))
    found = dict(write(scorer, items, settings, static=static))
    assert set(found) == set(plain)
    pairs = [pair for number in plain for pair in zip(found[number], plain[number], strict=True)]
    same = [pair for pair in pairs if pair[0].tokens == pair[1].tokens]
    assert len(same) >= 0.95 * len(pairs)
    for one, other in same:
        assert one.ended == other.ended
        assert one.score == pytest.approx(other.score, abs=near)
        assert one.log_probs == pytest.approx(other.log_probs, abs=near)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("beam", "n_best", "length"), [(1, 1, WuLength()), (4, 1, WuLength()), (3, 3, MeanLength())])
def test_by_heart_is_the_search(name: str, beam: int, n_best: int, length: LengthSettings) -> None:
    scorer, notes = scorer_of(KINDS[name]), list[str]()
    static = Static(scorer, note=notes.append)
    settings = GenerationSettings(beam=beam, n_best=n_best, length=length, batch=64)
    for _ in range(2):  # recorded, then played
        compare(scorer, items_of(150), settings, static, 2e-3)
    assert static.works
    assert not notes
    (frame,) = static._frames.values()
    assert any(recording._graph is not None for recording in frame._recordings.values())


@pytest.mark.parametrize("name", ["attention", "grouped", "text"])
@pytest.mark.parametrize("beam", [1, 4])
def test_in_half_precision(name: str, beam: int) -> None:
    """Near the plain search in the same precision, though not the same: sums are added in another order."""
    scorer, notes = scorer_of(KINDS[name], half=True), list[str]()
    static, settings = Static(scorer, note=notes.append), GenerationSettings(beam=beam, batch=64)
    items = items_of(150)
    plain, found = dict(write(scorer, items, settings)), dict(write(scorer, items, settings, static=static))
    assert not notes
    apart = [abs(found[n][0].score - plain[n][0].score) / (1 + abs(plain[n][0].score)) for n in plain]
    assert sum(each < 0.05 for each in apart) > 0.9 * len(apart)


def test_without_our_kernels() -> None:
    scorer = scorer_of(KINDS["attention"])
    with only_plain():
        compare(scorer, items_of(70), GenerationSettings(beam=3, batch=64), Static(scorer), 2e-3)


def test_what_cannot_be_recorded_is_told_once_and_written_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experts that the host asks one by one, who has work; nothing later may suffer from it."""
    monkeypatch.setattr(MixtureOfExperts, "_sooner", lambda *given: False)
    experts = {**ATTENTION, "feed_forward": {"kind": "experts", "experts": 4, "active": 2}}
    scorer, notes = scorer_of(experts), list[str]()
    static, settings = Static(scorer, note=notes.append), GenerationSettings(beam=1, batch=64)
    for _ in range(2):
        compare(scorer, items_of(70), settings, static, 2e-3)
    assert len(notes) == 1
    assert not static.works
    other = scorer_of(KINDS["attention"])
    fine = Static(other, note=notes.append)
    compare(other, items_of(70), settings, fine, 2e-3)
    assert fine.works
    assert len(notes) == 1


@pytest.mark.parametrize("beam", [1, 3])
def test_answers_do_not_wait_for_later_steps(beam: int) -> None:
    """Who is done leaves while the device is still at what was asked for."""
    scorer = scorer_of(KINDS["attention"])
    tape, items = Tape(scorer.device), [Item([3, 4, 5], number, 1 if number < 9 else 60) for number in range(20)]
    frame = Frame(scorer, GenerationSettings(beam=beam), tape, scorer.start(items[:1])[0], 32, 64, 16)
    found = dict[int, list[Written]]()
    for cycles in 1, 2_000_000_000:  # the first time kernels are made and memory is taken, which waits
        torch.cuda.synchronize()
        with tape.running():
            assert frame.read(items)
            frame.run()
            frame.run()
            torch.cuda._sleep(cycles)
            found = {item.number: answers for item, answers in frame.done().answers()}
            assert tape.stream is not None
            assert cycles == 1 or not tape.stream.query(), "it was waited for"
            frame.clear()
    plain = dict(write(scorer, items, GenerationSettings(beam=beam)))
    assert set(found) >= set(range(9))
    assert all(answers[0].tokens == plain[number][0].tokens for number, answers in found.items())


def test_a_recording_that_breaks_off_leaves_the_memory_usable() -> None:
    tape, x = Tape(torch.device("cuda")), torch.ones(1000, device="cuda")

    def waits() -> None:
        torch.ones(5, device="cuda").sum().item()

    with tape.running(), pytest.raises(NotRecordedError):
        tape.record(waits)
    assert not tape.records
    other, y = Tape(torch.device("cuda")), torch.zeros(1000, device="cuda")
    with other.running():
        graph = other.record(lambda: y.add_(x * 2).sum())  # type: ignore[arg-type, return-value]
        graph.replay()
        graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [4.0] * 1000
    torch.cuda.empty_cache()
    torch.randn(100, device="cuda")  # chance goes on as well


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tops(count: int, dtype: torch.dtype) -> None:
    assert has_triton()
    torch.manual_seed(0)
    scores_RV = torch.randn(33, 9001, device="cuda").to(dtype)
    scores_RV[1] = scores_RV[1].round()  # many that are equal
    never_V = torch.zeros(9001, dtype=torch.bool, device="cuda")
    never_V[5] = True
    scores_RV[2, 5] = 50.0
    found = tops(scores_RV, never_V, count)
    log_probs_RV = scores_RV.double().log_softmax(-1).masked_fill(never_V, -torch.inf)
    best_RV, place = log_probs_RV.sort(dim=-1, descending=True, stable=True)
    torch.testing.assert_close(found[0].double(), best_RV[:, :count], atol=1e-4, rtol=1e-4)
    assert torch.equal(found[1], place[:, :count])
    scores_RV[3, 7] = torch.nan
    assert tops(scores_RV, never_V, count)[0][3].isnan().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("fan", "heads", "groups", "width"), [(1, 8, 8, 64), (5, 8, 8, 64), (3, 4, 2, 24), (2, 2, 1, 128)]
)
@pytest.mark.parametrize(("window", "apart"), [(0, 0), (20, 0), (0, 24)])
def test_one_step_of_attention(
    dtype: torch.dtype, fan: int, heads: int, groups: int, width: int, window: int, apart: int
) -> None:
    """The kernel, by the equation in float64."""
    from seqloom.layers.kernels.step import Past, attended

    torch.manual_seed(0)
    items, size = 7, 96
    rows = items * fan

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device="cuda").to(dtype)

    q, k, v = drawn(rows, heads, width), drawn(rows, groups, width), drawn(rows, groups, width)
    keys, values = drawn(rows, groups, size, width), drawn(rows, groups, size, width)
    lengths = torch.randint(0, size, (items,), device="cuda").repeat_interleave(fan)
    lengths[:fan], lengths[-fan:] = 0, size - 1
    writer = torch.randint(0, fan, (rows, size), device="cuda")
    whose = torch.arange(rows, device="cuda")[:, None] // fan * fan + writer
    at = torch.arange(size, device="cuda")
    past_k, past_v = keys[whose, :, at].transpose(1, 2).double(), values[whose, :, at].transpose(1, 2).double()
    found = attended(q, Past(keys, values, lengths, fan, writer if fan > 1 else None), 0.3, (k, v), window, apart)
    for row in range(rows):
        n = int(lengths[row])
        low = max(0, n + 1 - window) if window else n // apart * apart if apart else 0
        all_k = torch.cat((past_k[row, :, low:n], k[row, :, None].double()), 1).repeat_interleave(heads // groups, 0)
        all_v = torch.cat((past_v[row, :, low:n], v[row, :, None].double()), 1).repeat_interleave(heads // groups, 0)
        weights = (torch.einsum("hk,hsk->hs", q[row].double(), all_k) * 0.3).softmax(-1)
        wanted = torch.einsum("hs,hsk->hk", weights, all_v)
        near = 2e-5 if dtype == torch.float32 else 2e-2
        torch.testing.assert_close(found[row].double(), wanted, atol=near, rtol=near)
        assert torch.equal(keys[row, :, n], k[row])
        assert torch.equal(values[row, :, n], v[row])


@pytest.mark.parametrize("fan", [1, 4])
def test_groups_that_ancestors_wrote(fan: int) -> None:
    """The kernel without a new step, each row with a length of its own, by the equation."""
    from seqloom.layers.kernels.step import Past, attended

    torch.manual_seed(0)
    rows, heads, size, width = 6 * fan, 4, 40, 32
    q = torch.randn(rows, heads, width, device="cuda")
    keys, values = torch.randn(2, rows, heads, size, width, device="cuda")
    lengths = torch.randint(0, size, (rows,), device="cuda")
    lengths[0] = 0
    writer = torch.randint(0, fan, (rows, size), device="cuda")
    found = attended(q, Past(keys, values, lengths, fan, writer if fan > 1 else None), 0.3, None)
    assert not found[0].any()
    for row in range(1, rows):
        n, at = int(lengths[row]), torch.arange(int(lengths[row]), device="cuda")
        whose = row // fan * fan + writer[row, :n]
        weights = (torch.einsum("hk,shk->hs", q[row], keys[whose, :, at]) * 0.3).softmax(-1)
        wanted = torch.einsum("hs,shk->hk", weights, values[whose, :, at])
        torch.testing.assert_close(found[row], wanted, atol=2e-5, rtol=2e-5)
