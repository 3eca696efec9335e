"""What is said of a run that is asked for again when it is done."""

from seqloom.store import RunFolder
from seqloom.training.place import Place
from seqloom.training.settings import TrainingSettings


def done_already(run: RunFolder, place: Place, over: str | None, training: TrainingSettings) -> str:
    """Nothing, if there is something left to do. over: why nothing is."""
    if over is None:
        return ""
    return (
        f"{run.path}: is done already, after step {place.step}: {over}; to go on, ask for more "
        f"({' or '.join(_more(place, training))}), or begin anew with --force"
    )


def _more(place: Place, training: TrainingSettings) -> list[str]:
    """What may have ended it: its patience, or one of its limits."""
    if training.patience and place.since_best >= training.patience:
        return [f"training.patience above {place.since_best}"]
    limits = {
        "--minutes": training.minutes,
        "training.steps": training.steps,
        "training.epochs": training.epochs,
        "training.flops": training.flops,
    }
    return [
        f"{name} above {value if isinstance(value, int) else f'{value:g}'}"
        for name, value in limits.items()
        if value is not None
    ]
