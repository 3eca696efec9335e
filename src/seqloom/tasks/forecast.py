"""Numbers in time: say what comes after them."""
# B windows  R rows that the model reads  L look-back  H horizon  C targets  P known so far  K known ahead
# S steps that are read  F numbers of a step  Q mean and quantiles

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from seqloom.data.cache import Examples
from seqloom.data.series.windows import Frame
from seqloom.layers.layout import Padded
from seqloom.models import Sizes
from seqloom.models.build import Model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.heads import HorizonHead
from seqloom.models.output import Output
from seqloom.models.settings import ModelSettings
from seqloom.tasks.batch import Batch
from seqloom.tasks.codecs import Codecs
from seqloom.tasks.losses import beside
from seqloom.tasks.settings import Forecast
from seqloom.tasks.task import Goals, Task

SMALL = 1e-5  # added to a window's variance, as a constant look-back has none (Kim et al. 2022, eq. 1)


@dataclass(frozen=True)
class WindowBatch(Batch):
    """goal: z-scores_BHC, NaN where missing. A window's forecast is what the model says, times spread, plus level."""

    read_RSF: Tensor = field(default_factory=lambda: torch.empty(0))
    level_BC: Tensor = field(default_factory=lambda: torch.empty(0))
    spread_BC: Tensor = field(default_factory=lambda: torch.empty(0))

    def to(self, device: torch.device) -> "WindowBatch":
        names = ("goal", "read_RSF", "level_BC", "spread_BC")
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in names})

    @property
    def larger(self) -> int:
        return max(len(column.values_N) for column in self.examples.columns.values())

    @property
    def tokens(self) -> int:
        return self.read_RSF.shape[0] * self.read_RSF.shape[1]


class ForecastTask(Task):
    shape = "timeline"
    columns = ("source", "known", "target")
    scores = ("loss", "mse", "mae", "crps")

    def __init__(self, settings: Forecast, codecs: Codecs) -> None:
        assert codecs.scales is not None
        self.settings, self.codecs, self.scales = settings, codecs, codecs.scales

    @staticmethod
    def refuses(model: ModelSettings) -> str | None:
        if model.family != "encoder-only":
            return (
                f"forecast reads a series and says what comes next: it needs an encoder-only model, not {model.family}"
            )
        if model.input.kind not in ("vectors", "patches") or model.output.kind != "horizon":
            return (
                "it reads numbers (model.input.kind = 'patches' or 'vectors') and writes a horizon, "
                f"and the model reads {model.input.kind}, writes {model.output.kind}"
            )
        return None

    @property
    def marks(self) -> int:
        return 0

    @property
    def frame(self) -> Frame:
        return Frame(self.settings.look_back, self.settings.horizon)

    @property
    def apart(self) -> bool:
        return self.settings.channels == "apart"

    @property
    def steps(self) -> int:
        """That are read: the horizon's too, where something of it is known."""
        return self.settings.look_back + (self.settings.horizon if self.scales.known else 0)

    def sizes(self) -> Sizes:
        scales = self.scales
        read = (1 if self.apart else scales.targets) * (2 if scales.gaps else 1)
        read += len(scales.columns.past) + (scales.known + 1 if scales.known else 0)
        return Sizes(read, self.settings.horizon * (1 if self.apart else scales.targets), self.steps)

    def vary(self, examples: Examples, seeds: Sequence[int], longest: int | None) -> Examples:
        return examples

    def batch(self, examples: Examples) -> WindowBatch:
        rows, L, H = len(examples), self.settings.look_back, self.settings.horizon
        C, K = self.scales.targets, self.scales.known
        values = {name: torch.from_numpy(column.values_N) for name, column in examples.columns.items()}
        source_BLX = values["source"].reshape(rows, L, -1)
        goal_BHC = values["target"].reshape(rows, H, C)
        known_BSK = values["known"].reshape(rows, L + H, K)
        past_BLC, beside_BLP = source_BLX[..., :C], source_BLX[..., C:]
        level_BC, spread_BC = _window(past_BLC, self.settings.normalise)
        normal_BLC = (past_BLC - level_BC[:, None]) / spread_BC[:, None]
        return WindowBatch(
            examples,
            None,
            None,
            goal_BHC,
            int((~goal_BHC.isnan()).sum()),
            read_RSF=self._read(normal_BLC, beside_BLP, known_BSK),
            level_BC=level_BC,
            spread_BC=spread_BC,
        )

    def _read(self, normal_BLC: Tensor, beside_BLP: Tensor, known_BSK: Tensor) -> Tensor:
        """The numbers of each step: values, which of them are missing, and what is known beside them."""
        ahead = self.steps - self.settings.look_back
        parts = [normal_BLC.nan_to_num(0.0)[..., None]]
        if self.scales.gaps:
            parts.append(normal_BLC.isnan().to(normal_BLC.dtype)[..., None])
        own_BSCF = F.pad(torch.cat(parts, -1), (0, 0, 0, 0, 0, ahead))
        shared = [F.pad(beside_BLP.nan_to_num(0.0), (0, 0, 0, ahead))]
        if ahead:
            to_come_S = (torch.arange(self.steps) >= self.settings.look_back).to(known_BSK.dtype)
            shared += [known_BSK, to_come_S[:, None].expand(len(known_BSK), -1, 1)]
        shared_BSF = torch.cat(shared, -1)
        if not self.apart:
            return torch.cat((own_BSCF.flatten(2), shared_BSF), -1)
        C = own_BSCF.shape[2]
        each_BCSF = torch.cat((own_BSCF.transpose(1, 2), shared_BSF[:, None].expand(-1, C, -1, -1)), -1)
        return each_BCSF.flatten(0, 1)

    def run(self, model: Model, batch: Batch) -> tuple[Tensor, Output]:
        """The forecast in z-scores, y_BHCQ: its mean, then its quantiles."""
        assert isinstance(model, EncoderOnly)
        assert isinstance(batch, WindowBatch)
        rows, steps, _ = batch.read_RSF.shape
        layout = Padded.whole(rows, steps, batch.read_RSF.device)
        output = model(batch.read_RSF, layout)
        said_RVQ = model.scores(output).float()
        H, C = self.settings.horizon, self.scales.targets
        said_BHCQ = said_RVQ.unflatten(0, (-1, C)).transpose(1, 2) if self.apart else said_RVQ.unflatten(1, (H, C))
        return said_BHCQ * batch.spread_BC[:, None, :, None] + batch.level_BC[:, None, :, None], output

    def loss(self, model: Model, batch: Batch, goals: Goals) -> Tensor:
        said_BHCQ, output = self.run(model, batch)
        loss = self.errors(said_BHCQ, batch.goal, levels_of(model))["loss"]
        return loss + beside(model, output, batch.counted, goals)

    def errors(self, said_BHCQ: Tensor, goal_BHC: Tensor, levels: Sequence[float]) -> dict[str, Tensor]:
        """Sums over all goals that are not missing, in z-scores; crps: twice the mean pinball loss of all levels."""
        there_BHC = ~goal_BHC.isnan()
        wanted_BHC = torch.where(there_BHC, goal_BHC, 0)
        # a mean of a missing goal is its own goal, so that no gradient comes from it
        away_BHC = torch.where(there_BHC, said_BHCQ[..., 0] - wanted_BHC, 0)
        found = {"mse": away_BHC.square().sum(), "mae": away_BHC.abs().sum()}
        match self.settings.loss:
            case "squared":
                loss = found["mse"]
            case "absolute":
                loss = found["mae"]
            case "huber":
                loss = F.huber_loss(away_BHC, torch.zeros_like(away_BHC), reduction="sum")
        if levels:
            found["crps"] = pinball(said_BHCQ[..., 1:], wanted_BHC, there_BHC, levels)
            loss = loss + found["crps"]
        return {"loss": loss, **found}


