/* f(x + bias), with dropout, in place; and on the way back its gradient in place, with the bias's. */
#include "activation.h"
#include "columns.h"

/* x: rows x width. bias may be null. slope null: a rectifier. */
void activated(float *x, const float *bias, float *slope, int64_t rows, int64_t width, uint64_t seed, uint32_t lost,
               float growth, int threads)
{
    activation_kind kind = {slope != 0, seed, lost, growth};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        chance_key key = key_of(seed, r);
        float *row = x + r * width, *slopes = slope ? slope + r * width : 0;
        for (int64_t c = 0; c < width; c += LANES) {
            int64_t count = width - c;
            lanes in = load_up_to(row + c, count), rise;
            if (bias) in += load_up_to(bias + c, count);
            store_up_to(row + c, activation_of(in, &kind, key, c, &rise), count);
            if (slope) store_up_to(slopes + c, rise, count);
        }
    }
}

/* d becomes d times the slope; bias_d: the sums of its columns, null: not wanted. made: what a rectifier made, else null.
   parts: for blocks of 64 rows, width numbers each. */
void activated_back(float *d, const float *made, const float *slope, float *bias_d, float *parts, int64_t rows,
                    int64_t width, float growth, int threads)
{
    activation_kind kind = {made == 0, 0, 0, growth};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t b = 0; b < blocks_of(rows); b++) {
        float *part = parts + b * width;
        int64_t first = b * BLOCK_ROWS, end = smaller_of(rows, first + BLOCK_ROWS);
        for (int64_t r = first; r < end; r++) {
            float *row = d + r * width;
            const float *known = (made ? made : slope) + r * width;
            for (int64_t c = 0; c < width; c += LANES) {
                int64_t count = width - c;
                lanes here = activation_back(load_up_to(row + c, count), load_up_to(known + c, count), &kind);
                store_up_to(row + c, here, count);
                if (bias_d) store_up_to(part + c, r == first ? here : here + load_up_to(part + c, count), count);
            }
        }
    }
    if (bias_d) columns_over(parts, blocks_of(rows), width, bias_d, width);
}
