"""Scores that are no numbers: an answer that came of them would look like any other."""

from torch import Tensor

from seqloom.settings import FailedError


class NoNumbersError(FailedError):
    """Whoever knows where the weights came from says it in front."""

    def __init__(self, where: str = "") -> None:
        super().__init__(
            f"{where}the model's scores are no numbers (NaN): its weights are damaged, or its training failed; "
            "put the weights back as they were saved, or train anew with --force"
        )


def refuse_no_numbers(scores: Tensor) -> None:
    refuse_bad(scores.isnan())


def refuse_bad(bad: Tensor) -> None:
    """bad: where some score was no number."""
    if bool(bad.any()):
        raise NoNumbersError
