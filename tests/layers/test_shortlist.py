"""The largest product, found among few, is the largest of all."""
# N rows  D inputs  V outputs

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from seqloom.layers.native.shortlist import SHORTLIST
from seqloom.layers.paths import only_plain
from seqloom.layers.shortlist import Shortlist, shortlist_if_faster


@pytest.fixture(params=["plain", "native"], autouse=True)
def path(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways, the one in numpy and the one in C."""
    if request.param == "native" and SHORTLIST.wait() is None:
        pytest.skip("needs a C compiler")
    with torch.no_grad(), nullcontext() if request.param == "native" else only_plain():
        yield


def among(weight_VD: Tensor, x_ND: Tensor, without: list[int]) -> Tensor:
    products_NV = (x_ND.double() @ weight_VD.double().T).index_fill_(1, torch.tensor(without, dtype=torch.int64), -1e9)
    return products_NV.argmax(1)


def outputs(kind: str) -> Tensor:
    torch.manual_seed(0)
    weight_VD = torch.randn(300, 24)
    match kind:
        case "one far larger":  # one scale for all is coarse then: many are nearly the same
            weight_VD[7] *= 40
        case "much alike":
            weight_VD = torch.randn(24) + 1e-3 * weight_VD
        case "nothing":
            weight_VD.zero_()
    return weight_VD


@pytest.mark.parametrize("kind", ["any", "one far larger", "much alike"])
@pytest.mark.parametrize("without", [[], [0, 3, 299]])
def test_the_largest_of_all(kind: str, without: list[int]) -> None:
    weight_VD = outputs(kind)
    x_ND = torch.cat((torch.randn(200, 24), 1e-4 * torch.randn(20, 24), weight_VD[:40]))
    shortlist = Shortlist(weight_VD, without)
    assert torch.equal(shortlist.largest(x_ND), among(weight_VD, x_ND, without))


def test_few_are_computed_in_full_but_the_bound_holds() -> None:
    weight_VD, x_ND = outputs("any"), torch.randn(500, 24)
    shortlist = Shortlist(weight_VD)
    rows, places = shortlist._candidates(x_ND)
    assert len(rows) < 20 * len(x_ND), "of 300"
    held = set(zip(rows.tolist(), places.tolist(), strict=True))
    assert all(pair in held for pair in enumerate(among(weight_VD, x_ND, []).tolist()))
    assert any(count > 1 for count in torch.from_numpy(rows).bincount()), "rounding alone would not tell"


def test_of_equals_the_lower_one() -> None:
    weight_VD = outputs("any")
    weight_VD[200], weight_VD[100] = weight_VD[50], weight_VD[50]
    assert Shortlist(weight_VD).largest(weight_VD[50][None]).tolist() == [50]
    assert Shortlist(weight_VD, [50]).largest(weight_VD[50][None]).tolist() == [100]
    assert Shortlist(outputs("nothing"), [0]).largest(torch.zeros(2, 24)).tolist() == [1, 1]


def test_neighbours_change_nothing() -> None:
    weight_VD, x_ND = outputs("much alike"), torch.randn(64, 24)
    shortlist = Shortlist(weight_VD)
    assert torch.equal(shortlist.largest(x_ND), torch.cat([shortlist.largest(x[None]) for x in x_ND]))


def test_it_is_made_only_where_it_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {"plain": 0.1, "short": 0.2}
    monkeypatch.setattr("seqloom.layers.shortlist._fastest", lambda ways: taken)
    assert shortlist_if_faster(outputs("any")) is None
    taken = {"plain": 0.2, "short": 0.1}
    assert shortlist_if_faster(outputs("any")) is not None
