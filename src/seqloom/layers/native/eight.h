/* Products in eight bits: rows that are rounded on the way, times weights that were rounded once.

   Sums are whole numbers, so that no order of adding changes them: a row's products depend neither on its neighbours
   nor on the machine. Weights lie in panels of 64 outputs, four inputs of an output side by side, as processors read
   them that multiply four pairs of bytes at once. Those want one side without a sign: rows are stored as x + 128, and
   `less` takes it back. */
#ifndef EIGHT_H
#define EIGHT_H
#include "lanes.h"

#define PANEL 64 /* outputs */
#define FOUR 4   /* inputs that are taken at once */
#define MOST 127
#define MIDDLE 128

#if defined(__AMX_INT8__) && defined(__linux__)
#include "tiles.h"
#define HIGH (2 * TILE_ROWS) /* rows that tiles take at once */
#else
#define HIGH 6
#endif

#if defined(__AVX512VNNI__)
#define SUMS 16 /* outputs of a register */
#define BESIDE 4 /* registers */
#define TILE 6 /* rows at once: as many as there are registers for their sums */
#elif defined(__AVX2__)
#define SUMS 8
#define BESIDE 2
#define TILE 4
#else
#define SUMS 4
#define BESIDE 2
#define TILE 4
#endif

typedef int32_t sums __attribute__((vector_size(4 * SUMS)));
typedef float turned __attribute__((vector_size(4 * SUMS)));

typedef struct {
    const int8_t *weight; /* in panels; 0 where there are no such inputs or outputs */
    const float *scale;   /* of each output */
    const int32_t *less;  /* of each output: -128 times the sum of its weights */
    const float *bias;    /* may be null */
    int64_t in, out;
} Eight;

INLINE int64_t padded(int64_t size, int64_t by) { return (size + by - 1) / by * by; }

/* to += four bytes of a row times four weights of each output */
INLINE void add_four(sums *to, int32_t x, const int8_t *weight)
{
#if defined(__AVX512VNNI__)
    sums w, four = x - (sums){0};
    memcpy(&w, weight, sizeof w);
    /* the builtin makes gcc 12 keep all sums in memory */
    __asm__("vpdpbusd %2, %1, %0" : "+v"(*to) : "v"(four), "v"(w));
#elif defined(__AVX2__)
    typedef short half __attribute__((vector_size(32)));
    half w, four = (half)(x - (sums){0});
    memcpy(&w, weight, sizeof w);
    half even = four & 255, odd = (half)((unsigned short __attribute__((vector_size(32))))four >> 8);
    *to += (sums)__builtin_ia32_pmaddwd256((w << 8) >> 8, even) + (sums)__builtin_ia32_pmaddwd256(w >> 8, odd);
#else
    for (int o = 0; o < SUMS; o++)
        for (int i = 0; i < FOUR; i++) (*to)[o] += (int32_t)((uint32_t)x >> 8 * i & 255) * weight[FOUR * o + i];
#endif
}

/* Some rows and outputs, begin to begin + BESIDE registers, of a panel. far: from one row to the next. */
INLINE void tile(const uint8_t *x, int64_t far, const int8_t *panel, int64_t inputs, const int32_t *less,
                 int32_t *to, int64_t to_row, const int rows)
{
    sums all[TILE][BESIDE];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int b = 0; b < BESIDE; b++) memcpy(&all[r][b], less + SUMS * b, sizeof(sums));
    for (int64_t k = 0; k < inputs; k += FOUR) {
        const int8_t *w = panel + k * PANEL;
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, x + r * far + k, sizeof four);
#pragma GCC unroll 8
            for (int b = 0; b < BESIDE; b++) add_four(&all[r][b], four, w + FOUR * SUMS * b);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int b = 0; b < BESIDE; b++) memcpy(to + r * to_row + SUMS * b, &all[r][b], sizeof(sums));
}

#define TILED(ROWS) \
    case ROWS: tile(x, far, panel + FOUR * begin, inputs, less + begin, to + begin, PANEL, ROWS); break;

