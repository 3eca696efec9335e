"""scikit-learn's 1,797 digits as two .npz files: four fifths to train on, one fifth to test on, drawn by a seed.

python benchmarks/digits/split.py SEED FOLDER
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

TEST_SHARE = 0.2


def main() -> None:
    seed, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.images))
    tested = round(TEST_SHARE * len(order))
    for name, rows in ("test", order[:tested]), ("train", order[tested:]):
        np.savez(folder / f"{name}.npz", images=data.images[rows].astype(np.uint8), labels=data.target[rows])


if __name__ == "__main__":
    main()
