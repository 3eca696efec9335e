"""The walk through the built-in model: each step's numbers are those of a forward pass that is written out here."""
# T target places  S source places  D width  H heads  K head width

import json
import math
import re

import pytest
import torch
from playwright.sync_api import Page, expect
from torch import Tensor

from seqloom.jobs.lecture import WEIGHTS, lecture
from seqloom.text import BEGIN, END
from tests.studio.browser import Studio, accessible, drawn, fits, matrix, number

SOURCE, TARGET = "black cat sleeps", "chat noir dort"
H = 2


def positions(count: int, width: int) -> Tensor:
    return torch.tensor(
        [[(math.sin, math.cos)[c % 2](t / 10000 ** ((c - c % 2) / width)) for c in range(width)] for t in range(count)]
    )


class ByHand:
    """Vaswani et al. 2017, in the words of the paper."""

    def __init__(self) -> None:
        self.weights = {name: torch.tensor(rows) for name, rows in json.loads(WEIGHTS.read_text("utf-8")).items()}
        task = lecture().task
        source, target = task.codecs.source, task.codecs.target
        assert source is not None
        assert target is not None
        self.read = [*source.encode([SOURCE])[0], END]
        self.goal = [*target.encode([TARGET])[0], END]
        self.made: dict[str, Tensor] = {}
        self._encode()
        self._decode([BEGIN, *self.goal[:-1]])

    def _encode(self) -> None:
        w, made = self.weights, self.made
        E = w["source.embedding.weight_VD"][self.read]
        made["words"], made["embedding"] = torch.tensor(self.read)[:, None].float(), E
        made["positions"] = positions(len(self.read), E.shape[1])
        x = made["input"] = E + made["positions"]
        qkv = x @ w["encoder.blocks.0.mixer.heads.qkv.weight"].T
        q, k, v = (self._heads(part) for part in qkv.chunk(3, -1))
        made["queries"] = q
        made["scores"] = made["scaling"] = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        made["softmax"] = made["scores"].softmax(-1)
        made["sum"] = made["softmax"] @ v
        made["heads"] = made["sum"].transpose(0, 1).flatten(1) @ w["encoder.blocks.0.mixer.heads.out.weight"].T
        made["add"] = x + made["heads"]
        x = made["norm"] = self._norm("encoder.blocks.0.around_mixer", made["add"])
        self.memory = made["memory"] = self._feed_forward("encoder", x)

    def _decode(self, read: list[int]) -> None:
        w, made = self.weights, self.made
        x = made["target"] = w["target.embedding.weight_VD"][read] + positions(len(read), self.memory.shape[1])
        qkv = x @ w["decoder.blocks.0.mixer.heads.qkv.weight"].T
        q, k, v = (self._heads(part) for part in qkv.chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        made["mask"] = scores.masked_fill(torch.ones(len(read), len(read)).triu(1).bool(), -math.inf)
        made["masked"] = made["mask"].softmax(-1)
        mixed = (made["masked"] @ v).transpose(0, 1).flatten(1) @ w["decoder.blocks.0.mixer.heads.out.weight"].T
        x = self._norm("decoder.blocks.0.around_mixer", x + mixed)
        q = self._heads(x @ w["decoder.blocks.0.cross.heads.q.weight"].T)
        k, v = (
            self._heads(part) for part in (self.memory @ w["decoder.blocks.0.cross.heads.kv.weight"].T).chunk(2, -1)
        )
        made["cross"] = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        made["read"] = made["cross"] @ v
        mixed = made["read"].transpose(0, 1).flatten(1) @ w["decoder.blocks.0.cross.heads.out.weight"].T
        x = self._norm("decoder.blocks.0.around_cross", x + mixed)
        made["last"] = self._feed_forward("decoder", x)
        made["logits"] = made["last"] @ w["head.weight_VD"].T
        made["chances"] = made["logits"].softmax(-1)
        made["loss"] = -made["chances"].log().gather(-1, torch.tensor(self.goal)[:, None])

    @staticmethod
    def _heads(x: Tensor) -> Tensor:
        return x.unflatten(-1, (H, -1)).transpose(0, 1)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        y = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return y * self.weights[f"{name}.norm_sum.gain_D"] + self.weights[f"{name}.norm_sum.bias_D"]

    def _feed_forward(self, side: str, x: Tensor) -> Tensor:
        w, name = self.weights, f"{side}.blocks.0.feed_forward.layer"
        hidden = (x @ w[f"{name}.inputs.weight"].T + w[f"{name}.inputs.bias"]).relu()
        out = hidden @ w[f"{name}.out.weight"].T + w[f"{name}.out.bias"]
        if side == "encoder":
            self.made |= {"hidden": hidden, "narrow": out}
        return self._norm(f"{side}.blocks.0.around_feed_forward", x + out)


@pytest.fixture(scope="module")
def by_hand() -> ByHand:
    return ByHand()


def opened(studio: Studio, **fields: str) -> Page:
    return studio.open("lecture", model="lecture", input=SOURCE, target=TARGET, **fields)


def step_of(page: Page) -> str:
    found = re.search(r"step=(\w+)", page.url)
    return found[1] if found else "words"


def shown(page: Page) -> tuple[Tensor, float]:
    """What the step made, in the head that is chosen, and what its equation comes to."""
    page.wait_for_function("document.querySelector('.walk-body .made .map')")
    last = re.findall(r"[−\d.e∞]+", page.locator(".equation .numbers").inner_text())[-1]
    return torch.tensor(matrix(page.locator("figure.made"))), number(last)


@pytest.mark.parametrize("part", [slice(0, 8), slice(8, 16), slice(16, 24)], ids=["first", "second", "third"])
def test_every_step_is_what_the_paper_says(studio: Studio, by_hand: ByHand, part: slice) -> None:
    names = list(by_hand.made)
    assert len(names) == 24
    page = opened(studio, step=names[part.start])
    for place, name in enumerate(names[part], part.start + 1):
        expect(page.locator(".walk-body h2")).to_contain_text(f"{place}. ")
        assert step_of(page) == name
        own = by_hand.made[name]
        made, _ = shown(page)
        torch.testing.assert_close(made, own[0] if own.dim() == 3 else own, rtol=1e-4, atol=1e-5)
        page.locator("h1").click()
        page.keyboard.press("ArrowRight")


@pytest.mark.parametrize(
    "step", ["positions", "input", "queries", "scaling", "softmax", "sum", "heads", "norm", "hidden", "cross", "logits"]
)
def test_the_equation_comes_to_the_number_in_the_cell(studio: Studio, by_hand: ByHand, step: str) -> None:
    """Of any cell that is chosen, in any head."""
    own = by_hand.made[step]
    row, column, head = 1, 0, own.shape[0] - 1 if own.dim() == 3 else 0
    page = opened(studio, step=step, cell=f"{row},{column},{head}")
    _, result = shown(page)
    value = float((own[head] if own.dim() == 3 else own)[row, column])
    assert result == pytest.approx(value, abs=0.0051, rel=0.02)


def test_a_cell_is_explained_when_it_is_chosen(studio: Studio, by_hand: ByHand) -> None:
    page = opened(studio, step="softmax")
    page.locator("figure.made .map").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".equation .note")).to_contain_text("‘sleeps’")
    assert "cell=2%2C1%2C0" in page.url
    _, result = shown(page)
    assert result == pytest.approx(float(by_hand.made["softmax"][0, 2, 1]), abs=0.0051)


def test_keys_go_on_and_back_and_a_link_restores_the_step(studio: Studio) -> None:
    page = opened(studio)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".walk-body h2")).to_have_text("2. Embedding: a vector for each word")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".walk-body h2")).to_have_text("2. Embedding: a vector for each word")
    page.get_by_role("button", name="19: Cross-attention").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".walk-body h2")).to_contain_text("19.")
    page.reload()
    drawn(page)
    expect(page.locator(".walk-body h2")).to_contain_text("19.")


def test_other_models_lead_to_it(studio: Studio) -> None:
    page = studio.open("write", model="lecture")
    page.goto(f"{studio.url}#/lecture?model=pairs&input=good+film")
    expect(page.locator(".walk-sentence")).to_contain_text("black cat sleeps")
    assert "model=lecture" in page.url


def test_everyone_can_read_it(studio: Studio) -> None:
    for phone, dark, step in (False, False, "queries"), (True, True, "cross"):
        page = studio.open("lecture", model="lecture", step=step, phone=phone, dark=dark)
        accessible(page)
        fits(page)
