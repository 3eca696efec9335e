"""One model's weights into another, as far as they fit: by part, by name, and by token where rows stand for tokens."""
# V rows, of tokens or labels  D width

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import torch
from torch import Tensor

from seqloom.data.readings import Readings
from seqloom.jobs.starting.counterpart import STACKS, Counterparts, Part, side_of
from seqloom.layers.chain import Chain
from seqloom.layers.embedding import TokenEmbedding
from seqloom.layers.images import ImageEmbedding
from seqloom.layers.positions import LearnedPositions
from seqloom.models.build import Model
from seqloom.models.heads import ClassHead, TagHead, TokenHead
from seqloom.store import weights
from seqloom.tasks import Codecs
from seqloom.text import BPE, SPECIALS, Labels, Unigram, Vocabulary, Words

Side = Vocabulary | Labels | Readings | None
"""What the rows of a table stand for."""

LEAST = 0.5
"""The share of a stack's parameters that has to fit."""


@dataclass
class Tally:
    """What became of a part of the new model, in parameters."""

    taken: int = 0
    new: int = 0
    why: list[str] = field(default_factory=list)
    other_shapes: list[str] = field(default_factory=list)

    def rows(self, table: "Table", found: int, here: Tensor) -> None:
        each = here[0].numel()
        self.taken += found * each
        self.new += (len(here) - found) * each
        if table.told:
            more = f", {len(here) - found:,} new" if found < len(here) else ""
            self.why.append(f"{found:,} of {len(here):,} {table.kind}s{more}")


@dataclass(frozen=True)
class Taken:
    """parts: of the new model. left: parameters of the old model that went nowhere, by part."""

    parts: Mapping[str, Tally]
    left: Mapping[str, int]

    def lines(self) -> list[str]:
        """A table in Markdown, made so that it is easily read as it stands; and what is left over, below it."""
        rows = [("part", "taken", "new", "of which")]
        rows += [
            (name, f"{tally.taken:,}", f"{tally.new:,}", "; ".join(tally.why)) for name, tally in self.parts.items()
        ]
        one, two, three, four = (max(len(row[column]) for row in rows) for column in range(4))
        made = [f"| {a:<{one}} | {b:>{two}} | {c:>{three}} | {d:<{four}} |" for a, b, c, d in rows]
        ruler = f"| {'-' * one} | {'-' * (two - 1)}: | {'-' * (three - 1)}: | {'-' * four} |"
        left = ", ".join(f"{name} ({count:,})" for name, count in self.left.items())
        return [made[0], ruler, *made[1:], *(["", f"left over there: {left}"] if left else [])]

    def misfit(self) -> str | None:
        """Why it is not worth beginning from; None: enough was taken."""
        stacks = {name: tally for name, tally in self.parts.items() if name in STACKS and (tally.taken or tally.new)}
        began = {name: tally for name, tally in stacks.items() if tally.taken or tally.other_shapes}
        for name, tally in began.items():
            share = tally.taken / (tally.taken + tally.new)
            if share < LEAST:
                shapes = "; ".join(tally.other_shapes[:2])
                return f"{share:.0%} of the {name} fit" + (f" ({shapes})" if shapes else "")
        if stacks and not began:
            return f"it has nothing for the {' and the '.join(stacks)}"
        return None if any(tally.taken for tally in self.parts.values()) else "nothing of it fits"


@torch.no_grad()
def take(new: Model, old: Model, counterparts: Counterparts, new_codecs: Codecs, old_codecs: Codecs) -> Taken:
    """Copy what fits, in place. Rows are found by token or label; a new row is drawn around the mean of the old."""
    theirs, used = dict(old.state_dict()), set[str]()
    tables, tallies = _tables(new), dict[str, Tally]()
    for name, here in weights(new).items():
        first, _, rest = name.partition(".")
        part = cast(Part, first)
        tally, of = tallies.setdefault(part, Tally()), counterparts.parts.get(part)
        there = theirs.get(f"{of}.{rest}")
        table = tables.get(name)
        if of is not None and there is not None and table is not None and table.fits(here, there):
            names = table.names(side_of(new_codecs, part), side_of(old_codecs, of))
            found = _take_square(here, there, *names) if table.square else _take_rows(here, there, *names)
            tally.rows(table, found, here)
            used.update([f"{of}.{rest}"] if found else [])
        elif there is not None and there.shape == here.shape:
            here.copy_(there)
            tally.taken += here.numel()
            used.add(f"{of}.{rest}")
        else:
            tally.new += here.numel()
            if there is not None:
                tally.other_shapes.append(f"{name}: {list(there.shape)} there, {list(here.shape)} here")
    for module in new.modules():
        # pixels stand for their numbers, whatever vocabulary they had before
        if isinstance(module, ImageEmbedding) and isinstance(new_codecs.source, Vocabulary):
            module.learn(new_codecs.source.pieces(range(len(new_codecs.source))))
    return Taken(tallies, _left(old, used))


