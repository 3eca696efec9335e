"""Who looks at whom: every layer and head with the model's own weights, as lines, matrices and at a glance."""

from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor

import seqloom
from seqloom.jobs.lecture import lecture
from seqloom.jobs.look import Look, LookRequest
from tests.jobs.asked_runs import Runs
from tests.jobs.run import write_pairs, write_recipe
from tests.serving.live import Live
from tests.studio.browser import Studio, accessible, downloaded, drawn, fits, matrix, number
from tests.studio.own import own

SOURCE, TARGET = "abcd", "dcba"
LAYERS = ("encoder.blocks.0.mixer", "decoder.blocks.0.mixer", "decoder.blocks.0.cross")
SIDE = ".side figure"


def read(page: Page) -> Tensor:
    return torch.tensor(matrix(page.locator(SIDE)))


def opened(studio: Studio, **fields: str) -> Page:
    return studio.open("attention", model="pairs", input=SOURCE, target=TARGET, **fields)


def shares(row: Locator) -> list[float]:
    return [number(cell) for cell in row.locator("td").all_inner_texts()]


@pytest.mark.parametrize("layer", LAYERS)
def test_every_head_is_the_models(studio: Studio, runs: Runs, layer: str) -> None:
    weights_HTS = own(runs["pairs"], SOURCE, TARGET).made[layer]
    for head, weights_TS in enumerate(weights_HTS):
        page = opened(studio, layer=layer, head=str(head), show="matrix")
        assert torch.equal(read(page), weights_TS)


def test_a_line_for_each_weight_that_counts(studio: Studio, runs: Runs) -> None:
    weights_HTS = own(runs["pairs"], SOURCE, TARGET).made["decoder.blocks.0.cross"]
    page = opened(studio, layer="decoder.blocks.0.cross")
    assert page.locator(".strands path").count() == int((weights_HTS >= 0.01).sum())
    page.get_by_role("group", name="Head").get_by_label("head 2").click()
    assert page.locator(".strands path").count() == int((weights_HTS[1] >= 0.01).sum())


def test_a_word_shows_its_own_weights(studio: Studio, runs: Runs) -> None:
    """By pointing, and with the arrow keys."""
    weights_TS = own(runs["pairs"], SOURCE, TARGET).made["decoder.blocks.0.cross"][1]
    page = opened(studio, layer="decoder.blocks.0.cross", head="1")
    page.locator('.word[data-key="row0"]').focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".word.chosen")).to_have_attribute("data-key", "row1")
    said = [float(text) for text in page.locator(".numbers text").all_text_contents()]
    assert said == pytest.approx([weight for weight in weights_TS[1].tolist() if weight >= 0.01], abs=0.006)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".word.chosen")).to_have_attribute("data-key", "column1")


def test_heads_are_summed_up(studio: Studio, runs: Runs) -> None:
    weights_HTS = own(runs["pairs"], SOURCE, TARGET).made["decoder.blocks.0.mixer"].double()
    page = opened(studio, layer="decoder.blocks.0.mixer")
    rows = page.locator(".summaries tbody tr")
    T = weights_HTS.shape[1]
    for head, weights_TS in enumerate(weights_HTS):
        entropy = -(weights_TS * weights_TS.clamp(min=1e-30).log()).sum(-1).mean()
        surest, first = weights_TS.amax(-1).mean(), weights_TS[:, 0].mean()
        same, before = weights_TS.diagonal().sum() / T, weights_TS.diagonal(-1).sum() / T
        own_numbers = [float(one) for one in (entropy, surest, same, before, first)]
        assert shares(rows.nth(head)) == pytest.approx(own_numbers, abs=0.0051)


def test_all_heads_at_a_glance_lead_to_each(studio: Studio) -> None:
    page = studio.open("attention", model="deep", input="good film", target="film good", show="grid")
    assert page.locator(".head-grid .small").count() == 6 * 2
    page.get_by_role("button", name="encoder block 2: self-attention, head 2").click()
    expect(page.get_by_label("Layer")).to_have_value("1")
    assert "head=1" in page.url
    assert "show=matrix" in page.url


