"""What a comparison leaves, and where."""

import json
import shutil
from collections.abc import Mapping
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

    def begin(self, request: Mapping[str, Any], force: bool) -> None:
        """Go on with the same comparison; another one, and what is none, is not written over."""
        mine = {self.request, self.runs, self.answers, RunFolder(self.path).lock}
        mine |= {self.path / name for name in (self.request.name + PARTIAL, PICTURE, *FILES)}
        others = sorted(file.name for file in self.path.iterdir() if file not in mine)
        if not self.request.exists() and others:
            raise UserError(
                f"{self.path}: holds other things than a comparison ({', '.join(others[:3])}); choose another --out"
            )
        if self.request.exists() and not force:
            self._compare(request)
        if force:
            with reported(self.path):
                for folder in (self.runs, self.answers):
                    if folder.exists():
                        shutil.rmtree(folder)
                for name in (PICTURE, *FILES):
                    (self.path / name).unlink(missing_ok=True)
        write_text(self.request, json.dumps(request, indent=1) + "\n")

    def _compare(self, request: Mapping[str, Any]) -> None:
        try:
            before = json.loads(self.request.read_text(encoding="utf-8"))
            changed = [name for name in request if before[name] != request[name]]
        except (OSError, ValueError, KeyError, TypeError):
            raise UserError(f"{self.request}: cannot be read; --force starts the comparison anew") from None
        if changed:
            lines = [f"  {name}: {json.dumps(before[name])} there, {json.dumps(request[name])} now" for name in changed]
            raise UserError(
                "\n".join(
                    [f"{self.path}: holds another comparison; name another --out, or start anew with --force", *lines]
                )
            )

    def write(self, compared: Compared) -> None:
        for name, form in FILES.items():
            write_text(self.path / name, text(compared, form))
        write_text(self.path / PICTURE, picture(compared))
