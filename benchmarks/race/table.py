"""The table of a race, as text and as JSON."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from race.copying import language_model, translator
from race.rows import Row
from race.systems import OURS
from race.turns import Runner
from race.work import MEAN, Sample, TrainLanguage, TrainPairs, Write
from seqloom.models.cost import model_cost
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

HEAD = f"{'':26}{'tokens/s':>10}{'ms a turn':>11}{'seqloom is':>12}{'of peak':>9}{'memory':>10}  same work"
CLOSE = 1e-3  # by which two losses of the same weights may differ, as a share


def flops_per_token(row: Row) -> float:
    """Of the model's matrix products, for each token that is written or learnt from."""
    job = row.job
    match job:
        case TrainPairs() | Write():
            settings, length, source = translator(job.size), getattr(job, "mean", MEAN) + 1.0, None
        case TrainLanguage() | Sample():
            length = float(job.context if isinstance(job, TrainLanguage) else job.prompt + job.tokens / 2)
            settings, source = language_model(job.size, job.context), 1.0
    sizes = Sizes(job.size.vocabulary, job.size.vocabulary)
    forward = model_cost(ModelSettings.model_validate(settings), sizes, length, source).flops
    if isinstance(job, TrainPairs | TrainLanguage):
        return 3 * forward
    return forward * (job.beam if isinstance(job, Write) else 1)


def figures(row: Row, runners: Sequence[Runner]) -> list[dict[str, Any]]:
    """A record for each system. seqloom_is: how many times as fast it is."""
    ours = next((runner for runner in runners if runner.name == OURS[0] and runner.seconds), None)
    found = []
    for runner in runners:
        if not runner.seconds:
            found.append({"system": runner.name, "missing": runner.why or "no turn was done"})
            continue
        reached = [flops_per_token(row) * n / t for n, t in zip(runner.tokens, runner.seconds, strict=True)]
        found.append(
            {
                "system": runner.name,
                "threads": runner.threads,
                "tokens_per_second": runner.speed,
                "milliseconds": statistics.median(runner.seconds) * 1e3,
                "all_milliseconds": [seconds * 1e3 for seconds in runner.seconds],
                "seqloom_is": None if ours is None else runner.against(ours),
                "share_of_peak": statistics.median(f / p for f, p in zip(reached, runner.peaks, strict=True)),
                "peak_memory_bytes": runner.memory,
                "joules_per_token": runner.joules_per_token,
                "same_work": _same(runner, ours),
            }
        )
    return found


def _same(runner: Runner, ours: Runner | None) -> str:
    """How it is known that both do the same."""
    if ours is None or runner is ours:
        return ""
    if runner.texts is not None and ours.texts is not None:
        equal = sum(a == b for a, b in zip(runner.texts, ours.texts, strict=True))
        return f"{equal} of {len(ours.texts)} texts equal"
    if runner.first_loss is not None and ours.first_loss is not None:
        near = abs(runner.first_loss - ours.first_loss) <= CLOSE * abs(ours.first_loss)
        return "same weights, same loss" if near else "its own weights; same batches"
    return "so many tokens; its texts mean nothing" if ours.texts is not None else "so many tokens, by chance"


def lines(row: Row, records: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield row.name
    differ = len({one["threads"] for one in records if "missing" not in one}) > 1
    for one in records:
        if "missing" in one:
            yield f"  {one['system']:24}  – {one['missing']}"
            continue
        ratio = "" if one["seqloom_is"] is None else f"{one['seqloom_is']:.2f}×"
        energy = "" if one["joules_per_token"] is None else f"   {one['joules_per_token'] * 1e3:.1f} J a 1,000 tokens"
        yield (
            f"  {one['system']:24}{one['tokens_per_second']:10,.0f}{one['milliseconds']:11,.0f}{ratio:>12}"
            f"{one['share_of_peak']:9.0%}{one['peak_memory_bytes'] / 2**20:7,.0f} MB  {one['same_work']}{energy}"
            + (f"   {one['threads']} thread{'s' * (one['threads'] > 1)}" if differ else "")
        )
    yield from _fastest(records)


def _fastest(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    peers = [one for one in records if "missing" not in one and one["system"] not in OURS]
    mine = [one for one in records if "missing" not in one and one["system"] in OURS]
    if peers and mine:
        peer = max(peers, key=lambda one: one["tokens_per_second"])
        best = max(mine, key=lambda one: one["tokens_per_second"])
        yield (
            f"  seqloom is {peer['seqloom_is']:.2f}× the fastest peer ({peer['system']})"
            + ("" if best["system"] == OURS[0] else f"; {best['system']}: {_ratio(best, peer):.2f}×")
        )


def _ratio(mine: dict[str, Any], peer: dict[str, Any]) -> float:
    return statistics.median(b / a for a, b in zip(mine["all_milliseconds"], peer["all_milliseconds"], strict=True))
