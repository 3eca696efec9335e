"""What is raced: the rows of the table."""

from dataclasses import dataclass, replace

from race.work import BASE, LANGUAGE, SMALL, Job, Sample, TrainLanguage, TrainPairs, Write

TRAINERS = ("seqloom", "transformers", "torch.nn.Transformer", "x-transformers", "JoeyNMT", "OpenNMT-py", "Eole")
LEARNERS = ("seqloom", "transformers", "transformers, compiled", "torch.nn, compiled", "x-transformers")
OURS = ("seqloom", "seqloom int8", "seqloom, engine chosen")
SEARCHERS = (
    *OURS[:2],
    "transformers",
    "CTranslate2",
    "CTranslate2 int8",
)  # engines are for greedy writing only
WRITERS = (*OURS, "transformers", "CTranslate2", "CTranslate2 int8")
PLAIN_WRITERS = ("x-transformers", "torch.nn.Transformer", "JoeyNMT")
SAMPLERS = ("seqloom", "seqloom int8", "transformers", "CTranslate2", "CTranslate2 int8", "x-transformers")


@dataclass(frozen=True)
class Row:
    """turns: of each system. quick: its turns where all has to be done in minutes; None: left out then.

    quickly: who takes part then.
    """

    name: str
    job: Job
    systems: tuple[str, ...]
    turns: int
    quick: int | None = None
    quickly: tuple[str, ...] = ()


CPU = (
    Row("train small", TrainPairs(SMALL, 0.0, 2048), TRAINERS, 9),
    Row("train small, dropout 0.1", TrainPairs(SMALL, 0.1, 2048), TRAINERS, 9, 3, TRAINERS[:3]),
    Row("train language 384 × 6", TrainLanguage(LANGUAGE, 0.0), LEARNERS, 9, 3, ("seqloom", "transformers")),
    Row("train base, dropout 0.1", TrainPairs(BASE, 0.1, 1024), TRAINERS, 5),
    Row("greedy small, batch 64", Write(SMALL, 256, 1, 64), (*WRITERS, *PLAIN_WRITERS), 5, 3, WRITERS),
    Row("beam 5 small, batch 64", Write(SMALL, 256, 5, 64), SEARCHERS, 3, 1, SEARCHERS),
    Row("greedy base, batch 64", Write(BASE, 128, 1, 64), WRITERS, 3),
    Row("beam 5 base, batch 64", Write(BASE, 64, 5, 64), SEARCHERS, 3),
    Row("one at a time, small", Write(SMALL, 32, 1, 1), WRITERS, 5, 2, WRITERS),
    Row("one at a time, base", Write(BASE, 16, 1, 1), WRITERS, 3),
    Row("sample, 1 stream", Sample(LANGUAGE, 1, 200), SAMPLERS, 5, 2, SAMPLERS[:5]),
    Row("sample, 16 streams", Sample(LANGUAGE, 16, 200), SAMPLERS, 3),
)
_WRITERS = ("seqloom", "transformers", "CTranslate2")
GPU = (
    Row("train base", TrainPairs(BASE, 0.0, 25_000, mean=27), TRAINERS[:4], 60, 20, TRAINERS[:2]),
    Row("train base, dropout 0.1", TrainPairs(BASE, 0.1, 25_000, mean=27), TRAINERS[:4], 60),
    Row("train small", TrainPairs(SMALL, 0.0, 12_000, mean=27), TRAINERS[:4], 120, 40, TRAINERS[:2]),
    Row("train language 384 × 6", TrainLanguage(LANGUAGE, 0.0, rows=64), LEARNERS, 60),
    Row("greedy base, batch 512", Write(BASE, 512, 1, 512), _WRITERS, 5, 2, _WRITERS[:2]),
    Row("beam 5 base, batch 512", Write(BASE, 512, 5, 512), _WRITERS, 3),
    Row("sample, 16 streams", Sample(LANGUAGE, 16, 200), ("seqloom", "transformers"), 3),
)


def rows(device: str, quick: bool) -> list[Row]:
    found = CPU if device == "cpu" else GPU
    if not quick:
        return list(found)
    return [replace(row, turns=row.quick, systems=row.quickly) for row in found if row.quick is not None]
