"""From tokens to vectors, and from vectors to what is said."""

import math
from collections.abc import Callable

from seqloom.inspect.equation import Equation, Known
from seqloom.inspect.equations_of_attention import LARGE
from seqloom.inspect.written_numbers import lowered, number, term, vector


def _tokens(known: Known) -> Equation:
    return Equation("iₜ = number of piece t in the vocabulary", f"i{known.t} = {number(float(known.row_of('i')[0]))}")


def _readings(known: Known) -> Equation:
    name = "i" if "i" in known.own else "x"
    return Equation("xₜ = what was read at step t", f"x{known.t} = {vector(known.row_of(name))}")


def _embedding(known: Known) -> Equation:
    made = vector(known.row_of("E"))
    if "factor" not in known.settings:
        return Equation("Eₜ = W xₜ + b", f"E{known.t} = {made}")
    given = known.trace.values(f"{known.box.id.rpartition('.')[0]}.tokens")[-1].matrix
    factor = float(known.settings["factor"])
    same = len(given) == len(known.own["E"])  # spelled words are of several tokens
    id = number(float(given[known.row][0])) if same else "…"
    times = "" if factor == 1 else "√D · "
    return Equation(
        f"Eₜ = {times}W[iₜ]", f"E{known.t} = {'' if factor == 1 else f'{number(factor)} · '}W[{id}] = {made}"
    )


def _positions(known: Known) -> Equation:
    made = known.row_of("P")
    if known.settings["kind"] != "sinusoidal":
        return Equation("Pₜ = row t of a table that was learnt", f"P{known.t} = {vector(made)}")
    base, at, width = float(known.settings["base"]), known.row, len(made)
    symbols = f"Pₜ,₂ᵢ = sin(t / {number(base)}^(2i/D))\nPₜ,₂ᵢ₊₁ = cos(t / {number(base)}^(2i/D))"
    rates = [base ** (2 * i / width) for i in range(min(2, width // 2))]
    waves = [f"{wave}({at}/{number(rate)})" for rate in rates for wave in ("sin", "cos")]
    return Equation(f"{symbols}\nwith t from 0 on", f"P{known.t} = [{', '.join(waves)}, …] = {vector(made)}")


def _spelling(known: Known) -> Equation:
    return Equation(
        "yₜ = W · max over letters of reader(letters of word t) + b", f"y{known.t} = {vector(known.row_of('y'))}"
    )


def _logits(known: Known) -> Equation:
    bias, factor = bool(known.settings["bias"]), float(known.settings["factor"])
    name = "v" if "v" in known.own else "x"
    symbols = f"zₜ = {'' if factor == 1 else '1/√D · '}W {name}ₜ" + (" + b" if bias else "")
    given, made = known.row_of(name), known.row_of("z")
    best = int(made.argmax())
    return Equation(
        symbols,
        f"{name}{known.t} = {vector(given)}\nz{known.t} = {vector(made)}\n"
        f"the highest: z{known.t},{lowered(best + 1)} = {number(float(made[best]))}",
    )


def _chain(known: Known) -> Equation:
    return Equation(
        "s(y) = b[y₁] + Σₜ zₜ[yₜ] + Σₜ A[yₜ₋₁, yₜ] + e[y_T], of tags y\nsₜ,ᵥ = log Σ exp s(y), over all y with yₜ = v",
        f"s{known.t} = {vector(known.row_of('s'))}",
    )


def _chained(known: Known) -> bool:
    return known.trace.flow.box("head.chain") is not None


def _probabilities(known: Known) -> Equation:
    scored = "head.chain" if _chained(known) else "head"
    scores = known.trace.values(scored)[-1].matrix.float()
    chances, sign = known.row_of("p"), "z" if scored == "head" else "s"
    row = scores[min(known.row, len(scores) - 1)]
    best = int(chances.argmax())
    row = row - row.max() if float(row.max()) > LARGE else row
    total = float(row.double().exp().sum())
    return Equation(
        f"pₜ,ᵥ = exp({sign}ₜ,ᵥ) / Σᵤ exp({sign}ₜ,ᵤ)",
        f"p{known.t} = {vector(chances)}\nthe likeliest: exp({number(float(row[best]))}) / {number(total)} = "
        f"{number(float(chances[best]))}",
    )


def _loss(known: Known) -> Equation:
    loss = float(known.row_of("L")[0])
    chance = math.exp(-loss) if not math.isnan(loss) else math.nan
    symbols = "Lₜ = −log pₜ(what should be there)"
    if _chained(known):
        symbols += "\nof each tag by itself; the loss of the sentence is −log p(all its tags), and not the sum of these"
    return Equation(symbols, f"L{known.t} = −log {number(chance)} = {number(loss)}")


def _pool(known: Known) -> Equation:
    pools = known.settings["pools"]
    symbols = {
        "mean": "v = Σₜ xₜ / T",
        "max": "v = maxₜ xₜ, feature by feature",
        "first": "v = x₁",
        "last": "v = the last xₜ",
        "attention": "v = Σₜ wₜ xₜ with w = softmax(X a / √D)",
    }
    each = [symbols[pool] for pool in pools]
    lines = "\n".join(each) + ("\nside by side" if len(each) > 1 else "")
    weighed = f"w{known.t} = {number(float(known.row_of('w')[0]))}\n" if "w" in known.own else ""
    return Equation(lines, f"{weighed}v = {vector(known.own['v'][0])}")


def _numbers(known: Known) -> Equation:
    made = known.row_of("y")
    return Equation("y = W x + b", f"y{known.t} = {vector(made)}")


def _follows(known: Known) -> Equation:
    return Equation(
        "z = W₂ tanh(W₁ x₁ + b₁) + b₂\np = softmax(z)",
        f"z = {vector(known.own['z'][0])}\np = {vector(known.own['p'][0])}",
    )


def _unfold(known: Known) -> Equation:
    times, more = float(known.settings["times"]), int(known.settings["more"])
    steps = len(known.own["x"])
    return Equation("length = ⌈times · T⌉ + more", f"⌈{term(times)} · T⌉ + {more} = {steps}")


WORDS: dict[str, Callable[[Known], Equation]] = {
    "tokens": _tokens,
    "readings": _readings,
    "embedding": _embedding,
    "spelling": _spelling,
    "positions": _positions,
    "unfold": _unfold,
    "logits": _logits,
    "chain": _chain,
    "probabilities": _probabilities,
    "loss": _loss,
    "pool": _pool,
    "numbers": _numbers,
    "follows": _follows,
}