/* The sums of some rows, up to TILE, with one panel. */
static void panel_of(const uint8_t *x, int64_t far, const int8_t *panel, int64_t inputs, const int32_t *less,
                     int32_t *to, int rows)
{
    for (int begin = 0; begin < PANEL; begin += SUMS * BESIDE)
        switch (rows) {
            TILED(1)
            TILED(2)
            TILED(3)
            TILED(4)
#if TILE == 6
            TILED(5)
            TILED(6)
#endif
        }
}

/* Rows as bytes, each by its own largest number, which is left in `largest`. Bytes behind a row's end weigh nothing. */
static void rounded_rows(const float *x, int64_t rows, int64_t width, uint8_t *to, float *largest, int threads)
{
    int64_t far = padded(width, FOUR);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * width >= MUCH)
    for (int64_t r = 0; r < rows; r++) {
        const float *own = x + r * width;
        uint8_t *out = to + r * far;
        float most = 1.17549435e-38f;
        int none = 0;
#pragma omp simd reduction(max : most) reduction(| : none)
        for (int64_t i = 0; i < width; i++) {
            float size = fabsf(own[i]);
            most = size > most ? size : most;
            none |= size != size;
        }
        float times = MOST / most;
#pragma omp simd
        for (int64_t i = 0; i < width; i++) out[i] = (uint8_t)((int32_t)rintf(own[i] * times) + MIDDLE);
        for (int64_t i = width; i < far; i++) out[i] = MIDDLE;
        largest[r] = none ? NAN : most;
    }
}

/* Whether tiles take so many rows: fewer wait for the weights either way. */
static int by_tiles(const Eight *m, int64_t rows)
{
#if defined(__AMX_INT8__) && defined(__linux__)
    return rows > TILE && m->in % DEEP == 0 && tiles_allowed();
#else
    return 0;
#endif
}

#if !defined(__AMX_INT8__) || !defined(__linux__)
#define shape_tiles(rows)
#define leave_tiles()
#define tiled(...)
#endif

/* A row's largest number so far that may be taken, and where it stands; nowhere yet: -1, with -INFINITY, or with NAN
   where some number was none, which stays. */
typedef struct {
    float high;
    int32_t at;
} Best;

/* What becomes of the sums: numbers in y, by each row's largest; the best of these alone, for each thread; or the sums
   themselves in `whole`. */
typedef struct {
    const float *largest;
    float *y;
    Best *best;
    const uint8_t *never; /* outputs that are not taken */
    int64_t rows;         /* of each thread's best */
    int32_t *whole;
} Made;

INLINE void to_numbers(const Eight *m, const int32_t *sums, float most, int64_t begin, int64_t width, float *restrict to)
{
    const float *scale = m->scale + begin, *bias = m->bias ? m->bias + begin : 0;
    for (int64_t o = 0; o < width; o++) to[o] = (float)sums[o] * most * scale[o] + (bias ? bias[o] : 0);
}

/* Of equals the lower place, as places are looked through from low to high. */
static void keep_best(const float *x, int64_t begin, int64_t width, const uint8_t *never, Best *best)
{
    float high = -INFINITY;
    int none = 0;
#pragma omp simd reduction(max : high) reduction(| : none)
    for (int64_t o = 0; o < width; o++) {
        high = x[o] > high ? x[o] : high;
        none |= x[o] != x[o];
    }
    if (none) *best = (Best){NAN, -1};
    if (best->high != best->high || (best->at >= 0 && !(high > best->high))) return;
    for (int64_t o = 0; o < width; o++)
        if (!never[begin + o] && (best->at < 0 || x[o] > best->high)) *best = (Best){x[o], begin + o};
}

/* Of two threads, whose outputs stand one's before the other's. */
static Best better_of(Best one, Best other)
{
    if (one.high != one.high || (other.high == other.high && other.at < 0)) return one;
    return other.high != other.high || one.at < 0 || other.high > one.high ? other : one;
}

/* The sums of some rows with outputs from `begin` on are put where they belong. */
INLINE void put(const Eight *m, const Made *made, const int32_t *sums, int64_t row, int64_t begin, int rows)
{
    int64_t width = smaller_of(PANEL, m->out - begin);
    for (int i = 0; i < rows; i++, row++, sums += PANEL) {
        int64_t at = row * m->out + begin;
        if (made->best) {
            float x[PANEL];
            to_numbers(m, sums, made->largest[row], begin, width, x);
            keep_best(x, begin, width, made->never, made->best + THREAD * made->rows + row);
        } else if (made->y)
            to_numbers(m, sums, made->largest[row], begin, width, made->y + at);
        else
            memcpy(made->whole + at, sums, width * sizeof *sums);
    }
}

