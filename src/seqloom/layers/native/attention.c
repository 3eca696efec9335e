/* Attention of one query to a row over what the row remembers:

       y = sum_s softmax_s(scale * q . k_s) v_s

   as Vaswani et al. 2017, eq. 1, has it; zeros for who sees nothing. Each row is worked on alone, in an order that
   depends on its own length only. Keys lie in any order of rows, heads and steps; the numbers of one key lie side by
   side. A row that is given a new key and value writes them behind its others first. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "exponential.h"

#define BLOCK 128    /* keys that are weighed at once */
#define LINE 16      /* numbers of a line of the cache */
#define LITTLE 262144 /* numbers or products: below it, waking other threads costs more than they save */

typedef struct {
    const float *keys, *values;
    int64_t step;           /* from one key to the next */
    int64_t ahead;          /* from these to those of the next row; 0: there are none, or nobody knows */
    const int64_t *writers; /* which fork of the row wrote each step; null: there are none */
    int64_t fork;           /* from one fork to the next */
} Past;

static inline int64_t place(const Past *past, int64_t s)
{
    return past->writers ? past->writers[s] * past->fork + s * past->step : s * past->step;
}

/* Nearly all the time goes into waiting for memory: the next row's keys and values are fetched while keys are compared,
   or at least the values that are mixed then. */
static inline void fetch(const Past *past, int64_t s, int width)
{
    int64_t at = place(past, s) + past->ahead;
    for (int j = 0; j < width; j += LINE) __builtin_prefetch(past->values + at + j);
    if (past->ahead)
        for (int j = 0; j < width; j += LINE) __builtin_prefetch(past->keys + at + j);
}

/* scale * q . k of keys s to s + n, n <= BLOCK */
static inline __attribute__((always_inline)) void compare(const float *restrict q, const Past *past, int64_t s,
                                                          int64_t n, float scale, float *restrict scores, int width)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const float *a = past->keys + place(past, s + i), *b = past->keys + place(past, s + i + 1);
        const float *c = past->keys + place(past, s + i + 2), *d = past->keys + place(past, s + i + 3);
        float w = 0, x = 0, y = 0, z = 0;
        fetch(past, s + i, width), fetch(past, s + i + 1, width);
        fetch(past, s + i + 2, width), fetch(past, s + i + 3, width);
#pragma omp simd reduction(+ : w, x, y, z)
        for (int j = 0; j < width; j++) {
            w += q[j] * a[j];
            x += q[j] * b[j];
            y += q[j] * c[j];
            z += q[j] * d[j];
        }
        scores[i] = w * scale, scores[i + 1] = x * scale, scores[i + 2] = y * scale, scores[i + 3] = z * scale;
    }
    for (; i < n; i++) {
        const float *a = past->keys + place(past, s + i);
        float w = 0;
        fetch(past, s + i, width);
#pragma omp simd reduction(+ : w)
        for (int j = 0; j < width; j++) w += q[j] * a[j];
        scores[i] = w * scale;
    }
}

static inline __attribute__((always_inline)) void mix(const float *restrict weights, const Past *past, int64_t s,
                                                      int64_t n, float *restrict out, int width)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const float *a = past->values + place(past, s + i), *b = past->values + place(past, s + i + 1);
        const float *c = past->values + place(past, s + i + 2), *d = past->values + place(past, s + i + 3);
        float w = weights[i], x = weights[i + 1], y = weights[i + 2], z = weights[i + 3];
#pragma omp simd
        for (int j = 0; j < width; j++) out[j] += (w * a[j] + x * b[j]) + (y * c[j] + z * d[j]);
    }
    for (; i < n; i++) {
        const float *a = past->values + place(past, s + i);
        float w = weights[i];
#pragma omp simd
        for (int j = 0; j < width; j++) out[j] += w * a[j];
    }
}

static inline __attribute__((always_inline)) void head(const float *restrict q, const Past *past, int64_t n,
                                                       float scale, float *restrict out, int width)
{
    float weights[BLOCK], most = -INFINITY, total = 0;
    for (int j = 0; j < width; j++) out[j] = 0;
    for (int64_t s = 0; s < n; s += BLOCK) {
        int64_t some = n - s < BLOCK ? n - s : BLOCK;
        compare(q, past, s, some, scale, weights, width);
        float highest = most;
        for (int64_t i = 0; i < some; i++) highest = weights[i] > highest ? weights[i] : highest;
        if (s) { /* what was mixed before, as seen from the new maximum */
            float shrink = power(most - highest);
            total *= shrink;
            for (int j = 0; j < width; j++) out[j] *= shrink;
        }
        most = highest;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < some; i++) {
            weights[i] = power(weights[i] - most);
            sum += weights[i];
        }
        total += sum;
        mix(weights, past, s, some, out, width);
    }
    float share = n ? 1 / total : 0;
    for (int j = 0; j < width; j++) out[j] *= share;
}

/* Which rows queries are, where only some of them go on, in order, counted from `first` on. */
typedef struct {
    const int64_t *rows;
    int64_t first;
} Going;

