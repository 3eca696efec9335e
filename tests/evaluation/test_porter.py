"""Stems are those of NLTK, which rouge-score takes."""

from nltk.stem.porter import PorterStemmer

from seqloom.evaluation.porter import stem

ENDINGS = """
    s ss ses sses ies ied eed ed ing ating bling izing y ly ational tional enci anci izer bli abli alli ally entli eli
    ousli ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical
    ful ness al ance ence er ic able ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize e ll le
"""
STEMS = "a be sky tr hop hopp fall bow tax play happ d t rel controll oper sens adjust psycho apo vietnam y yy"
EXCEPTIONS = "skies dying lying tying news innings howe proceed exceed succeed dies died at by"


def test_stems_are_those_of_nltk() -> None:
    """Every ending that has a rule, behind stems of every kind; and the exceptions."""
    reference = PorterStemmer()
    words = [one + ending for one in STEMS.split() for ending in ENDINGS.split()] + EXCEPTIONS.split()
    assert {word: stem(word) for word in words} == {word: reference.stem(word) for word in words}
