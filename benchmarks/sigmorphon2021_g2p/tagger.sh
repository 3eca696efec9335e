#!/bin/sh
# Letters to phonemes of one language by taggers: some seeds, then each alone and all together, on the validation part or the
# test.
#   benchmarks/sigmorphon2021_g2p/tagger.sh data/sigmorphon2021_g2p/medium/hbs_latn runs/hbs_latn-tagger dev 1 2 3
# The first word is what its files begin with; behind the part come the seeds. What is trained already is only scored.
# LABELS says how letters are labelled ("--whole --passed nothing": aligned.py), CHANGES what else is set ("--set model.width=256"). OTHERS
# are runs that answer together with these.
set -eu
files=$1 out=$2 part=$3 here=benchmarks/sigmorphon2021_g2p
shift 3
aligned() { python "$here/aligned.py" "$@"; }
said() { # the name of a file for the answers, then who answers
    file=$out/$1.said run=$2
    shift 2
    seqloom predict "$run" "$out/letters" "$@" | aligned join "$out" "$out/letters" >"$file"
}
language=$(basename "$files")
# shellcheck disable=SC2086
[ -e "$out/${language}_dev.conll" ] || aligned align "${files}_train.tsv.gz" "${files}_dev.tsv.gz" ${LABELS:-} --out "$out"
aligned letters "${files}_$part.tsv.gz" >"$out/letters"
aligned phonemes "${files}_$part.tsv.gz" >"$out/phonemes"
first=$1 others="" hypotheses=""
for run in ${OTHERS:-}; do others="$others --ensemble $run"; done
for seed in "$@"; do
    # shellcheck disable=SC2086
    seqloom train "$here/tagger.toml" --data "$out/${language}_train.conll" --valid "$out/${language}_dev.conll" \
        --set training.seed="$seed" ${CHANGES:-} --out "$out-$seed"
    said "$seed" "$out-$seed"
    hypotheses="$hypotheses $seed=$out/$seed.said"
    [ "$seed" = "$first" ] || others="$others --ensemble $out-$seed"
done
if [ -n "$others" ]; then
    # shellcheck disable=SC2086
    said together "$out-$first" $others
    hypotheses="$hypotheses together=$out/together.said"
fi
# shellcheck disable=SC2086
seqloom evaluate --hypotheses $hypotheses --references "$out/phonemes" --metrics ser per