static inline int64_t row_of(const Going *going, int64_t r) { return going ? going->rows[r] - going->first : r; }

/* The item of a row: fan of them share its keys. */
static inline int64_t item_of(int64_t row, int fan) { return fan == 1 ? row : (uint32_t)row / (uint32_t)fan; }

/* rows: of queries; fan of them after each other share what lies in one row of keys. lengths: of each such row, or of
   each query's row where there are writers; null: all have `even`. k, v: of the new step; null: there is none. going:
   which rows these are; null: all. */
static void attend_going(const float *q, int64_t q_row, const float *k, int64_t k_row, const float *v, int64_t v_row,
                         float *keys, float *values, int64_t row, int64_t key_head, int64_t fork, int64_t step,
                         const int64_t *lengths, int64_t even, int64_t *writers, int64_t writers_row, float *out,
                         int64_t rows, int fan, int heads, int groups, int width, float scale, const Going *going,
                         int threads)
{
    int share = heads / groups;
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static) \
    if (threads > 1 && rows * heads * width * (even + 1) >= LITTLE)
    for (int64_t i = 0; i < rows; i++)
        for (int g = 0; g < groups; g++) {
            int64_t a = item_of(row_of(going, i), fan), end = i + 1;
            if (i && item_of(row_of(going, i - 1), fan) == a) continue; /* with the item's first row */
            while (end < rows && item_of(row_of(going, end), fan) == a) end++;
            int64_t next = end == rows ? a : item_of(row_of(going, end), fan), at = a * row + g * key_head;
            for (int64_t r = i; r < end; r++) {
                int64_t own = row_of(going, r), n = !lengths ? even : lengths[writers ? own : a];
                int64_t ahead = writers || r > i ? 0 : (next - a) * row;
                Past past = {keys + at, values + at, step, ahead, writers ? writers + own * writers_row : 0, fork};
                if (k) {
                    int64_t new = at + (writers ? (own - a * fan) * fork : 0) + n * step;
                    memcpy(keys + new, k + r * k_row + g * width, width * sizeof(float));
                    memcpy(values + new, v + r * v_row + g * width, width * sizeof(float));
                    n++;
                }
                for (int h = g * share; h < (g + 1) * share; h++) {
                    const float *asks = q + r * q_row + h * width;
                    float *to = out + (r * heads + h) * width;
                    if (width == 32)
                        head(asks, &past, n, scale, to, 32);
                    else if (width == 64)
                        head(asks, &past, n, scale, to, 64);
                    else
                        head(asks, &past, n, scale, to, width);
                }
            }
        }
}

void attend_one(const float *q, int64_t q_row, const float *k, int64_t k_row, const float *v, int64_t v_row, float *keys,
                float *values, int64_t row, int64_t key_head, int64_t fork, int64_t step, const int64_t *lengths,
                int64_t even, int64_t *writers, int64_t writers_row, float *out, int64_t rows, int fan, int heads,
                int groups, int width, float scale, int threads)
{
    attend_going(q, q_row, k, k_row, v, v_row, keys, values, row, key_head, fork, step, lengths, even, writers,
                 writers_row, out, rows, fan, heads, groups, width, scale, 0, threads);
}

/* Whole sequences, one behind the other: query t of a sequence over its keys, or over those up to t (causal). The
   sequences begin at q_begins and k_begins, which also say where the last one ends; q_row, k_row: from one token to the next. */
void attend_rows(const float *q, int64_t q_row, const float *k, int64_t k_row, const float *v,
                 const int32_t *q_begins, const int32_t *k_begins, float *out, int64_t rows, int heads, int groups,
                 int width, float scale, int causal, int threads)
{
    int share = heads / groups;
#pragma omp parallel for collapse(2) num_threads(threads) schedule(guided) \
    if (threads > 1 && (int64_t)q_begins[rows] * heads * width >= LITTLE)
    for (int64_t b = 0; b < rows; b++)
        for (int h = 0; h < heads; h++) {
            int64_t at = h / share * width, n = k_begins[b + 1] - k_begins[b];
            Past past = {k + k_begins[b] * k_row + at, v + k_begins[b] * k_row + at, k_row, 0, 0, 0};
            for (int64_t t = q_begins[b]; t < q_begins[b + 1]; t++) {
                const float *own = q + t * q_row + h * width;
                float *to = out + (t * heads + h) * width;
                int64_t seen = causal ? t - q_begins[b] + 1 : n;
                if (width == 32)
                    head(own, &past, seen, scale, to, 32);
                else if (width == 64)
                    head(own, &past, seen, scale, to, 64);
                else
                    head(own, &past, seen, scale, to, width);
            }
        }
}

/* writers[r][lengths[r]] = f, before the step is attended */
void sign(int64_t *writers, int64_t writers_row, const int64_t *lengths, int64_t rows, int fan)
{
    for (int64_t r = 0; r < rows; r++) writers[r * writers_row + lengths[r]] = r % fan;
}
