#!/bin/sh
# Letters to phonemes of one language: some seeds, then each alone and all together, on the validation part or the test.
#   benchmarks/sigmorphon2021_g2p/language.sh data/sigmorphon2021_g2p/medium/bul runs/bul dev 1 2 3
# The first word is what its files begin with; behind the part come the seeds. What is trained already is only scored.
# RECIPE=recurrent trains that one, STEPS and MINUTES set how long.
set -eu
files=$1 out=$2 part=$3
shift 3
runs=""
for seed in "$@"; do
    seqloom train "benchmarks/sigmorphon2021_g2p/${RECIPE:-transformer}.toml" --data "${files}_train.tsv.gz" --valid "${files}_dev.tsv.gz" \
        --set training.seed="$seed" ${STEPS:+--set training.steps="$STEPS"} ${MINUTES:+--set training.minutes="$MINUTES"} --out "$out-$seed"
    runs="$runs $out-$seed"
done
# shellcheck disable=SC2086
seqloom evaluate $runs --ensemble --data "${files}_$part.tsv.gz" --metrics ser per
