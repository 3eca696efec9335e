"""Settings that cannot go together are refused, each with a reason."""

import pytest

from seqloom.generation.settings import GenerationSettings
from seqloom.settings import SettingsError, loads


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("n_best = 5", "5 answers cannot come from a beam of 4; set beam = 5"),
        ("beam = 6\ngroups = 4", "a beam of 6 cannot be split into 4 equal groups"),
        ("groups = 2\nsample = {}", "groups are parts of a beam, and with sample there is no beam; keep one of them"),
        ("coverage = 0.2\nsample = {}", "coverage steers a search, and with sample there is none; set coverage = 0"),
        ("shortest = 9\nlongest = 8", "at least 9 tokens, but longest = 8"),
        ("groups = 2\nrerank = { kind = 'mbr' }", "rerank draws its answers by chance, without a beam; set groups = 1"),
        ("beam = 9\nn_best = 9\nrerank = { kind = 'mbr', candidates = 8 }", "9 answers cannot come from 8 candidates"),
        ("sample = { temperature = 0.0 }", "temperature should be a number (above 0), not 0.0"),
    ],
)
def test_refusals(text: str, why: str) -> None:
    with pytest.raises(SettingsError) as error:
        loads(text, GenerationSettings)
    assert why in str(error.value)


def test_samples_need_no_beam() -> None:
    assert GenerationSettings.model_validate({"sample": {}, "n_best": 9}).n_best == 9


def test_full_precision_goes_by_the_name_that_it_has_in_training_too() -> None:
    assert loads("precision = 'float32'", GenerationSettings).precision == "full"
