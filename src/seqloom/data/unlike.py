"""Readings of another scale than those of training: a model answers them all the same, and means nothing by it."""
# T steps  C channels

from collections.abc import Iterable
from itertools import islice

import numpy as np

from seqloom.data.readings import Floats, Readings, steps_of

FAR = 8.0  # deviations of training, in the mean of squares: as where 0 to 15 became 0 to 255
NARROW = 1 / 12  # of training's deviation: as where 0 to 255 became 0 to 15
ENOUGH = 256  # series


def unlike(readings: Readings, series: Iterable[Floats]) -> str | None:
    """What is to be said of the first channel whose values are far from what was learnt; None: of none.

    Where each series has a scale of its own, or none is kept, nothing is known of it.
    """
    some = [np.asarray(steps_of(x), np.float64) for x in islice(series, ENOUGH)]
    alike = [x for x in some if x.shape[-1] == len(readings.names)]
    if readings.settings.scale != "standard" or not alike:
        return None
    x_TC = np.concatenate(alike)
    for channel, name in enumerate(readings.names):
        mean, deviation = readings.mean_C[channel], readings.deviation_C[channel]
        there = x_TC[:, channel][~np.isnan(x_TC[:, channel])]
        if not len(there):
            continue
        of = f" of channel {name}" if len(readings.names) > 1 else ""
        span = f"values{of} from {there.min():.4g} to {there.max():.4g}"
        learnt = f"the run learnt from {mean:.3g} ± {deviation:.3g}"
        if float(np.sqrt(np.mean(np.square((there - mean) / deviation)))) > FAR:
            return f"{span}, but {learnt}; bring them to the scale of training"
        if 0 < there.std() < NARROW * deviation:  # a sensor at rest is no fault
            return f"{span} lie close together, and {learnt}; if their scale is another, bring them to that of training"
    return None
