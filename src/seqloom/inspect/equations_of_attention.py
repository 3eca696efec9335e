"""Attention, step by step, with its numbers."""

from collections.abc import Callable

import torch
from torch import Tensor

from seqloom.inspect.equation import Equation, Known
from seqloom.inspect.written_numbers import SHOWN, number, sum_of_products, term, vector
from seqloom.layers.heads import HeadProjections

LARGE = 50.0
"""Of a score."""


def _projection(name: str) -> Callable[[Known], Equation]:
    def made(known: Known) -> Equation:
        row = known.row_of(name)
        if not known.settings["project"]:
            return Equation(f"{name}ₜ = xₜ, its part of the head", f"{name}{known.t} = {vector(row)}")
        turned = "Rₜ " if known.settings["turned"] else ""
        symbols = f"{name}ₜ = {turned}W{name} xₜ{' + b' if known.settings['bias'] else ''}"
        numbers = f"{name}{known.t} = {vector(row)}"
        weighed = _first(known, name)
        if weighed is not None and not turned:
            x, weight, bias = weighed
            first = float(x @ weight) + (bias or 0.0)
            added = "" if bias is None else f" + {term(bias)}"
            if abs(first - float(row[0])) < 1e-4 * max(1.0, abs(first)):  # nothing else is done to it
                numbers = (
                    f"x{known.t} = {vector(x)}\n{name}{known.t},₁ = {sum_of_products(x, weight)}{added} = "
                    f"{number(first)}\n{numbers}"
                )
        return Equation(symbols, numbers)

    return made


def _first(known: Known, name: str) -> tuple[Tensor, Tensor, float | None] | None:
    """What is read, and the weights of the first number of a head: of layers that project what they read."""
    layer = known.box.id.rpartition(".")[0]
    heads = getattr(known.trace.seen.modules[layer], "heads", None)
    if not isinstance(heads, HeadProjections) or (heads.crosses and name != "Q"):
        return None
    read = known.trace.seen.read(layer)
    if known.row >= len(read):
        return None
    maps = heads.q if heads.crosses else heads.qkv
    group = known.head if name == "Q" else known.head * heads.G // heads.H
    place = {"Q": 0, "K": heads.H, "V": heads.H + heads.G}[name] * heads.K + group * heads.K
    bias = float(maps.bias[place].detach()) if known.settings["bias"] else None
    return read[known.row].float(), maps.weight[place].detach().float(), bias


def _distances(known: Known) -> Equation:
    return Equation("Bₜₛ = what the distance s − t adds", f"B{known.t} = {vector(known.row_of('B'))}")


def _scores(known: Known) -> Equation:
    row, scale = known.row_of("S"), known.settings["scale"]
    biased = " + Bₜₛ" if known.settings["biased"] else ""
    q, keys = known.at("Q"), known.matrix("K")
    if scale is None:
        inside = "vᵀ tanh(Qₜ + Kₛ)" if known.settings["score"] == "Additive" else "LeakyReLU(ΣQₜ + ΣKₛ)"
        return Equation(f"Sₜₛ = {inside}{biased}", f"S{known.t} = {vector(row)}")
    divided = "" if scale == 1 else " / √K"
    numbers = f"S{known.t} = {vector(row)}"
    if q is not None and keys is not None and len(keys):
        by = "" if scale == 1 else f" / {number(1 / float(scale))}"
        bias = known.at("B")
        more = "" if bias is None else f" + {term(float(bias[0]))}"
        product = f"({sum_of_products(q, keys[0])})" if by else sum_of_products(q, keys[0])
        numbers = f"S{known.t},₁ = {product}{by}{more} = {number(float(row[0]))}\n{numbers}"
    return Equation(f"Sₜₛ = Qₜ · Kₛ{divided}{biased}", numbers)


def _mask(known: Known) -> Equation:
    row = known.row_of("M")
    return Equation("Mₜₛ = Sₜₛ where place t may see place s, else −∞", f"M{known.t} = {vector(row)}")


def _softmax(known: Known) -> Equation:
    weights, scores = known.row_of("A"), known.at("M")
    name = "M" if scores is not None else "S"
    scores = known.at("S") if scores is None else scores
    symbols = f"Aₜₛ = exp({name}ₜₛ) / Σᵣ exp({name}ₜᵣ)"
    numbers = f"A{known.t} = {vector(weights)}"
    if scores is not None and not bool(torch.isinf(scores).all()):
        # a large score has no power that can be written: all are lowered alike, which changes nothing
        scores = scores - scores.max() if float(scores.max()) > LARGE else scores
        total = float(scores.double().exp().sum())
        each = ", ".join(f"exp({number(one)})" for one in scores[:SHOWN].tolist())
        more = ", …" if len(scores) > SHOWN else ""
        numbers = f"A{known.t} = [{each}{more}] / {number(total)}\n   = {vector(weights)}"
    return Equation(symbols, numbers)


