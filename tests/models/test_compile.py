"""One model of each family and kind of mixer compiles whole, once for all batches of a frame, and says the same."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.layers.layout import Packed, Padded
from seqloom.models.build import Model, build_model
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import Family, ModelSettings
from seqloom.models.sizes import Sizes

# the compiler's own ones, about itself
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

VOCABULARY = 13
MIXERS = {
    "attention": {"kind": "attention", "heads": 2},
    "convolution": {"kind": "convolution", "gated": True},
    "linear-time": {"kind": "gated-linear", "heads": 2},
}
STEPPED = {
    "memory-compressed": {"kind": "memory-compressed", "heads": 2},
    "rotary-window": {"kind": "attention", "heads": 2, "window": 3, "relative": {"kind": "rotary"}},
}
FAMILIES: list[Family] = ["encoder-only", "decoder-only", "encoder-decoder"]
BATCHES = [[5, 3, 7], [2, 8, 1, 4], [6]]

once = torch._dynamo.config.patch(error_on_recompile=True)


def _model(family: Family, mixer: str) -> Model:
    torch.manual_seed(0)
    cross = {"cross": {"kind": "attention", "heads": 2}} if family == "encoder-decoder" else {}
    settings = ModelSettings.model_validate(
        {
            "family": family,
            "width": 16,
            "depth": 1,
            "mixer": (MIXERS | STEPPED)[mixer],
            "feed_forward": {"kind": "dense", "width": 24},
            "positions": {"kind": "sinusoidal"},
            "output": {"kind": "tokens"},
            "tie": "all",
            **cross,
        }
    )
    return build_model(settings, Sizes(VOCABULARY, VOCABULARY))


def _loss(model: Model, x: Tensor, layout: Packed, goal: Tensor) -> Tensor:
    """Training on one batch: the filler of a frame does not count."""
    output = model(x, layout, x, layout) if isinstance(model, EncoderDecoder) else model(x, layout)
    each = F.cross_entropy(model.scores(output), goal, reduction="none")
    assert layout.real_N is not None
    return (each * layout.real_N).sum() / layout.real_N.sum()


def _batch(lengths: list[int]) -> tuple[Tensor, Packed, Tensor]:
    layout = Packed.of(lengths, tokens=16, rows=4, longest=8)
    return torch.randint(VOCABULARY, (16,)), layout, torch.randint(VOCABULARY, (16,))


def _gradients(model: Model, loss: Callable[..., Tensor], batch: tuple[Tensor, Packed, Tensor]) -> list[Tensor]:
    model.zero_grad()
    value = loss(model, *batch)
    value.backward()
    return [value.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


@pytest.mark.slow
@once
@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_compiles_whole_and_once(family: Family, mixer: str) -> None:
    torch.compiler.reset()
    model = _model(family, mixer)
    compiled = torch.compile(_loss, fullgraph=True, dynamic=False)
    for lengths in BATCHES:
        batch = _batch(lengths)
        eager, fast = _gradients(model, _loss, batch), _gradients(model, compiled, batch)
        for a, b in zip(eager, fast, strict=True):
            assert (a - b).abs().max() <= 5e-5 * max(1.0, a.abs().max().item())


@once
@pytest.mark.parametrize("mixer", [*MIXERS, "memory-compressed", "rotary-window"])
def test_a_static_state_steps_in_one_graph(mixer: str) -> None:
    """Generation with a state of static shape: every step is the same graph, and says what the whole says."""
    torch.compiler.reset()
    model = _model("decoder-only", mixer).eval()
    assert isinstance(model, DecoderOnly)
    step = torch.compile(model, fullgraph=True, dynamic=False, backend="eager")
    tokens = torch.randint(VOCABULARY, (3, 6))
    with torch.no_grad():
        whole = model(tokens, Padded.whole(3, 6)).hidden
        state, parts = model.start(3, capacity=6), []
        for t in range(6):
            output = step(tokens[:, t : t + 1].clone(), Padded.whole(3, 1), state)
            state = output.state
            parts.append(output.hidden)
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-5, rtol=1e-4)


@once
def test_a_batch_outside_its_frame_would_be_compiled_anew() -> None:
    """The test above can fail."""
    torch.compiler.reset()
    model = _model("encoder-only", "attention")
    compiled = torch.compile(_loss, fullgraph=True, dynamic=False, backend="eager")
    compiled(model, *_batch([5, 3]))
    x, goal = torch.randint(VOCABULARY, (20,)), torch.randint(VOCABULARY, (20,))
    with pytest.raises(torch._dynamo.exc.RecompileError):
        compiled(model, x, Packed.of([5, 3], tokens=20, rows=4, longest=8), goal)
