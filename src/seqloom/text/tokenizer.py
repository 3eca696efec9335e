"""The tokenizers pipeline of each kind: normalise, split, model, and the way back.

Pieces hold their spaces as they are (" the"), so that the way back is to join them. For subwords a space goes before
the text and is taken off again: the first word has the same pieces as any other.
"""

import os
import re
from typing import assert_never

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from seqloom.text.settings import BPE, Bytes, Characters, Normalise, PieceSettings, Unigram, Words

# Said by us, so that a fork brings no warning; a forked child has none of the pool's threads and would wait for ever.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: os.environ.update(TOKENIZERS_PARALLELISM="false"))

# Letters, numbers, other signs and white space never share a piece, so no piece is "<s>" or another special.
# The limit keeps training from quadratic time on text without spaces.
SUBWORD_SPLIT = (
    r" ?[\p{L}\p{M}](?:[\p{L}\p{M}\u200c\u200d]|['’](?=\p{L})){0,63}"
    r"| ?\p{N}{1,64}| ?[^\s\p{L}\p{M}\p{N}]{1,64}|\s{1,64}(?!\S)|\s"
)
# A word may be "<s>": one backslash more goes in, and comes off on the way back.
_NAME = r"(?=\\*(?:unk|s|/s|mask|sep)>)"
_ESCAPE = normalizers.Replace(Regex(f"<{_NAME}"), "<\\")
_UNESCAPE = decoders.Replace(Regex(rf"<\\{_NAME}"), "<")


def build_tokenizer(settings: PieceSettings, model: models.Model) -> Tokenizer:
    """The special pieces are not in the tokenizer's own list, so that it never looks for them in a text."""
    tokenizer = Tokenizer(model)
    before = build_normaliser(settings.normalise)
    match settings:
        case Characters():
            tokenizer.decoder = decoders.Fuse()
        case Bytes():
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
            tokenizer.decoder = decoders.ByteLevel()
        case Words():
            tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
            if settings.split == "punctuation":  # which cuts "<s>" too
                signs = pre_tokenizers.Split(Regex(r"[^\p{L}\p{M}\p{N}_]"), "isolated")
                tokenizer.pre_tokenizer = pre_tokenizers.Sequence([tokenizer.pre_tokenizer, signs])
            else:
                before.append(_ESCAPE)
            space = decoders.Replace(Regex("^"), " ")
            tokenizer.decoder = decoders.Sequence([_UNESCAPE, space, decoders.Fuse(), decoders.Strip(" ", 1, 0)])
        case BPE() | Unigram():
            before.append(normalizers.Prepend(" "))
            split: list[pre_tokenizers.PreTokenizer] = [pre_tokenizers.Split(Regex(SUBWORD_SPLIT), "isolated")]
            join: list[decoders.Decoder] = [decoders.Fuse()]
            if isinstance(settings, BPE) and settings.bytes:
                split.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
                join = [decoders.ByteLevel()]
            tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
            tokenizer.decoder = decoders.Sequence([*join, decoders.Strip(" ", 1, 0)])
        case _:
            assert_never(settings)
    tokenizer.normalizer = normalizers.Sequence(before)
    return tokenizer


def build_normaliser(settings: Normalise) -> list[normalizers.Normalizer]:
    steps: list[normalizers.Normalizer] = []
    if settings.form == "nfc":
        steps.append(normalizers.NFC())
    elif settings.form == "nfkc":
        steps.append(normalizers.NFKC())
    if settings.lowercase:
        steps.append(normalizers.Lowercase())
    if settings.spaces == "collapse":
        steps += [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    return steps


def byte_alphabet() -> list[str]:
    """The character that stands for each byte in byte-level pieces: itself if it can be seen, else one from 256 on."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = iter(range(256, 512))
    return [chr(byte if byte in seen else next(hidden)) for byte in range(256)]


def unescape(word: str) -> str:
    """A word as it stood in the text."""
    return re.sub(rf"<\\{_NAME}", "<", word)
