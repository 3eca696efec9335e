"""In which precision answers are written, on a CPU and on a GPU that is only believed to be there."""

import pytest
import torch

from seqloom.jobs.answering.precisions import Precisions
from seqloom.models import EncoderDecoder
from seqloom.settings import UserError
from tests.generation.tiny import pair_model

GPU = torch.device("cuda")


@pytest.fixture
def network() -> EncoderDecoder:
    return pair_model("attention", 1)


def test_on_a_cpu_all_is_full(network: EncoderDecoder) -> None:
    precisions = Precisions([network], torch.device("cpu"), half=True)
    assert precisions.of("auto") == ([network], None)
    assert precisions.of("full") == ([network], None)
    with pytest.raises(UserError, match=r"bf16 is for a GPU, and this model runs on cpu; .* --device cuda"):
        precisions.of("bf16")


@pytest.mark.parametrize(("half", "able"), [(True, True), (True, False), (False, True)])
def test_on_a_gpu_as_it_was_trained(
    network: EncoderDecoder, half: bool, able: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: able)
    precisions = Precisions([network], GPU, half)
    networks, dtype = precisions.of("auto")
    if not (half and able):
        assert (networks, dtype) == ([network], None)
        return
    assert dtype == torch.bfloat16
    assert networks[0] is not network
    assert precisions.of("bf16")[0] is networks, "it is made once"
    assert precisions.of("full") == ([network], None)
    with pytest.raises(UserError, match="int8 is for a CPU, and this model runs on cuda"):
        precisions.of("int8")
