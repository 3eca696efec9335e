/* A rectifier, or the smooth activation, gelu-tanh, with dropout behind it; and what they do to a gradient.

   A rectifier's slope is seen in what it made. The smooth one leaves its slope:
   0.5 x (1 + tanh(c (x + 0.044715 x^3))) = x s(u), u = LINE x + CUBE x^3, s(u) = 1 / (1 + e^-u), c = sqrt(2 / pi);
   its slope is s + x s (1 - s) (LINE + 3 CUBE x^2). */
#ifndef ACTIVATION_H
#define ACTIVATION_H
#include "chance.h"

#define LINE 1.5957691216f
#define CUBE 0.0713548163f

typedef struct {
    int smooth;
    uint64_t seed;
    uint32_t lost; /* of 2^32 numbers */
    float growth;
} activation_kind;

/* Of LANES numbers from column c of a row on; rise: the smooth one's slope. */
INLINE lanes activation_of(lanes in, const activation_kind *kind, chance_key key, int64_t c, lanes *rise)
{
    lanes out;
    if (kind->smooth) {
        lanes square = in * in, sigmoid = 1.0f / (1.0f + exponential(-in * (LINE + CUBE * square)));
        out = in * sigmoid;
        *rise = sigmoid + out * (1.0f - sigmoid) * (LINE + 3 * CUBE * square);
    } else
        out = chosen(in < 0, all(0), in); /* what is no number stays none */
    if (kind->lost) {
        whole mask = stays(key, c, kind->lost);
        out = kept(out * kind->growth, mask);
        if (kind->smooth) *rise = kept(*rise * kind->growth, mask);
    }
    return out;
}

/* known: the smooth one's slope, or what the rectifier made. */
INLINE lanes activation_back(lanes d, lanes known, const activation_kind *kind)
{
    return kind->smooth ? d * known : chosen(known <= 0, all(0), d * kind->growth);
}
#endif
