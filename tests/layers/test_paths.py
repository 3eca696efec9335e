"""The switch between the fast paths and the equations."""

import pytest

from seqloom.layers.paths import fast, only_plain


def test_plain_within_and_fast_again_behind() -> None:
    assert fast()
    with only_plain():
        assert not fast()
        with only_plain():
            assert not fast()
        assert not fast()
    assert fast()


def test_fast_again_behind_an_error() -> None:
    with pytest.raises(KeyError), only_plain():
        raise KeyError
    assert fast()
