"""What a comparison is asked for."""

import pytest

from seqloom.jobs.comparing.command import budget_of
from seqloom.jobs.deciding.asked import Budget
from seqloom.settings import UserError


def test_budgets() -> None:
    assert budget_of(5.0, None, None) == Budget("minutes", 5.0)
    assert budget_of(None, None, None) is None
    with pytest.raises(UserError, match="--minutes and --flops: systems can be equal in one cost only"):
        budget_of(1.0, 1.0, None)
