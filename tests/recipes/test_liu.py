"""Liu et al. 2018: a decoder that reads its source as a prompt; local and compressed attention; experts."""

import pytest
import torch
from torch import Tensor

from seqloom.jobs.learning.answers import answers
from seqloom.layers.experts import MixtureOfExperts
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.models import DecoderOnly, Sizes, build_model
from seqloom.models.block import Block
from seqloom.tasks import Goals, Translate, build_task
from seqloom.text import TextSettings
from tests.recipes.liu import backwards, trained
from tests.recipes.shrunk import obeys_the_laws, parameters, recipe
from tests.tasks.small import encoded, task_of

NAMES = ["transformer-decoder", "transformer-dmca", "transformer-dmca-moe"]
CPU = torch.device("cpu")
TINY = ["model.width=32", "model.dropout=0"]
EXPERTS = ["model.feed_forward.2.experts=4", "model.feed_forward.2.width=32"]
BLOCKS = [f"model.mixer.{layer}.block=4" for layer in (0, 2, 4)]
CHANGES = {
    "transformer-decoder": ["model.depth=2"],
    "transformer-dmca": BLOCKS,
    "transformer-dmca-moe": [*BLOCKS, *EXPERTS],
}


@pytest.mark.parametrize(
    ("name", "count"),
    [("transformer-decoder", 35_298_304), ("transformer-dmca", 35_293_696), ("transformer-dmca-moe", 302_088_192)],
)
def test_parameters(name: str, count: int) -> None:
    """The paper gives none: ours, so that no change goes unseen."""
    assert recipe(name).target.parameters is None
    assert "no number of parameters" in recipe(name).target.counted
    assert parameters(name) == count


@pytest.mark.parametrize("name", NAMES)
def test_few_pairs_are_learnt_by_heart(name: str) -> None:
    made = recipe(f"{name}-small", *TINY, *CHANGES[name])
    sources, targets = backwards()
    words = TextSettings.model_validate({"source": {"kind": "words"}, "shared": True})
    assert isinstance(made.task, Translate)
    codecs = task_of(Translate(), "pairs", words, sources, targets).codecs
    task = build_task(made.task, codecs, made.model.family)
    examples = encoded(task, sources, targets)
    torch.manual_seed(1)
    model = trained(task, build_model(made.model, task.sizes()), [task.batch(examples)], 120, 0.008, Goals())
    assert answers(task, model, examples) == targets  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_laws(name: str) -> None:
    obeys_the_laws(recipe(f"{name}-small", *TINY, *CHANGES[name]))


def _seen(model: DecoderOnly, length: int) -> list[Tensor]:
    """Of each layer: which steps or groups each step looks at."""
    found: list[Tensor] = []

    def keep(mixer: torch.nn.Module, args: tuple[Tensor, Packed, None]) -> None:
        found.append(mixer.weights(*args)[0, 0])  # type: ignore[operator]

    blocks = [block for block in model.decoder.blocks if isinstance(block, Block)]
    hooks = [block.mixer.register_forward_pre_hook(keep) for block in blocks]
    with torch.no_grad():
        model(torch.arange(length) % 11, Packed.of([length]))
    for hook in hooks:
        hook.remove()
    return found


def test_layers_are_local_and_compressed_by_turns() -> None:
    """L M L M L: a local layer sees its block only; a compressed one a third of the steps, all of them complete."""
    made = recipe("transformer-dmca-small", *TINY, *BLOCKS)
    model = build_model(made.model, Sizes(11, 11)).eval()
    assert isinstance(model, DecoderOnly)
    local, compressed, *rest = _seen(model, 21)
    assert [weights.shape[1] for weights in (local, compressed, *rest)] == [21, 7, 21, 7, 21]
    t, s = torch.arange(21)[:, None], torch.arange(21)
    assert torch.equal(local > 0, (s <= t) & (s // 4 == t // 4))
    assert torch.equal(compressed > 0, 3 * torch.arange(7) + 2 <= t)
    published = recipe("transformer-dmca").model.side("decoder").mixers()
    assert [mixer.kind for mixer in published] == ["attention", "memory-compressed"] * 2 + ["attention"]
    assert [getattr(mixer, "block", None) or getattr(mixer, "factor", None) for mixer in published] == [
        256,
        3,
        256,
        3,
        256,
    ]


def test_compressed_layers_keep_a_third() -> None:
    made = recipe("transformer-dmca-small", *TINY, *BLOCKS)
    model = build_model(made.model, Sizes(11, 11)).eval()
    assert isinstance(model, DecoderOnly)
    with torch.no_grad():
        after = model(torch.zeros(1, 30, dtype=torch.int64), Padded.whole(1, 30), model.start(1)).state
    assert after is not None
    kept = [
        block.mixer.cache.lengths_B.item() if isinstance(mixer, MemoryCompressedAttention) else 30
        for block, mixer in zip(after.layers, (block.mixer for block in model.decoder.blocks), strict=True)
    ]
    assert kept == [30, 10, 30, 10, 30]


def _unevenness(weight: float) -> float:
    """Of the experts' loads behind some training, whose gates begin far from even."""
    balance = [f"model.feed_forward.2.{loss}={weight}" for loss in ("importance", "load")]
    made = recipe("transformer-dmca-moe-small", *TINY, *BLOCKS, *EXPERTS, *balance)
    sources, targets = backwards(48)
    words = TextSettings.model_validate({"source": {"kind": "words"}, "shared": True})
    task = build_task(Translate(), task_of(Translate(), "pairs", words, sources, targets).codecs, "decoder-only")
    torch.manual_seed(1)
    model = build_model(made.model, task.sizes())
    (mixture,) = (part for part in model.modules() if isinstance(part, MixtureOfExperts))
    with torch.no_grad():
        mixture.gate_DE[:, 0] = torch.randn(32) * 0.5  # half of all tokens like the first expert best
    batch = task.batch(encoded(task, sources, targets))
    trained(task, model, [batch], 60, 0.006, Goals())
    assert batch.target is not None
    assert isinstance(model, DecoderOnly)
    report = model(batch.target.tokens_N, batch.target.layout).report
    assert report is not None
    loads = report.loads[0].double()
    return float(loads.std(correction=0) / loads.mean())


def test_the_losses_balance_the_experts() -> None:
    """They have far more even loads with the losses than without."""
    uneven, even = _unevenness(0.0), _unevenness(0.1)
    assert even < 0.5 * uneven
    assert uneven > 0.3
