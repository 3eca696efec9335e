"""What an answer hangs on, with words."""
# T positions  V vocabulary

from collections.abc import Iterator, Sequence

from torch import Tensor

from seqloom.inspect.changes import Change
from seqloom.inspect.influence import influence
from seqloom.jobs.answering.tags_of import tags_of
from seqloom.jobs.looking.documents import InfluenceDocument, Place
from seqloom.jobs.looking.subject import Subject
from seqloom.models.build import Model as Network
from seqloom.models.heads import HorizonHead
from seqloom.settings import UserError


def influence_document(
    network: Network, subject: Subject, scores: Tensor, changes: Sequence[Change] = ()
) -> Iterator[InfluenceDocument | None]:
    """Last the document; None between the parts of the work. scores: what the model says, scores_TV or scores_V."""
    if isinstance(network.head, HorizonHead):
        raise UserError("influence: a forecast has no probability that could fall; change its history instead")
    scores_TV = scores if scores.dim() == 2 else scores[None]
    rows = subject.rows
    if rows is None:
        rows = tuple(range(subject.begins, len(scores_TV)))
    scores_RV, links = scores_TV[list(rows)], subject.links
    best = scores_RV.argmax(-1).tolist() if links is None else tags_of([scores_RV.float()], links)[0].tags
    goal_T = subject.example.goal
    goals = [
        tag if goal_T is None or goal_T[row] < 0 else int(goal_T[row]) for row, tag in zip(rows, best, strict=True)
    ]
    for found in influence(network, subject.example, rows, goals, changes):
        if found is None:
            yield None
            continue
        names, read = subject.vocabulary(), subject.source or subject.target
        said = tuple(Place(names[goal], goal) for goal in goals)
        columns = read if len(read) == found.shape[1] else tuple(Place(str(i + 1)) for i in range(found.shape[1]))
        yield InfluenceDocument(said, columns, found.float())
