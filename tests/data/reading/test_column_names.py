"""The lists of names: nothing stands for two things."""

from collections import Counter

from seqloom.data.reading.column_names import _FIELDS, _LANGUAGES, plain


def test_a_name_is_that_of_one_language() -> None:
    for part in 0, 1:
        lines = [line.split("|")[part] for line in _LANGUAGES.strip().splitlines()]
        counts = Counter(name for line in lines for name in set(map(plain, line.split())))
        assert [name for name, count in counts.items() if count > 1] == []


def test_a_word_is_that_of_one_field() -> None:
    for line in _FIELDS.strip().splitlines():
        groups = [list(map(plain, group.split())) for group in line.split("|")]
        assert len(groups) == 5, line
        assert all(groups), line
        counts = Counter(word for group in groups for word in group)
        assert [word for word, count in counts.items() if count > 1] == []


def test_names_are_known_without_accents_and_in_capitals() -> None:
    assert plain("FRANÇAIS") == plain("francais")
    assert plain("İngilizce") == plain("ingilizce")
    assert plain("ΑΓΓΛΙΚΑ") == plain("Αγγλικά")
    assert plain(" Tiếng  Việt ") == "tieng_viet"