def test_two_inputs_side_by_side(studio: Studio, runs: Runs) -> None:
    page = studio.open("attention", model="pairs", input=SOURCE, show="matrix", layer=LAYERS[0], head="0")
    page.get_by_label("reading").fill("hgf")
    page.get_by_role("button", name="Side by side").click()
    figures = page.locator(SIDE)
    expect(figures).to_have_count(2)
    there = [own(runs["pairs"], text, TARGET).made[LAYERS[0]][0] for text in (SOURCE, "hgf")]
    for index, weights_TS in enumerate(there):
        assert torch.equal(torch.tensor(matrix(figures.nth(index))), weights_TS)
    again = studio.open("write", model="pairs", input=SOURCE)
    again.goto(page.url)
    expect(drawn(again).locator(SIDE)).to_have_count(2)
    again.get_by_role("button", name="Alone").click()
    expect(again.locator(SIDE)).to_have_count(1)


def test_two_models_side_by_side(studio: Studio, runs: Runs) -> None:
    """The layer beside it is that of the same name."""
    cross, other = "decoder.blocks.0.cross", "white dog eats"
    page = opened(studio, beside="lecture", besideInput=other, show="matrix", layer=cross, head="1")
    figures = page.locator(SIDE)
    expect(figures).to_have_count(2)
    there = Look(lecture(), LookRequest(other)).attention().layers
    weights = own(runs["pairs"], SOURCE, TARGET).made[cross], next(one.weights for one in there if one.id == cross)
    for index, weights_HTS in enumerate(weights):
        assert torch.equal(torch.tensor(matrix(figures.nth(index))), weights_HTS[1])


def test_a_language_model_and_a_tagger_attend_too(studio: Studio) -> None:
    for name in "text", "tags":
        page = studio.open("attention", model=name, input="good film")
        assert page.locator(".strands path").count() > 0


def test_lines_can_be_taken_along(studio: Studio, tmp_path: Path) -> None:
    page = opened(studio)
    file = downloaded(page, page.get_by_role("button", name="as SVG").first, tmp_path)
    text = file.read_text(encoding="utf-8")
    assert text.count("<path") == page.locator(".strands path").count()
    assert "</s>" in text.replace("&lt;", "<").replace("&gt;", ">")


def test_what_the_answer_hangs_on(studio: Studio) -> None:
    """Each word left out: the numbers of the model with zeros in place of its embedding."""
    page = studio.open("attention", model="lecture", input="black cat eats", target="chat noir mange")
    page.get_by_role("button", name="Leave each word out").click()
    figure = page.get_by_role("region", name="What the answer hangs on").locator("figure")
    shown, model = torch.tensor(matrix(figure)), lecture()
    vectors = model.networks[0].get_parameter("source.embedding.weight_VD").data
    before = [piece.log_prob for piece in model.score("black cat eats", "chat noir mange").pieces]
    assert model.writer is not None
    for column, id in enumerate(model.writer.task.codecs.vocabulary.encode(["black cat eats"])[0]):
        kept = vectors[id].clone()
        vectors[id] = 0
        after = [piece.log_prob for piece in model.score("black cat eats", "chat noir mange").pieces]
        vectors[id] = kept
        lost = [a - b for a, b in zip(before, after, strict=True)]
        assert shown[:, column].tolist() == pytest.approx(lost, abs=1e-5)
    again = studio.open("write", model="pairs")
    again.goto(page.url)
    expect(drawn(again).locator(".hanging figure")).to_have_count(1)


