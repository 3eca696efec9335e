from collections.abc import Iterator
from random import Random

import pytest

from seqloom.jobs.demos.date_doubt import Names
from seqloom.jobs.demos.date_locales import LANGUAGES
from seqloom.jobs.demos.date_slips import SLIPS, Part, lower, misspelt, upper, with_slips


@pytest.fixture(scope="module")
def names() -> Names:
    return Names(LANGUAGES)


def german() -> list[Part]:
    return [
        Part("weekday", "Fr."),
        Part("text", ", "),
        Part("day", "3"),
        Part("text", ". "),
        Part("month name", "März", 3),
        Part("text", " "),
        Part("year", "2019"),
    ]


def outcomes(
    name: str, names: Names, parts: list[Part] | None = None, code: str = "de", numeric: bool = False
) -> set[str]:
    def each() -> Iterator[str]:
        for seed in range(60):
            copies = [Part(part.kind, part.text, part.month) for part in parts or german()]
            yield with_slips(copies, code, numeric, {name: 1}, names, Random(seed))

    return set(each())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accents", {"Fr., 3. Marz 2019"}),
        ("dots", {"Fr, 3 März 2019"}),
        ("commas", {"Fr. 3. März 2019"}),
        ("space lost", {"Fr.,3. März 2019", "Fr., 3.März 2019", "Fr., 3. März2019"}),
        ("space doubled", {"Fr.,  3. März 2019", "Fr., 3.  März 2019", "Fr., 3. März  2019"}),
        ("case", {"fr., 3. märz 2019", "FR., 3. MÄRZ 2019", "Fr., 3. März 2019"}),
    ],
)
def test_each_slip(name: str, expected: set[str], names: Names) -> None:
    assert outcomes(name, names) == expected


def test_dots_between_numbers_stay(names: Names) -> None:
    numbers = [Part("weekday", "Fr."), Part("text", ", "), Part("day", "3"), Part("text", "."), Part("month", "4")]
    assert outcomes("dots", names, numbers, numeric=True) == {"Fr, 3.4"}


def test_numbers_are_never_joined(names: Names) -> None:
    vietnamese = [
        Part("day", "3"),
        Part("text", " "),
        Part("month name", "tháng 1", 1),
        Part("text", " "),
        Part("year", "2019"),
    ]
    assert outcomes("space lost", names, vietnamese) == {"3tháng 1 2019", "3 tháng 1 2019"}


def test_a_misspelt_month_is_nearest_to_itself(names: Names) -> None:
    assert outcomes("misspell", names, [Part("month name", "juni", 6)]) == {"juni"} | {
        text for text in outcomes("misspell", names, [Part("month name", "juni", 6)]) if names.near(text) == {6}
    }
    found = outcomes("misspell", names, [Part("month name", "September", 9)])
    assert len(found) > 20
    assert all(names.near(text) == {9} for text in found)


def test_short_names_and_names_with_digits_are_not_misspelt(names: Names) -> None:
    for name in ("mai", "Sep.", "tháng 1", "10월"):
        assert outcomes("misspell", names, [Part("month name", name, 1)]) == {name}


def test_misspelling_is_one_slip() -> None:
    found = {misspelt("mars", Random(seed)) for seed in range(300)}
    assert {"amrs", "mrs", "mmars", "mass"} <= found
    assert {len(text) for text in found} == {3, 4, 5}


def test_capitals_as_each_language_has_them() -> None:
    assert upper("Salı, ekim", "tr") == "SALI, EKİM"
    assert lower("SALI, EKİM", "tr") == "salı, ekim"
    assert upper("Μαΐου", "el") == "ΜΑΪΟΥ"
    assert upper("août", "fr") == "AOÛT"


def test_all_slips_are_made(names: Names) -> None:
    clean = "".join(part.text for part in german())
    rng = Random(1)
    found = [with_slips(german(), "de", False, SLIPS, names, rng) for _ in range(400)]
    assert len(set(found)) > 30
    assert found.count(clean) < 160  # "März" and "Fr." are too short to be misspelt well