def levels_of(model: Model) -> tuple[float, ...]:
    """Of the quantiles that a model says."""
    assert isinstance(model.head, HorizonHead)
    return model.head.settings.quantiles


def shown_levels(levels: Sequence[float]) -> str:
    return ", ".join(f"{level:g}" for level in levels) or "none"


def pinball(said_BHCQ: Tensor, wanted_BHC: Tensor, there_BHC: Tensor, levels: Sequence[float]) -> Tensor:
    """2 · mean over levels τ of max(τ·(y − q), (τ − 1)·(y − q)), which nears the CRPS as levels fill (0, 1)."""
    levels_Q = said_BHCQ.new_tensor(levels)
    beyond_BHCQ = torch.where(there_BHC[..., None], wanted_BHC[..., None] - said_BHCQ, 0)
    return 2 * torch.maximum(levels_Q * beyond_BHCQ, (levels_Q - 1) * beyond_BHCQ).mean(-1).sum()


def _window(past_BLC: Tensor, how: str) -> tuple[Tensor, Tensor]:
    """Level and spread of what is known of each look-back; of one without a value, 0 and 1."""
    there_BLC = ~past_BLC.isnan()
    count_BC = there_BLC.sum(1)
    one_BC, zero_BC = torch.ones_like(past_BLC[:, 0]), torch.zeros_like(past_BLC[:, 0])
    if how == "none":
        return zero_BC, one_BC
    plain_BLC = torch.where(there_BLC, past_BLC, 0)
    if how == "last":
        steps_L = torch.arange(past_BLC.shape[1])
        last_BC = torch.where(there_BLC, steps_L[:, None], 0).amax(1)
        return plain_BLC.gather(1, last_BC[:, None]).squeeze(1), one_BC
    mean_BC = plain_BLC.sum(1) / count_BC.clamp(min=1)
    away_BLC = torch.where(there_BLC, past_BLC - mean_BC[:, None], 0)
    spread_BC = (away_BLC.square().sum(1) / count_BC.clamp(min=1) + SMALL).sqrt()
    return mean_BC, torch.where(count_BC > 0, spread_BC, one_BC)
