"""What tests of training share."""

from pathlib import Path

import pytest

from tests.training.small import Small, small


@pytest.fixture
def made(tmp_path: Path) -> Small:
    return small(tmp_path)
