# R rows  V tokens
import pytest
import torch

from seqloom.generation.beam import likeliest as ranked
from seqloom.layers.native.vocabulary import MOST, VOCABULARY, likeliest, log_softmax_
from seqloom.layers.paths import only_plain

pytestmark = pytest.mark.skipif(VOCABULARY.wait() is None, reason="needs a C compiler")


@pytest.mark.parametrize("width", [1, 5, 64, 65, 1000])
def test_log_softmax(width: int) -> None:
    x_RV = torch.randn(7, width) * 20
    x_RV[1] -= 500
    wanted = x_RV.double().log_softmax(-1)
    with torch.no_grad():
        found = log_softmax_(x_RV)
    assert found is x_RV, "in its place"
    torch.testing.assert_close(found.double(), wanted, atol=2e-5, rtol=1e-5)


def test_log_softmax_of_no_numbers_and_of_nothing() -> None:
    x_RV = torch.tensor([[1.0, torch.nan, 2.0], [1.0, -torch.inf, 2.0], [0.0, 0.0, 0.0]])
    with torch.no_grad():
        found = log_softmax_(x_RV.clone())
    assert found[0].isnan().all()
    torch.testing.assert_close(found[1:], x_RV[1:].log_softmax(-1))


def test_autograd_hears_of_it() -> None:
    x_RV, weight = torch.randn(3, 40), torch.randn(3, 40, requires_grad=True)
    y = (x_RV * weight).sum()
    with torch.no_grad():
        log_softmax_(x_RV)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    with torch.inference_mode():
        log_softmax_(torch.randn(3, 40))


@pytest.mark.parametrize("width", [3, 64, 200, 6001])
@pytest.mark.parametrize("kind", ["any", "many equal", "mostly nothing"])
def test_likeliest_is_the_plain_one(width: int, kind: str) -> None:
    torch.manual_seed(width)
    x_RV = torch.randn(9, width)
    if kind == "many equal":
        x_RV = (x_RV * 2).round()
    if kind == "mostly nothing":
        x_RV[x_RV < 1] = -torch.inf
    for count in (2, 3, 10, MOST):
        if count > width:
            continue
        with torch.no_grad():
            found = likeliest(x_RV, count)
            assert found is not None
            wanted = x_RV.sort(dim=-1, descending=True, stable=True)
            assert torch.equal(found[0], wanted.values[:, :count])
            assert torch.equal(found[1], wanted.indices[:, :count])
            with only_plain():
                best, place = ranked(x_RV, count)
        some = best > -torch.inf
        assert torch.equal(best, found[0])
        assert torch.equal(place[some], found[1][some])


def test_where_one_is_no_number_none_is() -> None:
    x_RV = torch.randn(3, 200)
    x_RV[1, 150] = torch.nan
    with torch.no_grad():
        found = likeliest(x_RV, 4)
    assert found is not None
    assert found[0].isnan().all(1).tolist() == [False, True, False]
    assert not found[0][[0, 2]].isnan().any()
    assert found[1].min() >= 0
    assert found[1].max() < 200


def test_who_gets_the_plain_lines() -> None:
    x_RV = torch.randn(2, 100)
    with torch.no_grad():
        assert likeliest(x_RV, MOST + 1) is None
        assert likeliest(x_RV[:, :50], 2) is None
        assert likeliest(x_RV[:, :1].contiguous(), 2) is None
    assert likeliest(x_RV, 2) is None, "a gradient may be asked for"
