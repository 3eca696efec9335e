"""Every box has an equation, and what stands left of an = is what stands right of it."""

import math
import re

import pytest
import torch

from seqloom.inspect.equations import EQUATIONS, equation
from seqloom.inspect.sentences import SENTENCES
from seqloom.inspect.trace import Example, Trace, trace
from seqloom.inspect.written_numbers import number, sum_of_products, vector
from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws import model_cases


def _trace(settings: ModelSettings, sizes: Sizes, example: Example) -> Trace:
    torch.manual_seed(0)
    model = build_model(settings, sizes).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return trace(model, example)


def _small() -> Trace:
    """As in the lecture: three tokens, width 6, a vocabulary of 11."""
    settings = ModelSettings(width=6, depth=1, mixer={"kind": "attention", "heads": 2}, norm={"kind": "layer"})  # type: ignore[arg-type]
    example = Example(torch.tensor([5, 6, 2]), torch.tensor([1, 7]), torch.tensor([7, 2]))
    return _trace(settings, Sizes(11, 11), example)


def _value(text: str) -> float:
    """What a written expression comes to."""
    plain = text.replace("\N{MINUS SIGN}", "-").replace("·10⁻⁴", "e-4").replace("·", "*").replace("∞", "inf")
    names = {"exp": math.exp, "log": math.log, "tanh": math.tanh, "inf": math.inf}
    return float(eval(re.sub(r"log ([\d.e-]+)", r"log(\1)", plain), {"__builtins__": {}}, names))


def _sides(line: str) -> tuple[float, float]:
    _, middle, right = line.split(" = ")
    return _value(middle), _value(right)


@pytest.mark.parametrize(
    ("box", "sign"),
    [
        ("encoder.blocks.0.mixer.q", "Q₂,₁"),
        ("encoder.blocks.0.mixer.v", "V₂,₁"),
        ("encoder.blocks.0.mixer.scores", "S₂,₁"),
        ("decoder.blocks.0.cross.scores", "S₂,₁"),
        ("encoder.blocks.0.around_mixer.norm_in", "y₂,₁"),
        ("head.loss", "L₂"),
    ],
)
@pytest.mark.parametrize("head", [0, 1])
def test_the_numbers_come_to_what_is_shown(box: str, sign: str, head: int) -> None:
    found = _small()
    heads = 0 if "norm" in box or "loss" in box else head
    (line,) = (line for line in equation(found, box, 1, heads).numbers.split("\n") if line.startswith(f"{sign} "))
    left, right = _sides(line)
    assert left == pytest.approx(right, rel=0.05, abs=0.03)
    made = found.values(box)[-1].matrix
    assert right == pytest.approx(float(made[heads, 1, 0] if made.dim() == 3 else made[1, 0]), rel=0.01, abs=0.006)


def test_softmax_and_heads_of_one_row() -> None:
    found = _small()
    first, second = equation(found, "decoder.blocks.0.mixer.weights", 1, 1).numbers.split("\n")
    powers, total = first.removeprefix("A₂ = ").split(" / ")
    each = [_value(power) for power in powers.strip("[]").split(", ")]
    weights = found.parts("decoder.blocks.0.mixer").weights_BHTS[0, 1, 1].tolist()
    assert [power / _value(total) for power in each] == pytest.approx(weights, abs=0.02)
    assert second.strip() == f"= {vector(torch.tensor(weights))}"
    hidden = equation(found, "decoder.blocks.0.mixer.mask", 0).numbers
    assert hidden.endswith(f", {chr(0x2212)}∞]")


@pytest.mark.parametrize("name", {**model_cases.SETTINGS, **model_cases.READINGS})
def test_every_box_of_every_model_has_one(name: str) -> None:
    from tests.inspect.test_trace import _example

    settings = ModelSettings.model_validate({**model_cases.SETTINGS, **model_cases.READINGS}[name])
    found = _trace(settings, model_cases.sizes_of(name), _example(settings, model_cases.sizes_of(name)))
    for box in found.flow.boxes:
        made = equation(found, box.id)
        assert made.symbols, box.id
        assert made.numbers or not found.values(box.id), box.id
        assert "nan" not in made.numbers


def test_all_kinds_have_a_sentence_and_an_equation() -> None:
    assert set(EQUATIONS) == set(SENTENCES)


def test_a_row_that_is_not_there() -> None:
    found = _small()
    with pytest.raises(IndexError, match=r"encoder\.blocks\.0\.mixer has 3 rows, 0 to 2, and no row 3"):
        equation(found, "encoder.blocks.0.mixer", 3)
    with pytest.raises(IndexError, match="has 2 heads, 0 to 1, and no head 2"):
        equation(found, "encoder.blocks.0.mixer", 0, 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (-0.5, "−0.5"),
        (0.12345, "0.123"),
        (12.3456, "12.35"),
        (12345.6, "1.23·10⁴"),
        (-0.00001234, "−1.23·10⁻⁵"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_long_vectors_and_sums_end_in_dots() -> None:
    assert vector(torch.arange(8.0)) == "[0, 1, 2, 3, 4, 5, …]"
    assert sum_of_products(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 0.25])) == "1·0.5 + (−2)·0.25"
