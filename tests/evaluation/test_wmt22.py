"""Every published BLEU and chrF of 24 systems comes out, with difference 0."""

import pytest

from seqloom.evaluation import Bleu, Chrf, total
from tests.evaluation import wmt22


@pytest.mark.slow
@pytest.mark.skipif(
    not wmt22.FOLDER.is_dir(), reason=f"needs the WMT22 systems in {wmt22.FOLDER}, and they are not there"
)
def test_official_scores() -> None:
    metrics, wrong = {"bleu": Bleu(), "chrf": Chrf()}, []
    officials = wmt22.officials()
    for official in officials:
        said = wmt22.lines(official.pair, f"hyp.{official.system}")
        wanted = [wmt22.lines(official.pair, f"ref.{name}") for name in official.references]
        metric = metrics[official.metric]
        score = float(metric.score(total(metric.statistics(said, wanted))))
        wrong += [(official, score)] if score != official.score else []
    assert wrong == []
    assert len(officials) == 132  # 84 against one reference, 48 against all
    assert len({(official.pair, official.system) for official in officials}) == 24