@dataclass(frozen=True)
class Table:
    """A parameter whose rows stand for something. told: whether it is worth a word, as a bias is not.

    square: its columns stand for the same.
    """

    kind: Literal["token", "label", "position"]
    told: bool = True
    square: bool = False

    def fits(self, here: Tensor, there: Tensor) -> bool:
        return self.square or there.shape[1:] == here.shape[1:]

    def names(self, new: Side, old: Side) -> tuple[Sequence[str] | None, Sequence[str] | None]:
        """Of its rows, here and there; None: they go by number."""
        if self.kind == "position":
            return None, None
        if (
            isinstance(new, Vocabulary)
            and isinstance(old, Vocabulary)
            and {_of_words(new), _of_words(old)} == {True, False}
        ):
            return _whole_words(new), _whole_words(old)
        return None if new is None else new.names, None if old is None else old.names


def _of_words(vocabulary: Vocabulary) -> bool | None:
    """Whether it is of whole words, or of pieces of them; None: of other things."""
    return {Words: True, BPE: False, Unigram: False}.get(type(vocabulary.settings))


def _whole_words(vocabulary: Vocabulary) -> Sequence[str]:
    """As words are written elsewhere: " the" is the word "the", and "the" within a word is none."""
    if _of_words(vocabulary) is not False:
        return vocabulary.names
    return [*SPECIALS, *vocabulary.whole_words()[len(SPECIALS) :]]


def _tables(model: Model) -> dict[str, Table]:
    found = dict[str, Table]()
    for path, module in model.named_modules():
        match module:
            case TokenEmbedding():
                found[f"{path}.weight_VD"] = Table("token")
            case TokenHead():
                found[f"{path}.weight_VD"], found[f"{path}.bias_V"] = Table("token"), Table("token", told=False)
            case TagHead() | ClassHead():
                found[f"{path}.out.weight"], found[f"{path}.out.bias"] = Table("label"), Table("label", told=False)
            case Chain():
                found[f"{path}.begin_V"] = found[f"{path}.end_V"] = Table("label", told=False)
                found[f"{path}.follow_VV"] = Table("label", told=False, square=True)
            case LearnedPositions():
                found[f"{path}.weight_PD"] = Table("position")
            case _:
                pass
    return found


def _take_rows(here_VD: Tensor, there_VD: Tensor, names: Sequence[str] | None, old: Sequence[str] | None) -> int:
    """How many rows were found; where none is, all stay as they are."""
    if names is None or old is None:
        pairs = [(row, row) for row in range(min(len(here_VD), len(there_VD)))]
    else:
        place = {name: row for row, name in enumerate(old)}
        pairs = [(row, place[name]) for row, name in enumerate(names) if name and name in place]
    if not pairs:
        return 0
    if len(pairs) < len(here_VD) and len(there_VD) > 1:
        mean, deviation = there_VD.float().mean(0), there_VD.float().std(0)
        here_VD.copy_(mean + deviation * torch.randn(here_VD.shape))
    mine, theirs = (torch.tensor(rows) for rows in zip(*pairs, strict=True))
    here_VD[mine] = there_VD[theirs].to(here_VD)
    return len(pairs)


def _take_square(here_VV: Tensor, there_VV: Tensor, names: Sequence[str] | None, old: Sequence[str] | None) -> int:
    """How many rows were found; what has no counterpart stays as it is."""
    place = {name: row for row, name in enumerate(old or ())}
    mine = [row for row, name in enumerate(names or ()) if name in place]
    if not mine:
        return 0
    theirs = [place[(names or ())[row]] for row in mine]
    here_VV[torch.tensor(mine)[:, None], mine] = there_VV[torch.tensor(theirs)[:, None], theirs].to(here_VV)
    return len(mine)


def _left(old: Model, used: Collection[str]) -> dict[str, int]:
    """What is tied counts once, and is used if one of its names is."""
    tensors, groups = old.state_dict(keep_vars=True), dict[int, list[str]]()
    for name, tensor in tensors.items():
        groups.setdefault(id(tensor), []).append(name)
    left = Counter[str]()
    for names in groups.values():
        if not any(name in used for name in names):
            path = names[0].split(".")
            left[".".join(path[: 3 if path[1] == "blocks" else 1])] += tensors[names[0]].numel()
    return dict(left)
