"""The work of a comparison: each system is trained and asked, unless that was done before."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from seqloom.data.building import digest
from seqloom.evaluation.build import named
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.answering.generation import SECTION as GENERATION
from seqloom.jobs.comparing.command import ALL, Compare
from seqloom.jobs.comparing.compared import spent
from seqloom.jobs.comparing.folder import ComparedFolder
from seqloom.jobs.comparing.process import work_apart
from seqloom.jobs.comparing.result import Result, current
from seqloom.jobs.comparing.system import System, is_trained, tested_on
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.evaluating.evaluated import Note
from seqloom.jobs.evaluating.said import allowed
from seqloom.settings import FailedError
from seqloom.training.figures import duration
from seqloom.training.watch import View

FORMAT = 6  # of results
ANSWERS, SCORES = "answers the test", "scores the references of the test"

Outcome = Result | str
"""What a system came to, or why it came to nothing."""


@dataclass(frozen=True)
class Plan:
    """What a system does, in words. done: its result, if nothing is left to do."""

    work: Work
    what: str
    done: Result | None = None


class Workshop:
    """Where all systems are trained and asked, one behind the other, each in a process of its own."""

    def __init__(
        self, command: Compare, settings: EvaluationSettings, folder: ComparedFolder, note: Note, view: View
    ) -> None:
        self.command, self.settings = command, settings
        self.folder, self.note, self.view = folder, note, view

    def all(self, systems: Sequence[System]) -> dict[str, Outcome]:
        """Of each the result, or why there is none."""
        found: dict[str, Outcome] = {}
        took: dict[str, list[float]] = {}
        plans = [self._plan(system) for system in systems]
        for number, (system, plan) in enumerate(zip(systems, plans, strict=True)):
            which = f"[{number + 1} of {len(systems)}] {system.name}"
            if plan.done is not None:
                self.note(f"{which}: done before")
                found[system.name] = plan.done
                continue
            left = [other.what for other in plans[number:] if other.done is None]
            self.note(f"{which}: {plan.what}{self._left(left, took) if len(left) > 1 else ''}")
            began = time.monotonic()
            found[system.name] = self._done(system.name, plan.work, found)
            if isinstance(found[system.name], Result):
                took.setdefault(plan.what, []).append(time.monotonic() - began)
        return found

    def _plan(self, system: System) -> Plan:
        made, budget = self._work(system), self.command.budget
        known = current(made.into, made.key, made.runs)
        if known is not None:
            return Plan(made, SCORES, known if known.has(made.metrics) else None)
        if budget is None or is_trained(system):
            return Plan(replace(made, view="none"), ANSWERS)  # nobody needs to hear that its training is done
        return Plan(made, f"trains for {spent(budget)}")

    def _left(self, what: Sequence[str], took: Mapping[str, Sequence[float]]) -> str:
        """How long others of the kind took; until the first is done, the minutes of training are the least."""
        budget = self.command.budget
        least = 60 * budget.amount if budget is not None and budget.limit == "minutes" else 0.0
        seconds = sum(mean(took.get(one) or [0.0 if one in (ANSWERS, SCORES) else least]) for one in what)
        words = "about" if all(one in took for one in what) else "at least"
        return f"; {words} {duration(seconds)} left for all" if seconds else ""

    def _done(self, name: str, work: Work, before: Mapping[str, Outcome]) -> Outcome:
        """before: what others came to; a reason that was told of one of them is not told again."""
        try:
            work_apart(work)
        except FailedError as error:
            alike = next((other for other, outcome in before.items() if outcome == str(error)), None)
            self.note(f"{name} failed: {error if alike is None else f'as {alike} did'}")
            return str(error)
        found = current(work.into, work.key, work.runs)
        return "its result cannot be read again" if found is None else found

    def _work(self, system: System) -> Work:
        asked = json.loads(system.recipe.model_dump_json(exclude={"target", "source"})) if system.command else None
        return self._answering(system.name, system, (system.run,), asked)

    def _answering(self, name: str, system: System, runs: tuple[Path, ...], recipe: Any) -> Work:
        command = self.command
        changes, metrics = command.changed(GENERATION), named(command.metrics, *allowed(system.recipe.task))
        facts = [FORMAT, recipe, tested_on(command.test, command.columns, system.recipe), command.columns.said()]
        read = [self.settings.context, self.settings.stride]
        key = digest([*facts, changes, command.skip_bad, read])
        training = system.command if len(runs) == 1 else None
        into = self.folder.result(name)
        return Work(
            training, runs, command.test, command.columns, tuple(metrics), changes, command.device, command.skip_bad,
            self.view, key, into, self.settings,
        )  # fmt: skip

    def ensemble(self, systems: Sequence[System], results: dict[str, Outcome]) -> tuple[str, tuple[str, ...], Outcome]:
        """Its name, who is in it, and its result or why there is none."""
        named = self.command.ensemble
        members = [system for system in systems if system.name in named]
        if named == (ALL,):
            members = _largest_group(systems, results)
        name = " + ".join(system.name for system in members) if len(members) == 2 else f"ensemble of {len(members)}"
        who = tuple(system.name for system in members)
        failed = [system.name for system in members if isinstance(results[system.name], str)]
        if failed:
            return name, who, f"{', '.join(failed)} failed"
        if len(members) < 2:
            lost = [system.name for system in systems if isinstance(results[system.name], str)]
            if len(systems) - len(lost) < 2:
                return "ensemble", (), f"needs two systems, and {', '.join(lost)} failed"
            return "ensemble", (), "no two systems have the same task and vocabulary: give them the same [text]"
        made = self._answering("+ensemble", members[0], tuple(system.run for system in members), list(who))
        known = current(made.into, made.key, made.runs)
        if known is not None and known.has(made.metrics):
            return name, who, known
        self.note(f"{name}: {ANSWERS if known is None else SCORES}")
        return name, who, self._done(name, made, results)


def _largest_group(systems: Sequence[System], results: dict[str, Outcome]) -> list[System]:
    """Those that can write together: the most of one vocabulary."""
    groups: dict[str, list[System]] = {}
    for system in systems:
        result = results[system.name]
        if isinstance(result, Result):
            groups.setdefault(result.vocabulary, []).append(system)
    return max(groups.values(), key=len, default=[])