def test_long_texts_are_matrices_at_first(studio: Studio) -> None:
    """And their lines are drawn, however thin."""
    page = studio.open("attention", model="text", input="good film " * 60, settings='{"longest": 2}')
    expect(page.get_by_role("button", name="Matrix")).to_have_attribute("aria-pressed", "true")
    assert page.locator(SIDE).bounding_box()["height"] < 900  # type: ignore[index]
    page.get_by_role("button", name="Lines").click()
    expect(page.locator(".attention-lines")).to_have_count(1)
    assert page.locator(".strands path").count() > 100
    assert "show=lines" in page.url
    fits(page)


def test_weights_are_fetched_when_they_are_looked_at(
    studio: Studio, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all of them would be too much for one document."""
    monkeypatch.setattr("seqloom.jobs.looking.attention.LIGHT", 10)
    plain = own(runs["pairs"], "ghef", "fehg")
    page = studio.open("attention", model="pairs", input="ghef", target="fehg", show="matrix", head="1")
    for turn, layer in enumerate(LAYERS):
        page.get_by_label("Layer").select_option(str(turn))
        expect(page.locator(".sides")).to_have_attribute("aria-busy", "false")
        assert torch.equal(read(page), plain.made[layer][1])
    page.get_by_role("button", name="All heads", exact=True).click()
    expect(page.locator(".head-grid .small")).to_have_count(6)


@pytest.mark.parametrize("show", ["lines", "matrix", "grid"])
def test_everyone_can_read_it(studio: Studio, show: str) -> None:
    for phone, dark in (False, False), (True, True):
        page = studio.open("attention", model="pairs", input=SOURCE, show=show, phone=phone, dark=dark, hangs="yes")
        accessible(page)
        fits(page)


RECURRENT = """
[text]
source = { kind = "characters" }
shared = true
[model]
family = "encoder-decoder"
width = 16
depth = 1
feed_forward = { kind = "none" }
norm = { kind = "none" }
residual = { kind = "none" }
encoder = { mixer = { kind = "recurrence", cell = "gru", direction = "both" } }
decoder = { cross = { kind = "none" }, mixer = { kind = "attentive-recurrence", attention = { score = "additive" } } }
[training]
steps = 10
batch = 200
"""


CONVOLUTIONAL = """
[text]
source = { kind = "characters" }
shared = true
[model]
family = "encoder-decoder"
width = 16
depth = 1
mixer = { kind = "convolution", kernel = 3 }
cross = { kind = "aligned" }
unfold = { times = 1.0 }
positions = { kind = "none" }
[training]
steps = 10
batch = 200
"""


def test_recurrent_and_convolutional_models(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bahdanau et al. 2015 has one head, from each step of the answer to the source. A model without attention shows
    what its answer hangs on."""
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    data = write_pairs(tmp_path / "pairs.tsv")
    for name, text in ("recurrent", RECURRENT), ("convolutional", CONVOLUTIONAL):
        recipe = write_recipe(tmp_path / f"{name}.toml", text=text)
        seqloom.train(recipe, data=data, out=tmp_path / name, view="none")
    weights_HTS = own(tmp_path / "recurrent", SOURCE, TARGET).made["decoder.blocks.0.mixer"]
    with Live([tmp_path / "recurrent", tmp_path / "convolutional"]) as live:
        studio = Studio(browser, f"{live.url}/")
        page = studio.open("attention", input=SOURCE, target=TARGET, show="matrix")
        assert torch.equal(read(page), weights_HTS[0])
        page = studio.open("what-if", input=SOURCE)
        expect(page.get_by_text("Switch off a layer")).to_be_visible()
        expect(page.get_by_text("Positions and mask")).to_have_count(0)  # it has neither
        page = studio.open("attention", model="convolutional", input=SOURCE, target=TARGET)
        expect(page.locator("main")).to_contain_text("No layer of this model attends")
        shown = torch.tensor(matrix(page.locator(".hanging figure")))
        assert shown.shape == (5, 5)
        for t, s in (0, 4), (1, 4), (0, 3):  # aligned place by place, three wide on both sides: so far nothing reaches
            assert abs(shown[t, s]) < 1e-6
        assert shown.diagonal().abs().max() > 1e-4
        studio.close()
