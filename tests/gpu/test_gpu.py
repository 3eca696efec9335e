"""The same layers on a GPU: equal to the CPU, also in half precision on the packed kernel, also compiled."""

import copy
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_model, save_model

from seqloom.layers.attention import Attention, SelfAttention
from seqloom.layers.cross_attention import CrossAttention, MemoryAttention, PackedMemory
from seqloom.layers.layout import Packed, Padded
from seqloom.layers.mixer import Memory
from seqloom.layers.paths import only_plain
from seqloom.layers.positions import Rotary
from seqloom.layers.recurrence import Recurrence, RecurrenceMixer
from seqloom.layers.recurrent_cell import Cell, RecurrentCell
from seqloom.models.build import build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.cases import stirred
from tests.laws.model_cases import READINGS, SETTINGS, sizes_of
from tests.laws.subject import drawn

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores"),  # exact products are asked for here
]

LENGTHS = [5, 1, 7, 3]


@pytest.fixture(autouse=True)
def _exact() -> None:
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


@pytest.mark.parametrize("name", [*SETTINGS, *READINGS])
def test_models_say_the_same_as_on_the_cpu(name: str) -> None:
    settings, sizes = ModelSettings.model_validate((SETTINGS | READINGS)[name]), sizes_of(name)
    model, generator = stirred(build_model(settings, sizes).eval()), torch.Generator().manual_seed(0)
    source = drawn(settings.input, sizes.source, sum(LENGTHS), generator)
    target = drawn(settings.decoder_input, sizes.target, sum(LENGTHS), generator)

    def scores(device: str) -> torch.Tensor:
        layout, x, y = Packed.of(LENGTHS, device=device), source.to(device), target.to(device)
        output = model(x, layout, y, layout) if isinstance(model, EncoderDecoder) else model(x, layout)
        return model.scores(output).cpu()

    here = scores("cpu")
    model.cuda()
    torch.testing.assert_close(scores("cuda"), here, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        Attention(heads=4),
        Attention(heads=4, key_heads=2, relative=Rotary()),
        Attention(heads=4, window=3),
        Attention(heads=4, score="multiplicative"),
    ],
    ids=["plain", "grouped-rotary", "window", "multiplicative"],
)
@pytest.mark.parametrize("causal", [False, True])
def test_packed_kernel(settings: Attention, causal: bool, framed: bool) -> None:
    """bfloat16 over the packed row is as near to the equation in float32 as bfloat16 can be, gradients too."""
    mixer = SelfAttention(settings, 64, causal).cuda()
    frame = {"tokens": 24, "rows": 6, "longest": 8} if framed else {}
    layout = Packed.of(LENGTHS, device="cuda", **frame)
    x = torch.randn(24 if framed else sum(LENGTHS), 64, device="cuda")
    real = slice(0, sum(LENGTHS))
    found, wanted = [], []
    for results, half in (found, True), (wanted, False):
        given = x.clone().requires_grad_()
        mixer.zero_grad()
        if half:
            with torch.autocast("cuda", torch.bfloat16):
                y, _ = mixer(given, layout)
        else:
            with only_plain():
                y, _ = mixer(given, layout)
        y[real].float().sin().sum().backward()
        results += [y[real], given.grad[real], *(p.grad for p in mixer.parameters())]
    for a, b in zip(found, wanted, strict=True):
        assert torch.isfinite(a).all()
        assert (a.float() - b).norm() <= 2e-2 * b.norm()


