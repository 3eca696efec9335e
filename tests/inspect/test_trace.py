"""What a trace shows is what the model computed."""

import torch

from seqloom.inspect.trace import Example, trace
from seqloom.layers.layout import Padded
from seqloom.models.build import Model, build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from tests.laws.cases import SETTINGS

EXAMPLE = Example(torch.tensor([5, 6, 7, 2]), torch.tensor([1, 5, 6]), torch.tensor([5, 6, 2]))


def _model(name: str) -> Model:
    torch.manual_seed(0)
    return build_model(ModelSettings.model_validate(SETTINGS[name]), Sizes(11, 11)).eval()


def test_the_scores_are_those_of_the_model() -> None:
    model = _model("transformer-2017")
    assert isinstance(model, EncoderDecoder)
    assert EXAMPLE.written is not None
    with torch.no_grad():
        layouts = Padded.whole(1, 4), Padded.whole(1, 3)
        output = model(EXAMPLE.read[None], layouts[0], EXAMPLE.written[None], layouts[1])
        scores = model.scores(output)[0]
    found = trace(model, EXAMPLE)
    torch.testing.assert_close(found.scores, scores, rtol=0, atol=1e-6)
    values = {value.name: value.matrix for value in found.values("head")}
    torch.testing.assert_close(values["z"], scores, rtol=0, atol=1e-6)
    torch.testing.assert_close(found.values("head.probabilities")[-1].matrix.sum(-1), torch.ones(3))
    loss_T1 = found.values("head.loss")[-1].matrix
    assert EXAMPLE.goal is not None
    torch.testing.assert_close(loss_T1[:, 0], torch.nn.functional.cross_entropy(scores, EXAMPLE.goal, reduction="none"))


def test_attention_is_the_equation_on_the_numbers_shown() -> None:
    model = _model("transformer-2017")
    found = trace(model, EXAMPLE)
    for layer in "encoder.blocks.1.mixer", "decoder.blocks.0.mixer", "decoder.blocks.1.cross":
        values = {value.name: value.matrix for value in found.values(layer)}
        scores_HTS = values["Q"] @ values["K"].transpose(-1, -2) / values["Q"].shape[-1] ** 0.5
        torch.testing.assert_close(scores_HTS, values["S"], rtol=0, atol=1e-6)
        weights_HTS = values.get("M", values["S"]).softmax(-1)
        torch.testing.assert_close(weights_HTS, values["A"], rtol=0, atol=1e-6)
        torch.testing.assert_close(weights_HTS @ values["V"], values["Z"], rtol=0, atol=1e-6)
        projection = model.get_submodule(layer).heads.out  # type: ignore[union-attr]
        joined_TD = values["Z"].transpose(0, 1).flatten(1)
        torch.testing.assert_close(projection(joined_TD), values["Y"], rtol=0, atol=1e-6)  # type: ignore[operator]


def test_nothing_of_it_stays() -> None:
    model = _model("transformer-2017")
    trace(model, EXAMPLE)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
