/* The factors of a product put into panels, in which a tile reads them one behind the other. */
#ifndef PANELS_H
#define PANELS_H
#include "lanes.h"

#define TALL 6 /* rows of a tile */
#define TILE 4 /* registers in each */
#define PANEL (TILE * LANES)
#define AHEAD 4 /* lines or rows that are fetched before they are put into panels */
#define GAP LANES /* between panels of a, so that they do not all lie in the same part of a cache */

INLINE void turned_square(const float *from, int64_t step, float *to)
{
    lanes x[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        __builtin_prefetch(from + i * step + AHEAD * LANES);
        x[i] = load(from + i * step);
    }
    turn(x);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) store(to + i * PANEL, x[i]);
}

/* Panels of b, depth x PANEL each; what is too much is 0. One of row and column is 1. */
static void panels_of(const float *from, int64_t row, int64_t column, int64_t depth, int64_t width, float *to)
{
    int64_t full = width / PANEL, panel = depth * PANEL, rest = width - full * PANEL;
    for (int64_t p = 0; column == 1 && p < full; p += 4) /* some side by side, as memory is read ahead along a row */
        for (int64_t k = 0; k < depth; k++)
            for (int64_t q = p; q < smaller_of(full, p + 4); q++)
#pragma GCC unroll 4
                for (int n = 0; n < PANEL; n += LANES) {
                    const float *here = from + k * row + q * PANEL + n;
                    __builtin_prefetch(here + AHEAD * row);
                    store(to + q * panel + k * PANEL + n, load(here));
                }
    for (int64_t p = 0; column != 1 && p < full; p++) {
        const float *here = from + p * PANEL * column;
        int64_t even = depth / LANES * LANES;
        for (int64_t k = 0; k < even; k += LANES)
            for (int n = 0; n < PANEL; n += LANES)
                turned_square(here + n * column + k, column, to + p * panel + k * PANEL + n);
        for (int64_t k = even; k < depth; k++)
            for (int n = 0; n < PANEL; n++) to[p * panel + k * PANEL + n] = here[n * column + k];
    }
    for (int64_t k = 0; rest && k < depth; k++)
        for (int n = 0; n < PANEL; n++)
            to[full * panel + k * PANEL + n] = n < rest ? from[k * row + (full * PANEL + n) * column] : 0;
}

#define SOME 8 /* steps; and rows that are copied at once: the next step overwrites what is more than TALL */
typedef float some_rows __attribute__((vector_size(4 * SOME)));

/* SOME steps of some panels, with which more steps follow. sums: to which they are added, or null. */
INLINE void steps_of_panels(const float *from, int64_t column, int64_t count, float *to, int64_t panel, float *sums)
{
    const float *row[SOME];
#pragma GCC unroll 8
    for (int k = 0; k < SOME; k++) row[k] = from + k * column;
    for (int64_t p = 0; p < count; p++, to += panel) {
        some_rows total = {0};
#pragma GCC unroll 8
        for (int k = 0; k < SOME; k++) {
            some_rows here;
            __builtin_prefetch(row[k] + SOME * column + p * TALL);
            memcpy(&here, row[k] + p * TALL, sizeof here);
            memcpy(to + k * TALL, &here, sizeof here);
            if (sums) total += here;
        }
        if (sums)
            for (int m = 0; m < TALL; m++) sums[p * TALL + m] += total[m];
    }
}

/* Rows of a, of which each lies in a column, into panels of TALL of them. */
static void panels_of_a(const float *from, int64_t column, int64_t depth, int64_t rows, float *to, float *sums)
{
    int64_t panel = TALL * depth + GAP, safe = larger_of(0, (rows - SOME + TALL) / TALL); /* SOME numbers can be read */
    for (int64_t first = 0; first < depth; first += SOME) {
        int64_t count = first + SOME < depth ? safe : 0, end = smaller_of(depth, first + SOME);
        if (sums)
            steps_of_panels(from + first * column, column, count, to + first * TALL, panel, sums);
        else
            steps_of_panels(from + first * column, column, count, to + first * TALL, panel, 0);
        for (int64_t m = count * TALL; m < (rows + TALL - 1) / TALL * TALL; m++) {
            float total = 0;
            for (int64_t k = first; k < end; k++) {
                float here = m < rows ? from[k * column + m] : 0;
                to[m / TALL * panel + k * TALL + m % TALL] = here;
                total += here;
            }
            if (sums && m < rows) sums[m] += total;
        }
    }
}

#endif
