"""forecast.svg: what a trained model says of the last window of its test or validation, and what came."""

from collections.abc import Sequence

import numpy as np
import torch

from seqloom.data.cache import Cache
from seqloom.data.series.windows import Windows
from seqloom.jobs.answering.forecast_picture import forecast_svg
from seqloom.jobs.answering.forecasting import Forecaster
from seqloom.models.build import Model
from seqloom.settings.words import counted
from seqloom.tasks.forecast import ForecastTask

SERIES = 3  # of which the last window is drawn


def last_window(task: ForecastTask, model: Model, caches: Sequence[Cache], device: torch.device) -> str:
    windows = caches[0]
    assert isinstance(windows, Windows)
    forecaster = Forecaster([task], [model], device)
    forecasts = []
    for of in np.unique(windows.of_N)[:SERIES].tolist():
        start = int(windows.start_N[windows.of_N == of].max())
        forecasts.append(forecaster.at(windows.raw[of], start, task.scales.style))
    return forecast_svg(forecasts, f"the last {counted(task.settings.horizon, 'step')} that were kept back")
