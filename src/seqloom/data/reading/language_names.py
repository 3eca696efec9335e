"""Names of languages, above the two columns of a table of translations."""

from collections.abc import Sequence

_NAMES = """
afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian bulgarian burmese catalan
chinese croatian czech danish dutch english esperanto estonian finnish french galician georgian german greek gujarati
hausa hebrew hindi hungarian icelandic igbo indonesian irish italian japanese kannada kazakh khmer korean kurdish lao
latin latvian lithuanian macedonian malay malayalam maltese mandarin marathi mongolian nepali norwegian pashto persian
polish portuguese punjabi romanian russian serbian sinhala slovak slovenian somali spanish swahili swedish tagalog tamil
telugu thai tibetan turkish ukrainian urdu uzbek vietnamese welsh xhosa yoruba zulu
deutsch englisch français anglais español inglés italiano português русский 日本語 中文 العربية
"""
_CODES = """
af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km ko la lt lv
mk ml mn mr ms mt my ne nl no pl pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz vi xh yo zh zu
ara deu eng fra ita jpn nld pol por rus spa swe tur ukr zho
"""
NAMES, CODES = frozenset(_NAMES.split()), frozenset(_CODES.split())


def are_languages(cells: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Each names another language: English, German sentences; or, above sentences, en and de_DE.

    rows: those behind it. Above single words, it and es may be such words.
    """
    plain = [cell.strip().lower() for cell in cells]
    names = [cell.split()[0] if cell and len(cell.split()) <= 2 else "" for cell in plain]
    codes = [cell.replace("-", "_").partition("_")[0] for cell in plain]
    sentences = sum(any(len(cell.split()) > 2 for cell in row) for row in rows) * 2 > len(rows)
    return _differ(names, NAMES) or (sentences and _differ(codes, CODES))


def _differ(words: Sequence[str], known: frozenset[str]) -> bool:
    return len(set(words)) == len(words) and set(words) <= known
