"""Recurrent cells, and attention within them, with their numbers."""

from collections.abc import Callable

from seqloom.inspect.equation import Equation, Known
from seqloom.inspect.written_numbers import number, term, vector

CELLS = {
    "elman": "hₜ = tanh(W xₜ + U hₜ₋₁ + b)",
    "gru": "r = σ(W xₜ + U hₜ₋₁),  z = σ(W′ xₜ + U′ hₜ₋₁)\nn = tanh(W″ xₜ + r ⊙ U″ hₜ₋₁)\nhₜ = (1 − z) ⊙ n + z ⊙ hₜ₋₁",
    "lstm": "i, f, o = σ(W xₜ + U hₜ₋₁ + b),  g = tanh(W′ xₜ + U′ hₜ₋₁ + b′)\ncₜ = f ⊙ cₜ₋₁ + i ⊙ g\nhₜ = o ⊙ tanh(cₜ)",
}


def _cell(known: Known) -> Equation:
    kind, step = str(known.settings["cell"]), -1 if not known.settings.get("backward") else 1
    before = known.row + step
    inside = 0 <= before < len(known.own["h"])
    h = float(known.row_of("h")[0])
    first = {name: float(known.row_of(name)[0]) for name in known.own}
    match kind:
        case "lstm":
            was = float(known.own["c"][before][0]) if inside else 0.0
            carried = f"{term(first['f'])}·{term(was)}" if inside else f"{term(first['f'])}·c₀"
            numbers = (
                f"c{known.t},₁ = {carried} + {term(first['i'])}·{term(first['g'])} = {number(first['c'])}\n"
                f"h{known.t},₁ = {term(first['o'])}·tanh({number(first['c'])}) = {number(h)}"
            )
        case "gru":
            carried = term(float(known.own["h"][before][0])) if inside else "h₀"
            update = first["z"]
            numbers = (
                f"h{known.t},₁ = (1 − {number(update)})·{term(first['n'])} + {number(update)}·{carried} = {number(h)}"
            )
        case _:
            numbers = f"h{known.t},₁ = {number(h)}"
    return Equation(CELLS[kind], f"{numbers}\nh{known.t} = {vector(known.row_of('h'))}")


def _recurrence(known: Known) -> Equation:
    return Equation(CELLS[str(known.settings["cell"])], f"Y{known.t} = {vector(known.row_of('Y'))}")


def _first_state(known: Known) -> Equation:
    if known.settings["initial"] == "layers":
        symbols = "h₀ = where the encoder's same layer ended"
    else:
        symbols = f"h₀ = tanh(W · the source's {known.settings['summary']} + b)"
    lines = [f"{name} = {vector(value[0])}" for name, value in known.own.items()]
    return Equation(symbols, "\n".join(lines))


def _attentive(known: Known) -> Equation:
    if known.settings["form"] == "luong":
        fed = ", and yₜ₋₁ with xₜ" if known.settings["feed"] else ""
        symbols = f"hₜ = cell(xₜ, hₜ₋₁){fed}\ncₜ = Σₛ Aₜₛ Vₛ, asked by hₜ\nyₜ = tanh(W [cₜ; hₜ] + b)"
    else:
        last = "yₜ = hₜ" if known.settings["output"] == "state" else "yₜ = tanh(W [hₜ; cₜ; xₜ] + b)"
        symbols = f"cₜ = Σₛ Aₜₛ Vₛ, asked by hₜ₋₁\nhₜ = cell([xₜ; cₜ], hₜ₋₁)\n{last}"
    return Equation(
        symbols,
        f"c{known.t} = {vector(known.row_of('C'))}\nh{known.t} = {vector(known.row_of('h'))}\n"
        f"y{known.t} = {vector(known.row_of('Y'))}",
    )


RECURRENCE: dict[str, Callable[[Known], Equation]] = {
    "cell": _cell,
    "recurrence": _recurrence,
    "first-state": _first_state,
    "attentive-recurrence": _attentive,
}
