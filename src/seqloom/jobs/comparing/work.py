"""The work of a comparison: each system is trained and asked, unless that was done before."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqloom.data.building import digest
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.answering.generation import SECTION as GENERATION
from seqloom.jobs.comparing.command import ALL, Compare
from seqloom.jobs.comparing.compared import spent
from seqloom.jobs.comparing.folder import ComparedFolder
from seqloom.jobs.comparing.process import work_apart
from seqloom.jobs.comparing.result import Result, current
from seqloom.jobs.comparing.system import System, tested_on
from seqloom.jobs.comparing.worker import Work
from seqloom.jobs.evaluating.evaluated import Note
from seqloom.settings import FailedError
from seqloom.training.figures import duration
from seqloom.training.watch import View

FORMAT = 4  # of results

Outcome = Result | str
"""What a system came to, or why it came to nothing."""


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
        took = list[float]()
        for number, system in enumerate(systems):
            began, made = time.monotonic(), self._work(system)
            known = current(made.into, made.key, made.runs)
            if known is not None:
                self.note(f"[{number + 1} of {len(systems)}] {system.name}: done before")
                found[system.name] = known
                continue
            self.note(
                f"[{number + 1} of {len(systems)}] {system.name}: {self._plan(system, len(systems) - number, took)}"
            )
            found[system.name] = self._done(system.name, made)
            took.append(time.monotonic() - began)
        return found

    def _plan(self, system: System, left: int, took: Sequence[float]) -> str:
        budget = self.command.budget
        what = "answers the test" if system.command is None or budget is None else f"trains for {spent(budget)}"
        each = sum(took) / len(took) if took else None
        if each is None and budget is not None and budget.limit == "minutes":
            each = 60 * budget.amount
        return what + (f"; about {duration(left * each)} left for all" if each is not None and left > 1 else "")

    def _done(self, name: str, work: Work) -> Outcome:
        try:
            work_apart(work)
        except FailedError as error:
            self.note(f"{name} failed: {error}")
            return str(error)
        found = current(work.into, work.key, work.runs)
        return "its result cannot be read again" if found is None else found

    def _work(self, system: System) -> Work:
        asked = json.loads(system.recipe.model_dump_json(exclude={"target", "source"})) if system.command else None
        return self._answering(system.name, system, (system.run,), asked)

    def _answering(self, name: str, system: System, runs: tuple[Path, ...], recipe: Any) -> Work:
        command = self.command
        changes = command.changed(GENERATION)
        facts = [FORMAT, recipe, tested_on(command.test, command.columns, system.recipe), command.columns.said()]
        read = [self.settings.context, self.settings.stride]
        key = digest([*facts, command.metrics, changes, command.skip_bad, read])
        training = system.command if len(runs) == 1 else None
        into = self.folder.result(name)
        return Work(
            training, runs, command.test, command.columns, command.metrics, changes, command.device, command.skip_bad,
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
            return "ensemble", (), "no two systems have the same task and vocabulary: give them the same [text]"
        made = self._answering("+ensemble", members[0], tuple(system.run for system in members), list(who))
        known = current(made.into, made.key, made.runs)
        if known is not None:
            return name, who, known
        self.note(f"{name}: answers the test")
        return name, who, self._done(name, made)


def _largest_group(systems: Sequence[System], results: dict[str, Outcome]) -> list[System]:
    """Those that can write together: the most of one vocabulary."""
    groups: dict[str, list[System]] = {}
    for system in systems:
        result = results[system.name]
        if isinstance(result, Result):
            groups.setdefault(result.vocabulary, []).append(system)
    return max(groups.values(), key=len, default=[])
