import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seqloom.layers.native.norm import NORM, normed
from seqloom.layers.paths import only_plain

pytestmark = pytest.mark.skipif(NORM.wait() is None, reason="needs a C compiler")


@pytest.mark.parametrize("width", [1, 7, 16, 33, 256])
@pytest.mark.parametrize("centres", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_it_is_the_norm_of_the_sum(width: int, centres: bool, affine: bool) -> None:
    torch.manual_seed(width)
    x, y = torch.randn(2, 5, 3, width) * 3 + 1
    gain, bias = torch.randn(2, width) if affine else (None, None)
    with torch.no_grad():
        for second, carry, scale in ((None, 1.0, 1.0), (y, 1.0, 1.0), (y, 2.0, 0.5)):
            total = (x if second is None else (carry * x + second) * scale).double()
            mean = total.mean(-1, keepdim=True) if centres else 0
            wanted = (total - mean) * ((total - mean).square().mean(-1, keepdim=True) + 1e-5).rsqrt()
            wanted = wanted if gain is None or bias is None else wanted * gain + bias
            found = normed(x, second, gain, bias, carry=carry, scale=scale, epsilon=1e-5, centres=centres)
            assert found is not None
            torch.testing.assert_close(found.double(), wanted, atol=2e-5, rtol=2e-5)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    x, y = torch.randn(2, 200, 96)
    with torch.no_grad():
        together = normed(x, y, None, None, epsilon=1e-5, centres=True)
        alone = normed(x[77:78], y[77:78], None, None, epsilon=1e-5, centres=True)
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            by_two = normed(x, y, None, None, epsilon=1e-5, centres=True)
        finally:
            torch.set_num_threads(before)
    assert together is not None
    assert alone is not None
    assert by_two is not None
    assert torch.equal(together[77:78], alone)
    assert torch.equal(together, by_two)


def test_who_gets_the_plain_lines() -> None:
    x = torch.randn(4, 8)

    def asked(x: torch.Tensor) -> torch.Tensor | None:
        return normed(x, None, None, None, epsilon=1e-5, centres=True)

    assert asked(x) is None, "a gradient may be asked for"
    with torch.no_grad():
        assert asked(x) is not None
        assert asked(x.double()) is None
        assert asked(x.t()) is None
        assert asked(x.to("meta")) is None
        with only_plain():
            assert asked(x) is None
        with torch.autocast("cpu"):
            assert asked(x) is None
        with FlopCounterMode(display=False):
            assert asked(x) is None
        seen = []
        torch.vmap(lambda row: seen.append(asked(row[None])) or row)(x)
        assert seen == [None]


def test_no_numbers_stay_none() -> None:
    x = torch.tensor([[1.0, float("nan")], [1.0, 2.0]])
    with torch.no_grad():
        found = normed(x, None, None, None, epsilon=1e-5, centres=True)
    assert found is not None
    assert found[0].isnan().all()
    assert found[1].isfinite().all()
