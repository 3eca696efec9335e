/* z = scale * (carry * x + dropout(y)) and norm(z) * gain + bias, row by row, and their gradients.

   A layer norm centres, an RMS norm does not. Sums over a row are always made in the same order; those over rows block by
   block. What was dropped is not kept: the way back asks chance again. */
#include "chance.h"
#include "columns.h"

typedef struct {
    float carry, scale, growth;
    uint32_t lost;
    uint64_t seed;
} sum_kind;

/* What dropout leaves of LANES numbers of a row. */
INLINE lanes dropped(lanes y, const sum_kind *kind, chance_key key, int64_t c)
{
    return kind->lost ? kept(y * kind->growth, stays(key, c, kind->lost)) : y;
}

/* to = scale * (carry * x + dropout(y)); x null: scale * dropout(y), which is also the way back to y. */
void summed(const float *x, const float *y, float *to, int64_t rows, int64_t width, float carry, float scale,
            uint64_t seed, uint32_t lost, float growth, int threads)
{
    sum_kind kind = {carry, scale, growth, lost, seed};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        chance_key key = key_of(seed, r);
        for (int64_t c = 0; c < width; c += LANES) {
            int64_t at = r * width + c, count = width - c;
            lanes z = dropped(load_up_to(y + at, count), &kind, key, c);
            if (x) z += carry * load_up_to(x + at, count);
            store_up_to(to + at, z * scale, count);
        }
    }
}

/* The norm of z, of which each row's mean and inverse deviation are kept. x, y null: z is given, and not written. */
void normed_sum(const float *x, const float *y, float *z, const float *gain, const float *bias, float *to, float *mean,
                float *inverse, int64_t rows, int64_t width, float epsilon, int centres, float carry, float scale,
                uint64_t seed, uint32_t lost, float growth, int threads)
{
    sum_kind kind = {carry, scale, growth, lost, seed};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        chance_key key = key_of(seed, r);
        float *row = z + r * width, *out = to + r * width;
        lanes sums = all(0), squares = all(0);
        for (int64_t c = 0; c < width; c += LANES) {
            int64_t at = r * width + c, count = width - c;
            lanes here;
            if (x) {
                here = dropped(load_up_to(y + at, count), &kind, key, c);
                here = (here + carry * load_up_to(x + at, count)) * scale;
                store_up_to(row + c, here, count);
            } else
                here = load_up_to(row + c, count);
            sums += here;
        }
        float middle = centres ? sum_of(sums) / width : 0;
        for (int64_t c = 0; c < width; c += LANES) {
            lanes here = load_up_to(row + c, width - c) - middle;
            if (width - c < LANES)
                for (int i = 0; i < LANES; i++)
                    if (i >= width - c) here[i] = 0;
            squares += here * here;
        }
        float steep = 1 / sqrtf(sum_of(squares) / width + epsilon);
        mean[r] = middle;
        inverse[r] = steep;
        for (int64_t c = 0; c < width; c += LANES) {
            int64_t count = width - c;
            lanes here = (load_up_to(row + c, count) - middle) * steep;
            if (gain) here *= load_up_to(gain + c, count);
            if (bias) here += load_up_to(bias + c, count);
            store_up_to(out + c, here, count);
        }
    }
}

/* d: the gradient of the norm. x_d, y_d: those of x and y; y_d null: it is that of x, or not wanted.
   sums: the gain's gradient and behind it the bias's; parts: as many numbers for each block of 64 rows. null: not wanted. */
void normed_sum_back(const float *d, const float *z, const float *mean, const float *inverse, const float *gain,
                     float *x_d, float *y_d, float *sums, float *parts, int64_t rows, int64_t width, int centres,
                     float carry, float scale, uint64_t seed, uint32_t lost, float growth, int threads)
{
    sum_kind kind = {carry, scale, growth, lost, seed};
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t b = 0; b < blocks_of(rows); b++) {
        int64_t first = b * BLOCK_ROWS, end = smaller_of(rows, first + BLOCK_ROWS);
        float *gain_part = parts + 2 * b * width, *bias_part = gain_part + width;
        if (sums) memset(gain_part, 0, 2 * width * sizeof *parts);
        for (int64_t r = first; r < end; r++) {
            chance_key key = key_of(seed, r);
            const float *row = z + r * width, *slope = d + r * width;
            float middle = mean[r], steep = inverse[r];
            lanes total = all(0), along = all(0);
            for (int64_t c = 0; c < width; c += LANES) {
                int64_t count = width - c;
                lanes here = load_up_to(slope + c, count), unit = (load_up_to(row + c, count) - middle) * steep;
                if (sums) {
                    store_up_to(gain_part + c, load_up_to(gain_part + c, count) + here * unit, count);
                    store_up_to(bias_part + c, load_up_to(bias_part + c, count) + here, count);
                }
                if (gain) here *= load_up_to(gain + c, count);
                total += here;
                along += here * unit; /* 0 behind the row's end, as the slope is */
            }
            float even = centres ? sum_of(total) / width : 0, lean = sum_of(along) / width;
            for (int64_t c = 0; c < width; c += LANES) {
                int64_t count = width - c;
                lanes here = load_up_to(slope + c, count), unit = (load_up_to(row + c, count) - middle) * steep;
                if (gain) here *= load_up_to(gain + c, count);
                here = (here - even - unit * lean) * (steep * scale);
                if (x_d) store_up_to(x_d + r * width + c, here * carry, count);
                if (y_d) store_up_to(y_d + r * width + c, dropped(here, &kind, key, c), count);
            }
        }
    }
    if (sums) columns_over(parts, blocks_of(rows), 2 * width, sums, 2 * width);
}