def _heads(known: Known) -> Equation:
    found, weights, values = known.row_of("Z"), known.at("A"), known.matrix("V")
    numbers = f"Z{known.t} = {vector(found)}"
    if weights is not None and values is not None and len(values) == len(weights):
        best = weights.topk(min(3, len(weights))).indices.tolist()
        each = " + ".join(f"{number(float(weights[place]))}·{vector(values[place])}" for place in best)
        more = " + …" if len(weights) > len(best) else ""
        numbers = f"Z{known.t} = {each}{more}\n   = {vector(found)}"
    return Equation(f"Zₜ = Σₛ Aₜₛ Vₛ, in head {known.head + 1}\nC = the heads side by side", numbers)


def _output(known: Known) -> Equation:
    joined, made = known.at("C"), known.row_of("Y")
    numbers = "" if joined is None else f"C{known.t} = {vector(joined)}\n"
    bias = known.settings["bias"] if known.settings.get("output_bias") is None else known.settings["output_bias"]
    last = f"Yₜ = W Cₜ{' + b' if bias else ''}" if known.settings["output"] else "Y = C"
    inside = "Q Kᵀ / √K" if known.settings["score"] == "scaled-dot" else "S"
    symbols = f"C = softmax({inside}) V of all {known.settings['heads']} heads side by side\n{last}"
    return Equation(symbols, f"{numbers}Y{known.t} = {vector(made)}")


def _faded(known: Known) -> Equation:
    kept = known.row_of("a")
    return Equation(
        "Qₜ, Kₜ, Vₜ = W xₜ,  aₜ = σ(w · xₜ + b)^(1/16)",
        f"a{known.t} = {number(float(kept[min(known.head, len(kept) - 1)]))} in head {known.head + 1}\n"
        f"Q{known.t} = {vector(known.row_of('Q'))}",
    )


def _fading(known: Known) -> Equation:
    symbols = "Rₜₛ = Qₜ · Kₛ · aₛ₊₁ ⋯ aₜ  for s ≤ t, else 0"
    if known.settings["backward"]:
        symbols = "Rₜₛ = Qₜ · Kₛ · aₜ ⋯ aₛ₋₁  for s ≥ t, else 0"
    return Equation(symbols, f"R{known.t} = {vector(known.row_of('R'))}")


def _gated_heads(known: Known) -> Equation:
    return Equation(
        "Zₜ = norm(Σₛ Rₜₛ Vₛ) ⊙ silu(Gₜ)",
        f"G{known.t} = {vector(known.row_of('G'))}\nZ{known.t} = {vector(known.row_of('Z'))}",
    )


def _gated_linear(known: Known) -> Equation:
    return Equation(
        "Sₜ = aₜ Sₜ₋₁ + Kₜ Vₜᵀ,  Zₜ = norm(Sₜᵀ Qₜ) ⊙ silu(Gₜ),  Yₜ = W Cₜ",
        f"C{known.t} = {vector(known.row_of('C'))}\nY{known.t} = {vector(known.row_of('Y'))}",
    )


def _bottleneck(known: Known) -> Equation:
    what = {"last": "the last state", "first": "the first state", "ends": "half of each end", "mean": "the mean"}
    symbols = f"Yₜ = W · ({what[str(known.settings['summary'])]} of the source) + b, for all t"
    return Equation(symbols, f"Y{known.t} = {vector(known.row_of('Y'))}")


def _aligned(known: Known) -> Equation:
    return Equation("Yₜ = mₜ, and 0 behind the source's end", f"Y{known.t} = {vector(known.row_of('Y'))}")


ATTENTION: dict[str, Callable[[Known], Equation]] = {
    "queries": _projection("Q"),
    "keys": _projection("K"),
    "values": _projection("V"),
    "distances": _distances,
    "scores": _scores,
    "mask": _mask,
    "softmax": _softmax,
    "heads": _heads,
    "attention": _output,
    "cross-attention": _output,
    "faded": _faded,
    "fading": _fading,
    "gated-heads": _gated_heads,
    "gated-linear": _gated_linear,
    "bottleneck": _bottleneck,
    "aligned": _aligned,
}
