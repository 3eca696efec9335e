"""How a part is compared with somebody else's: the same weights, the same rows, equal outputs and equal gradients.

Their weights are told under our names by one function a reference. It only stacks, cuts and transposes, so that it
also tells their gradients under our names.
"""
# B rows  T steps

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seqloom.layers.layout import Layout
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from tests.laws.subject import Form

TOLERANCE = 1e-5  # the largest difference of any two numbers, in float32

LENGTHS = (5, 1, 9, 3)
SOURCE_LENGTHS = (2, 7, 4, 1)
FORMS = [Form("packed"), Form("framed", 3), Form("right", 2), Form("left", 2), Form("both", 1)]

Named = dict[str, Tensor]
Renamed = Callable[[Named], Named]
Step = Callable[[Tensor, Layout, Any], tuple[Tensor, Any]]


def agree(ours: Sequence[Tensor], theirs: Sequence[Tensor], what: str) -> None:
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        assert our.shape == their.shape, f"{what} {number}: {tuple(our.shape)}, not {tuple(their.shape)}"
        worst = (our - their).abs().max().item() if our.numel() else 0.0
        assert worst <= TOLERANCE, f"{what} {number}: off by {worst:.2e}"


def vectors(lengths: Sequence[int], width: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, width, generator=generator).requires_grad_() for n in lengths]


def tokens(lengths: Sequence[int], size: int, seed: int = 0) -> list[Tensor]:
    """Rows of tokens from 2 on: 0 is the references' padding and 1 is ours, so that no row holds either."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(2, size, (n,), generator=generator) for n in lengths]


@dataclass(frozen=True)
class Batch:
    """Rows as a reference takes them."""

    x_BT: Tensor
    real_BT: Tensor

    @classmethod
    def of(cls, rows: Sequence[Tensor], left: bool = False) -> "Batch":
        """Filled up with zeros, behind the rows or before them."""
        side = "left" if left else "right"
        x_BT = nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_side=side)
        real = [torch.ones(len(row), dtype=torch.bool) for row in rows]
        return cls(x_BT, nn.utils.rnn.pad_sequence(real, batch_first=True, padding_side=side))

    @property
    def places_BT(self) -> Tensor:
        """Each token's index in its own row, for references that count padding unless they are told."""
        return (self.real_BT.cumsum(1) - 1).clamp(min=0)

    def split(self, y_BT: Tensor) -> list[Tensor]:
        return [y[real] for y, real in zip(y_BT, self.real_BT, strict=True)]


@dataclass(frozen=True)
class Pair:
    """A reference with random weights, and our part with the same ones."""

    theirs: nn.Module
    ours: nn.Module
    renamed: Renamed

    @classmethod
    def of(
        cls, theirs: nn.Module, ours: nn.Module, renamed: Renamed, constant: Sequence[str] = (), own: Sequence[str] = ()
    ) -> "Pair":
        """constant: tensors of theirs that are not learned. own: tensors of ours that they do not have."""
        learned = {name: t for name, t in theirs.state_dict(keep_vars=True).items() if name not in constant}
        _stir(learned)
        noted = _Noted(learned)
        loaded = ours.load_state_dict({name: t.detach() for name, t in renamed(noted).items()}, strict=False)
        assert not loaded.unexpected_keys, f"we have no {loaded.unexpected_keys}"
        assert set(loaded.missing_keys) == set(own), f"they have no {set(loaded.missing_keys) - set(own)}"
        read = {id(learned[name]) for name in noted.read}
        unread = [name for name, t in learned.items() if id(t) not in read]
        assert not unread, f"of theirs nobody reads {unread}"
        return cls(theirs.eval(), ours.eval(), renamed)

    def agree(
        self,
        ours: Sequence[Tensor],
        theirs: Sequence[Tensor],
        our_inputs: Sequence[Tensor] = (),
        their_inputs: Sequence[Tensor] = (),
    ) -> None:
        """Equal outputs, row by row; and equal gradients of a random mixture of them, for weights and inputs."""
        agree(ours, theirs, "output of row")
        our_grads, our_input_grads = _gradients(ours, self.ours, our_inputs)
        their_grads, their_input_grads = _gradients(theirs, self.theirs, their_inputs)
        for name, grad in self.renamed(their_grads).items():
            agree([our_grads[name]], [grad], f"gradient of {name}")
        agree(our_input_grads, their_input_grads, "gradient of input")


class _Noted(Named):
    """Remembers what was read of it, to find weights that a renaming forgot."""

    def __init__(self, named: Named) -> None:
        super().__init__(named)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        self.read.add(name)
        return super().__getitem__(name)


