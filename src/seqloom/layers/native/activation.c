/* f(x + bias), with dropout, in place; and on the way back its gradient in place, with the bias's.

   A rectifier's slope is seen in what it made. The smooth one, gelu-tanh, leaves its slope:
   0.5 x (1 + tanh(c (x + 0.044715 x^3))) = x s(u), u = LINE x + CUBE x^3, s(u) = 1 / (1 + e^-u), c = sqrt(2 / pi);
   its slope is s + x s (1 - s) (LINE + 3 CUBE x^2). */
#include "chance.h"
#include "columns.h"

#define LINE 1.5957691216f
#define CUBE 0.0713548163f

/* x: rows x width. bias may be null. slope null: a rectifier. lost of 2^32 numbers are dropped. */
void activated(float *x, const float *bias, float *slope, int64_t rows, int64_t width, uint64_t seed, uint32_t lost,
               float growth, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        chance_key key = key_of(seed, r);
        float *row = x + r * width, *slopes = slope ? slope + r * width : 0;
        for (int64_t c = 0; c < width; c += LANES) {
            int64_t count = width - c;
            lanes in = load_up_to(row + c, count);
            if (bias) in += load_up_to(bias + c, count);
            lanes out, rise = {0};
            if (slope) {
                lanes square = in * in, sigmoid = 1.0f / (1.0f + exponential(-in * (LINE + CUBE * square)));
                out = in * sigmoid;
                rise = sigmoid + out * (1.0f - sigmoid) * (LINE + 3 * CUBE * square);
            } else
                out = chosen(in < 0, all(0), in); /* what is no number stays none */
            if (lost) {
                whole mask = stays(key, c, lost);
                out = kept(out * growth, mask);
                rise = kept(rise * growth, mask);
            }
            store_up_to(row + c, out, count);
            if (slope) store_up_to(slopes + c, rise, count);
        }
    }
}

/* d becomes d times the slope; bias_d: the sums of its columns, null: not wanted. made: what a rectifier made, else null.
   parts: for blocks of 64 rows, width numbers each. */
void activated_back(float *d, const float *made, const float *slope, float *bias_d, float *parts, int64_t rows,
                    int64_t width, float growth, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t b = 0; b < blocks_of(rows); b++) {
        float *part = parts + b * width;
        int64_t first = b * BLOCK_ROWS, end = smaller_of(rows, first + BLOCK_ROWS);
        for (int64_t r = first; r < end; r++) {
            float *row = d + r * width;
            const float *known = (made ? made : slope) + r * width;
            for (int64_t c = 0; c < width; c += LANES) {
                int64_t count = width - c;
                lanes here = load_up_to(row + c, count), at = load_up_to(known + c, count);
                here = made ? chosen(at <= 0, all(0), here * growth) : here * at;
                store_up_to(row + c, here, count);
                if (bias_d) store_up_to(part + c, r == first ? here : here + load_up_to(part + c, count), count);
            }
        }
    }
    if (bias_d) columns_over(parts, blocks_of(rows), width, bias_d, width);
}
