/* Several numbers at once, as many as the machine's registers hold; and what C lacks for them. */
#ifndef LANES_H
#define LANES_H
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif

#if defined(_OPENMP)
extern int omp_get_thread_num(void);
#define THREAD omp_get_thread_num()
#else
#define THREAD 0
#endif

#define INLINE static inline __attribute__((always_inline))

#define MUCH 65536 /* weights, or a sixteenth of the products, for which it pays to wake other threads */

/* Whether a product of few rows is shared: its weights take a while to be read, or there is much to multiply. */
INLINE int worth_sharing(int64_t rows, int64_t in, int64_t out)
{
    return in * out >= MUCH || rows * in * out >= 16 * MUCH;
}

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t whole __attribute__((vector_size(4 * LANES)));
typedef uint32_t bits __attribute__((vector_size(4 * LANES)));

INLINE lanes load(const float *from)
{
    lanes x;
    memcpy(&x, from, sizeof x);
    return x;
}

INLINE void store(float *to, lanes x) { memcpy(to, &x, sizeof x); }

/* The last ones of a row, if they are fewer than LANES; what is too much is 0. */
INLINE lanes load_up_to(const float *from, int64_t count)
{
    if (count >= LANES) return load(from);
    lanes x = {0};
    for (int i = 0; i < LANES; i++)
        if (i < count) x[i] = from[i];
    return x;
}

INLINE void store_up_to(float *to, lanes x, int64_t count)
{
    if (count >= LANES)
        store(to, x);
    else
        for (int i = 0; i < LANES; i++)
            if (i < count) to[i] = x[i];
}

INLINE lanes all(float x) { return x - (lanes){0}; }

/* A square: its rows as columns. */
INLINE void turn(lanes *x)
{
#if defined(__clang__)
    lanes from[LANES];
    memcpy(from, x, sizeof from);
    for (int i = 0; i < LANES; i++)
        for (int j = 0; j < LANES; j++) x[j][i] = from[i][j];
#else
#pragma GCC unroll 4
    for (int apart = LANES / 2; apart; apart /= 2) {
        whole low, high;
#pragma GCC unroll 16
        for (int l = 0; l < LANES; l++) {
            low[l] = l & apart ? LANES + l - apart : l;
            high[l] = l & apart ? LANES + l : l + apart;
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (!(i & apart)) {
                lanes one = x[i], other = x[i + apart];
                x[i] = __builtin_shuffle(one, other, low);
                x[i + apart] = __builtin_shuffle(one, other, high);
            }
    }
#endif
}

/* sum += left * right. Said in these words, or gcc moves every tenth sum from register to register. */
#if defined(__AVX512F__)
#define ADD_PRODUCT(sum, left, right) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(left), "v"(right))
#else
#define ADD_PRODUCT(sum, left, right) (sum) += (left) * (right)
#endif

INLINE int64_t smaller_of(int64_t x, int64_t y) { return x < y ? x : y; }
INLINE int64_t larger_of(int64_t x, int64_t y) { return x > y ? x : y; }

/* Where the mask has ones x, where it has none y. */
INLINE lanes chosen(whole mask, lanes x, lanes y) { return (lanes)((mask & (whole)x) | (~mask & (whole)y)); }

INLINE lanes larger(lanes x, lanes y) { return chosen(x > y, x, y); }

INLINE whole places(void)
{
    whole at;
    for (int i = 0; i < LANES; i++) at[i] = i;
    return at;
}

/* Numbers so far apart change places. */
INLINE lanes swapped(lanes x, int apart)
{
#if defined(__clang__)
    lanes y;
    for (int i = 0; i < LANES; i++) y[i] = x[i ^ apart];
    return y;
#else
    return __builtin_shuffle(x, places() ^ apart);
#endif
}

/* In halves, so always in the same order. */
INLINE float sum_of(lanes x)
{
    for (int apart = LANES / 2; apart; apart /= 2) x += swapped(x, apart);
    return x[0];
}

INLINE float largest_of(lanes x)
{
    for (int apart = LANES / 2; apart; apart /= 2) x = larger(x, swapped(x, apart));
    return x[0];
}

/* In a row of whole registers, of which `count` numbers are in use: what stands behind them in the last one. */
INLINE void fill_rest(float *row, int64_t count, float with)
{
    int64_t last = count / LANES * LANES;
    if (last < count) store(row + last, chosen(places() < (int32_t)(count - last), load(row + last), all(with)));
}

/* e to the x, to the last bit or two; 0 below -87, infinite above 88.

   x = n ln 2 + r, |r| <= ln 2 / 2: e^r by its series, and n goes into the exponent. To add 1.5 * 2^23 rounds to a whole
   number and leaves it in the lowest bits. A number that is none stays none. */
INLINE lanes exponential(lanes x)
{
    const lanes round = all(12582912.0f);
    lanes inside = chosen(x < -87.0f, all(-87.0f), chosen(x > 88.0f, all(88.0f), x));
    lanes shifted = inside * 1.44269504f + round, n = shifted - round;
    lanes r = inside - n * 0.693145752f - n * 1.42860677e-6f;
    lanes y = r * (1.0f / 720) + 1.0f / 120;
    y = y * r + 1.0f / 24;
    y = y * r + 1.0f / 6;
    y = y * r + 0.5f;
    y = y * r + 1.0f;
    y = y * r + 1.0f;
    y = (lanes)((bits)y + ((bits)shifted << 23));
    y = chosen(x < -87.0f, all(0), y);
    y = chosen(x > 88.0f, all(INFINITY), y);
    return chosen(x == x, y, x); /* the bits of a number that is none could have become one */
}
#endif