@torch.no_grad()
def _stir(named: Named) -> None:
    """Random weights everywhere: a bias of zero or a gain of one could hide a fault."""
    generator = torch.Generator().manual_seed(11)
    for tensor in {id(tensor): tensor for tensor in named.values()}.values():
        noise = torch.randn(tensor.shape, generator=generator)
        if tensor.dim() == 1:
            tensor.add_(noise * 0.2)
        else:
            tensor.copy_(noise * tensor.shape[-1] ** -0.5)


def _gradients(ys: Sequence[Tensor], module: nn.Module, inputs: Sequence[Tensor]) -> tuple[Named, list[Tensor]]:
    generator = torch.Generator().manual_seed(7)
    mixed = [(y * torch.randn(y.shape, generator=generator)).sum() for y in ys]
    mean = torch.stack(mixed).sum() / (sum(len(y) for y in ys) * ys[0].shape[-1] ** 0.5)
    named = {name: t for name, t in module.state_dict(keep_vars=True).items() if t.requires_grad}
    grads = torch.autograd.grad(mean, [*named.values(), *inputs], retain_graph=True, allow_unused=True)
    filled = [torch.zeros_like(t) if g is None else g for t, g in zip((*named.values(), *inputs), grads, strict=True)]
    return dict(zip(named, filled, strict=False)), filled[len(named) :]


def whole(run: Step, rows: Sequence[Tensor], form: Form, state: Any = None) -> list[Tensor]:
    """Our outputs for whole rows, laid out in this form."""
    lengths = [len(row) for row in rows]
    layout = form.layout(lengths)
    y, _ = run(form.join(rows, layout), layout, state)
    return form.split(y, layout, lengths)


def stepwise(run: Step, rows: Sequence[Tensor], form: Form, state: Any) -> list[Tensor]:
    """Our outputs when each row's first half is read at once, and the rest step by step."""
    begun = [len(row) // 2 for row in rows]
    left = max(len(row) - n for row, n in zip(rows, begun, strict=True))
    ends = [[n + t for n in begun] for t in range(left + 1)]
    collected: list[list[Tensor]] = [[] for _ in rows]
    for before, after in zip([[0] * len(rows), *ends], ends, strict=False):
        parts = [row[a:b] for row, a, b in zip(rows, before, after, strict=True)]
        lengths = [len(part) for part in parts]
        layout = form.layout(lengths)
        y, state = run(form.join(parts, layout), layout, state)
        for row, part in zip(collected, form.split(y, layout, lengths), strict=True):
            row.append(part)
    return [torch.cat(row) for row in collected]


def stacked(theirs: Named, to: str, *names: str) -> Named:
    """Linear maps of theirs, one upon the other, as one of ours."""
    kinds = [kind for kind in ("weight", "bias") if f"{names[0]}.{kind}" in theirs]
    return {f"{to}.{kind}": torch.cat([theirs[f"{name}.{kind}"] for name in names]) for kind in kinds}


def norm(theirs: Named, to: str, name: str) -> Named:
    kinds = {"gain_D": f"{name}.weight", "bias_D": f"{name}.bias"}
    return {f"{to}.{ours}": theirs[kind] for ours, kind in kinds.items() if kind in theirs}


def decoder(model: DecoderOnly) -> Step:
    """Scores of a language model, for whole rows (state None) or some steps."""

    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Any]:
        output = model(x, layout, state)
        return model.scores(output), output.state

    return run


def pairs(model: EncoderDecoder, sources: Sequence[Tensor], rows: Sequence[Tensor], form: Form) -> list[Tensor]:
    """Scores of whole pairs, both sides laid out in this form."""
    source_layout = form.layout([len(source) for source in sources])
    memory = form.join(sources, source_layout)

    def run(x: Tensor, layout: Layout, _: Any) -> tuple[Tensor, Any]:
        return model.scores(model(memory, source_layout, x, layout)), None

    return whole(run, rows, form)


def pairs_stepwise(
    model: EncoderDecoder, sources: Sequence[Tensor], rows: Sequence[Tensor], form: Form, capacity: int | None
) -> list[Tensor]:
    """The same, with the target step by step."""
    source_layout = form.layout([len(source) for source in sources])
    memory = model.encode(form.join(sources, source_layout), source_layout)

    def run(x: Tensor, layout: Layout, state: Any) -> tuple[Tensor, Any]:
        output = model.step(x, layout, state)
        return model.scores(output), output.state

    return stepwise(run, rows, form, model.start(memory, capacity))
