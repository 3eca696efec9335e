/* Sums over rows, for each column: block by block of rows, then over the blocks, so that threads change no bit. */
#ifndef COLUMNS_H
#define COLUMNS_H
#include "lanes.h"

#define BLOCK_ROWS 64

INLINE int64_t blocks_of(int64_t rows) { return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS; }

/* sums[c] = the sum of parts[b * step + c] over b. */
static void columns_over(const float *parts, int64_t blocks, int64_t step, float *sums, int64_t width)
{
    if (!blocks) memset(sums, 0, width * sizeof *sums);
    for (int64_t b = 0; b < blocks; b++) {
        const float *part = parts + b * step;
        if (b) {
#pragma omp simd
            for (int64_t c = 0; c < width; c++) sums[c] += part[c];
        } else
            memcpy(sums, part, width * sizeof *sums);
    }
}
#endif
