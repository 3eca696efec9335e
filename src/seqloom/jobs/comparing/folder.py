"""What a comparison leaves, and where."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from seqloom.jobs.comparing.compared import Compared
from seqloom.jobs.comparing.picture import picture
from seqloom.jobs.comparing.table import Form, text
from seqloom.settings import UserError
from seqloom.store import RunFolder
from seqloom.store.atomic import PARTIAL, reported, write_text

FILES: dict[str, Form] = {"table.txt": "text", "table.md": "markdown", "table.tex": "latex", "results.json": "json"}
PICTURE = "picture.svg"


class ComparedFolder:
    """runs/ has a run a recipe; answers/ what each system said to the test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.request = path / "comparison.json"
        self.runs = path / "runs"
        self.answers = path / "answers"

    def result(self, name: str) -> Path:
        return self.answers / f"{name}.json"

    def locked(self) -> AbstractContextManager[None]:
        """One comparison at a time works here."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UserError(f"{self.path}: is a file; --out names a folder") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be written: {error.strerror}; choose another --out") from None
        return RunFolder(self.path).locked()

    def refuse_other(self) -> None:
        """Nothing is written into a folder that no comparison made, whatever the names of what it holds."""
        if not self.path.is_dir():
            return
        # one that was killed at its very beginning left no more
        early = {RunFolder(self.path).lock, self.request.with_name(self.request.name + PARTIAL)}
        others = [] if self._before() else sorted(file.name for file in self.path.iterdir() if file not in early)
        if others:
            raise UserError(
                f"{self.path}: holds other things than a comparison ({', '.join(others[:3])}); choose another --out"
            )

    def begin(self, request: Mapping[str, Any], force: bool) -> None:
        """Go on with the same comparison; another one is not written over."""
        before = self._before()
        if before and not force:
            self._compare(before, request)
        if force:
            with reported(self.path):
                for folder in (self.runs, self.answers):
                    if folder.exists():
                        shutil.rmtree(folder)
                for name in (PICTURE, *FILES):
                    (self.path / name).unlink(missing_ok=True)
        write_text(self.request, json.dumps(request, indent=1) + "\n")

    def _before(self) -> dict[str, Any]:
        """What was asked for here; nothing, where no comparison is."""
        try:
            before = json.loads(self.request.read_text(encoding="utf-8"))
            data = before["data"]
            # older ones kept no names
            data = data if isinstance(data, dict) else {content: content for content in data}
            return {"budget": before["budget"], "data": data, "settings": before["settings"]}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _compare(self, before: Mapping[str, Any], request: Mapping[str, Any]) -> None:
        """A file that holds the same is the same, whatever its name."""
        lines = [
            f"  {name}: {json.dumps(before[name])} there, {json.dumps(request[name])} now"
            for name in request
            if name != "data" and before[name] != request[name]
        ]
        if sorted(before["data"].values()) != sorted(request["data"].values()):
            lines += _other_data(before["data"], request["data"])
        if lines:
            raise UserError(
                "\n".join(
                    [f"{self.path}: holds another comparison; name another --out, or start anew with --force", *lines]
                )
            )

    def write(self, compared: Compared) -> None:
        for name, form in FILES.items():
            write_text(self.path / name, text(compared, form))
        write_text(self.path / PICTURE, picture(compared))


def _other_data(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Of files by name, what they hold."""
    yield from (f"  {name} has changed since" for name in now if before.get(name, now[name]) != now[name])
    gone, new = (" ".join(name for name in some if name not in other) for some, other in ((before, now), (now, before)))
    if gone or new:
        yield f"  data: {gone or 'nothing else'} there, {new or 'nothing else'} now"
