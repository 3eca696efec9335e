"""A folder instead of files: of music, all that is in it."""

from pathlib import Path

from seqloom.data.file_format import format_by_name


def midi_in(folder: str) -> list[str]:
    """The MIDI files in a folder and in those within it, by name; hidden ones are left out."""
    root = Path(folder)
    found = (path for path in root.rglob("*") if format_by_name(path.name) == "midi" and path.is_file())
    return sorted(str(path) for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts))


def holds_midi(name: str) -> bool:
    return Path(name).is_dir() and bool(midi_in(name))