/* Rows from begin to end, `together` at once; where tiles make the sums, that divides them. */
static void sums_of(const Eight *m, const uint8_t *bytes, int64_t begin, int64_t end, int together, int tiles,
                    const Made *made, int threads)
{
    int64_t inputs = padded(m->in, FOUR), panels = padded(m->out, PANEL) / PANEL;
#pragma omp parallel num_threads(threads) if (threads > 1 && worth_sharing(end - begin, m->in, m->out))
    {
        if (tiles) shape_tiles(together);
#pragma omp for schedule(static)
        for (int64_t p = 0; p < panels; p++)
            for (int64_t r = begin; r < end; r += together) {
                int some = smaller_of(together, end - r);
                int32_t sums[HIGH * PANEL];
                const int8_t *panel = m->weight + p * PANEL * inputs;
                const int32_t *less = m->less + p * PANEL;
                if (tiles)
                    tiled(bytes + r * inputs, inputs, panel, inputs, less, sums, some);
                else
                    panel_of(bytes + r * inputs, inputs, panel, inputs, less, sums, some);
                put(m, made, sums, r, p * PANEL, some);
            }
        if (tiles) leave_tiles();
    }
}

/* Of rows that are bytes already. */
static void sums_of_bytes(const Eight *m, const uint8_t *bytes, int64_t rows, const Made *made, int threads)
{
    int64_t even = by_tiles(m, rows) ? rows - rows % HIGH : 0, left = rows - even;
    if (even) sums_of(m, bytes, 0, even, HIGH, 1, made, threads);
    if (left && by_tiles(m, left))
        sums_of(m, bytes, even, rows, left, 1, made, threads);
    else if (left)
        sums_of(m, bytes, even, rows, TILE, 0, made, threads);
}

/* y = x W' + b, nearly. bytes: space for the rounded rows; largest: for a number of each. */
static void eight_product(const Eight *m, const float *x, int64_t rows, float *y, uint8_t *bytes, float *largest,
                          int threads)
{
    rounded_rows(x, rows, m->in, bytes, largest, threads);
    sums_of_bytes(m, bytes, rows, &(Made){.largest = largest, .y = y}, threads);
}

/* The place of each row's largest product of those that may be taken, of equals the lower one; -1 where some number is
   none. best: space for `threads` of each row. */
static void likeliest_product(const Eight *m, const float *x, int64_t rows, const uint8_t *never, int64_t *to,
                              uint8_t *bytes, float *largest, Best *best, int threads)
{
    for (int64_t i = 0; i < threads * rows; i++) best[i] = (Best){-INFINITY, -1};
    rounded_rows(x, rows, m->in, bytes, largest, threads);
    sums_of_bytes(m, bytes, rows, &(Made){.largest = largest, .best = best, .never = never, .rows = rows}, threads);
    for (int64_t r = 0; r < rows; r++) {
        Best most = best[r];
        for (int64_t t = 1; t < threads; t++) most = better_of(most, best[t * rows + r]);
        to[r] = most.at;
    }
}

/* The whole numbers themselves, of rows that are bytes already. */
static void whole_product(const Eight *m, const uint8_t *bytes, int64_t rows, int32_t *to, int threads)
{
    sums_of_bytes(m, bytes, rows, &(Made){.whole = to}, threads);
}

/* Weights, as they lie in torch, into panels; and what is to be taken back. */
static void in_panels(const int8_t *weight, int64_t in, int64_t out, int8_t *to, int32_t *less)
{
    int64_t inputs = padded(in, FOUR), outputs = padded(out, PANEL);
    memset(to, 0, inputs * outputs);
    for (int64_t o = 0; o < outputs; o++) less[o] = 0;
    for (int64_t o = 0; o < out; o++) {
        int8_t *own = to + o / PANEL * PANEL * inputs + o % PANEL * FOUR;
        for (int64_t i = 0; i < in; i++) {
            own[i / FOUR * FOUR * PANEL + i % FOUR] = weight[o * in + i];
            less[o] -= MIDDLE * weight[o * in + i];
        }
    }
}
#endif