def test_packed_kernel_over_a_memory() -> None:
    mixer = MemoryAttention(CrossAttention(heads=4), 64).cuda()
    memory = Memory(torch.randn(12, 64, device="cuda"), Packed.of([2, 5, 1, 4], device="cuda"))
    x, layout = torch.randn(sum(LENGTHS), 64, device="cuda"), Packed.of(LENGTHS, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        state = mixer.begin(4, memory)
        assert isinstance(state, PackedMemory)
        found, _ = mixer(x, layout, state)
    with only_plain():
        wanted, _ = mixer(x, layout, mixer.start(4, memory))
    assert (found.float() - wanted).norm() <= 2e-2 * wanted.norm()


@pytest.mark.parametrize("lengths", [LENGTHS, [4, 4, 4]], ids=["ragged", "even"])
@pytest.mark.parametrize("width", [64, 7])
@pytest.mark.parametrize("cell", ["elman", "gru", "lstm"])
def test_recurrence_on_the_kernel(cell: Cell, width: int, lengths: list[int]) -> None:
    """Equal to the equation, gradients too; and cuDNN, whose warnings are errors here, finds its weights in order."""
    mixer = RecurrenceMixer(Recurrence(cell=cell), width, causal=True).cuda()
    copied = copy.deepcopy(mixer)
    layout = Packed.of(lengths, device="cuda")
    x = torch.randn(sum(lengths), width, device="cuda")
    results = []
    for module, path in (mixer, nullcontext), (copied.eval(), nullcontext), (mixer, only_plain):
        given = x.clone().requires_grad_()
        module.zero_grad()
        with path():
            y, state = module(given, layout, module.start(len(lengths)))
        y.sin().sum().backward()
        results.append([y, state[0].hidden_BH, given.grad, *(p.grad for p in module.parameters())])
    for result in results[:2]:
        for a, b in zip(result, results[2], strict=True):
            # gradients of weights are sums over all steps: errors add up
            torch.testing.assert_close(a, b, atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("dtype", "autocast"),
    [(torch.float32, False), (torch.bfloat16, False), (torch.float16, False), (torch.bfloat16, True)],
    ids=str,
)
@pytest.mark.parametrize(
    ("cell", "projection", "width"),
    [("elman", None, 7), ("gru", None, 24), ("lstm", None, 30), ("lstm", 20, 32), ("lstm", 6, 7)],
)
def test_cudnn_finds_all_kinds_of_weights_in_order(
    cell: Cell, projection: int | None, width: int, dtype: torch.dtype, autocast: bool
) -> None:
    """It warns where it has to copy them; warnings are errors here. The same numbers, as well as the type allows."""
    made = RecurrentCell(cell, 9, width, projection).cuda()
    layout, x = Packed.of(LENGTHS, device="cuda"), torch.randn(4, 7, 9, device="cuda")
    with only_plain():
        wanted, _, _ = made(x, layout, made.zeros(4, x))
    if autocast:
        with torch.autocast("cuda", dtype):
            found, _, _ = made(x, layout, made.zeros(4, x))
    else:
        made, x = made.to(dtype), x.to(dtype)
        found, _, _ = made(x, layout, made.zeros(4, x))
    near = 1e-4 if dtype == torch.float32 else 5e-2
    torch.testing.assert_close(found[layout.real_BT].float(), wanted[layout.real_BT], atol=near, rtol=near)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_what_is_carried_from_step_to_step_stays_wide(cell: Cell) -> None:
    """Rounded to bfloat16 at each step, hundreds of steps would forget what is small."""
    made = RecurrentCell(cell, 16, 16).cuda()
    x, state = torch.randn(4, 16, device="cuda"), made.zeros(4, torch.zeros(1, device="cuda"))
    with torch.autocast("cuda", torch.bfloat16):
        for _ in range(3):
            state, _ = made.step(x, state)
    assert {part.dtype for part in (state.hidden_BH, state.cell_BH) if part is not None} == {torch.float32}


def test_recurrence_is_saved_and_loaded(tmp_path: Path) -> None:
    mixers = [RecurrenceMixer(Recurrence(), 8, causal=True).cuda() for _ in range(2)]
    x, layout = torch.randn(5, 8, device="cuda"), Packed.of([5], device="cuda")
    before, _ = mixers[0](x, layout)
    save_model(mixers[0], str(tmp_path / "model.safetensors"))
    assert load_model(mixers[1], str(tmp_path / "model.safetensors"), device="cuda") == (set(), [])
    assert torch.equal(mixers[1](x, layout)[0], before)


@torch._dynamo.config.patch(error_on_recompile=True)
@pytest.mark.parametrize(
    "mixer",
    [{"kind": "attention", "heads": 4}, {"kind": "gated-linear"}, {"kind": "convolution"}, {"kind": "recurrence"}],
    ids=lambda mixer: mixer["kind"],
)
def test_compiles_whole_and_once(mixer: dict[str, object]) -> None:
    """A training step's forward and backward in bfloat16, two batches of one frame."""
    torch.compiler.reset()
    settings = {"width": 64, "depth": 2, "mixer": mixer, "cross": {"kind": "attention", "heads": 4}, "tie": "all"}
    model = build_model(ModelSettings.model_validate(settings), Sizes(50, 50)).cuda()

    def loss(x: torch.Tensor, layout: Packed) -> torch.Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            scores = model.scores(model(x, layout, x, layout))
        each = F.cross_entropy(scores.float(), x, reduction="none")
        assert layout.real_N is not None
        return (each * layout.real_N).sum() / layout.real_N.sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=False)
    for lengths in LENGTHS, [8, 8, 2]:
        x = torch.randint(50, (24,), device="cuda")
        layout = Packed.of(lengths, tokens=24, rows=6, longest=8, device="cuda")
        found, wanted = compiled(x, layout), loss(x, layout)
        found.backward()
        assert abs(found - wanted) <= 2e-2 * wanted


def test_static_states_step() -> None:
    """A decoder with a static state, step by step."""
    model = build_model(ModelSettings.model_validate(SETTINGS["llama-like"]), Sizes(11, 11)).cuda().eval()
    tokens = torch.randint(11, (3, 6), device="cuda")
    one = Padded.whole(3, 1, "cuda")
    with torch.no_grad():
        wanted = model.scores(model(tokens, Padded.whole(3, 6, "cuda")))
        state, steps = model.start(3, capacity=6), []
        for t in range(6):
            output = model(tokens[:, t : t + 1], one, state)
            state = output.state
            steps.append(model.scores(output))
    torch.testing.assert_close(torch.cat(steps, 1), wanted, atol=2e-5, rtol=1e-4)
