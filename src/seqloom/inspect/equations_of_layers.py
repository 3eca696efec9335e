"""Sums, norms, maps, feed-forward layers and convolutions, with their numbers."""

from collections.abc import Callable

from seqloom.inspect.equation import Equation, Known
from seqloom.inspect.written_numbers import number, term, vector


def _add(known: Known) -> Equation:
    carry, scale = float(known.settings["carry"]), float(known.settings["scale"])
    x, y, s = (vector(known.row_of(name)) for name in "xys")
    inside = "x + y" if carry == 1 else "c·x + y"
    symbols = f"s = {inside}" if scale == 1 else f"s = k·({inside})"
    shown = f"{x} + {y}" if carry == 1 else f"{number(carry)}·{x} + {y}"
    shown = shown if scale == 1 else f"{number(scale)}·({shown})"
    return Equation(symbols, f"s{known.t} = {shown}\n   = {s}")


def _concat(known: Known) -> Equation:
    return Equation("s = [x; p]", f"s{known.t} = {vector(known.row_of('s'))}")


def _norm(known: Known) -> Equation:
    kind, gain, bias = known.settings["kind"], known.at("g"), known.at("b")
    x, y, spread = known.row_of("x"), known.row_of("y"), known.row_of("σ")
    mean = known.at("μ")
    centred = "(x − μ)" if mean is not None else "x"
    symbols = f"y = {'g ⊙ ' if gain is not None else ''}{centred} / σ{' + b' if bias is not None else ''}"
    where = {
        "layer": "μ = mean of the row,  σ = √(mean of (x − μ)² + ε)",
        "rms": "σ = √(mean of x² + ε)",
        "batch": "μ, σ of each feature, over all of the training",
    }[str(kind)]
    top = number(float(x[0])) if mean is None else f"({number(float(x[0]))} − {term(float(mean[0]))})"
    first = f"{'' if gain is None else f'{number(float(gain[0]))} · '}{top} / {number(float(spread[0]))}"
    first += "" if bias is None else f" + {term(float(bias[0]))}"
    lines = [] if mean is None else [f"μ = {number(float(mean[0]))}"]
    lines += [f"σ = {number(float(spread[0]))}", f"y{known.t},₁ = {first} = {number(float(y[0]))}"]
    return Equation(f"{symbols}\n{where}", "\n".join([*lines, f"y{known.t} = {vector(y)}"]))


def _map(known: Known) -> Equation:
    return Equation(
        "y = W x + b", f"x{known.t} = {vector(known.row_of('x'))}\ny{known.t} = {vector(known.row_of('y'))}"
    )


def _hidden(known: Known) -> Equation:
    gated = bool(known.settings["gated"])
    symbols = "h = W₁ x + b₁,  u = V x + c" if gated else "h = W₁ x + b₁"
    more = f"\nu{known.t} = {vector(known.row_of('u'))}" if gated else ""
    return Equation(
        symbols, f"x{known.t} = {vector(known.row_of('x'))}\nh{known.t} = {vector(known.row_of('h'))}{more}"
    )


def _activation(known: Known) -> Equation:
    name, h, u = known.settings["activation"], known.at("h"), known.at("u")
    made = vector(known.row_of("a"))
    given = "…" if h is None else vector(h)
    if u is None:
        return Equation(f"a = {name}(h)", f"a{known.t} = {name}({given})\n   = {made}")
    return Equation(f"a = {name}(h) ⊙ u", f"a{known.t} = {name}({given}) ⊙ {vector(u)}\n   = {made}")


def _feed_forward(known: Known) -> Equation:
    name, gated = known.settings["activation"], bool(known.settings["gated"])
    inside = f"{name}(W₁ x + b₁) ⊙ (V x + c)" if gated else f"{name}(W₁ x + b₁)"
    return Equation(
        f"y = W₂ ({inside}) + b₂", f"a{known.t} = {vector(known.row_of('a'))}\ny{known.t} = {vector(known.row_of('y'))}"
    )


def _gates(known: Known) -> Equation:
    gates = known.row_of("g")
    used = gates.nonzero()[:, 0].tolist()
    shown = ",  ".join(f"expert {expert + 1}: {number(float(gates[expert]))}" for expert in used)
    return Equation(
        f"s = x W,  g = softmax of the {known.settings['active']} highest s, else 0",
        f"s{known.t} = {vector(known.row_of('s'))}\n{shown}",
    )


def _experts(known: Known) -> Equation:
    gates = known.row_of("g")
    used = gates.nonzero()[:, 0].tolist()
    each = " + ".join(f"{number(float(gates[expert]))}·f(x) of expert {expert + 1}" for expert in used)
    return Equation("y = Σₑ gₑ · fₑ(x)", f"y{known.t} = {each}\n   = {vector(known.row_of('y'))}")


def _windows(known: Known) -> Equation:
    behind, ahead, apart = (int(known.settings[name]) for name in ("behind", "ahead", "dilation"))
    reach = ", ".join(f"x[t{_signed(step)}]" for step in range(-behind, ahead + 1, apart))
    return Equation(f"wₜ = [{reach}], and 0 beyond the edges", f"w{known.t} = {vector(known.row_of('W'))}")


def _signed(step: int) -> str:
    return "" if not step else f"+{step}" if step > 0 else f"−{-step}"


def _taps(known: Known) -> Equation:
    if not known.settings["gated"]:
        return Equation("a = W w + b", f"a{known.t} = {vector(known.row_of('a'))}")
    return Equation(
        "[a; b] = W w + c", f"a{known.t} = {vector(known.row_of('a'))}\nb{known.t} = {vector(known.row_of('b'))}"
    )


def _convolution(known: Known) -> Equation:
    a, made = known.row_of("a"), vector(known.row_of("Y"))
    if known.settings["gated"]:
        gate = known.row_of("σ(b)")
        first = f"{number(float(a[0]))} · {number(float(gate[0]))}"
        return Equation(
            "Y = a ⊙ σ(b)", f"Y{known.t},₁ = {first} = {number(float(a[0] * gate[0]))}\nY{known.t} = {made}"
        )
    name = known.settings["activation"]
    inside = "W w + b" if name == "identity" else f"{name}(W w + b)"
    return Equation(f"Y = {inside}", f"a{known.t} = {vector(a)}\nY{known.t} = {made}")


def _bottleneck_convolution(known: Known) -> Equation:
    return Equation(
        "Y = W₂ f(norm(conv(f(norm(W₁ f(x) + b₁))))) + b₂",
        f"x{known.t} = {vector(known.row_of('x'))}\nY{known.t} = {vector(known.row_of('Y'))}",
    )


def _mixer(known: Known) -> Equation:
    return Equation("Y = f(x)", f"x{known.t} = {vector(known.row_of('x'))}\nY{known.t} = {vector(known.row_of('Y'))}")


LAYERS: dict[str, Callable[[Known], Equation]] = {
    "add": _add,
    "concat": _concat,
    "norm": _norm,
    "map": _map,
    "hidden": _hidden,
    "activation": _activation,
    "feed-forward": _feed_forward,
    "gates": _gates,
    "experts": _experts,
    "windows": _windows,
    "taps": _taps,
    "convolution": _convolution,
    "bottleneck-convolution": _bottleneck_convolution,
    "mixer": _mixer,
}
