/* y = dropout(softmax(scale * q k^T)) v for each head of each row of packed tokens, and its gradients.

   A row is a sequence; its queries are tokens q_ends[b] ... q_ends[b + 1], its keys k_ends[b] ... . Heads lie side by side
   in a token, `width` numbers each (a multiple of 16); tokens are q_step, k_step or y_step numbers apart. One head of one
   row is worked on at a time, by one thread, in blocks of queries whose scores stay in the cache. Weights are not kept:
   the way back makes them anew of log_sum_NH, and chance of its key. */
#include "chance.h"

#define BLOCK 66 /* queries at once: whole tiles of 6 */
#define TILE 4   /* registers side by side in a product */
#define PANEL (TILE * LANES)
#define DEEP 128    /* rows of a panel that fit into the fastest cache */
#define GATHERED 48 /* keys: from there on heads are gathered before they are multiplied */

/* c (M x N) = or += a (M x depth) b (depth x N); M rows by NV registers of numbers that stay in registers. */
INLINE void tile(const int M, const int NV, int64_t depth, const float *a, int64_t a_row, int64_t a_column,
                 const float *b, int64_t b_row, float *c, int64_t c_row, int add)
{
    lanes sum[8][TILE];
#pragma GCC unroll 8
    for (int m = 0; m < M; m++)
#pragma GCC unroll 4
        for (int n = 0; n < NV; n++) sum[m][n] = all(0);
    for (int64_t k = 0; k < depth; k++) {
        lanes right[TILE];
#pragma GCC unroll 4
        for (int n = 0; n < NV; n++) right[n] = load(b + k * b_row + n * LANES);
#pragma GCC unroll 8
        for (int m = 0; m < M; m++) {
            lanes left = all(a[m * a_row + k * a_column]);
#pragma GCC unroll 4
            for (int n = 0; n < NV; n++) ADD_PRODUCT(sum[m][n], left, right[n]);
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; m++)
#pragma GCC unroll 4
        for (int n = 0; n < NV; n++) {
            float *to = c + m * c_row + n * LANES;
            store(to, add ? sum[m][n] + load(to) : sum[m][n]);
        }
}

#define GIVEN int64_t depth, const float *a, int64_t a_row, int64_t a_column, const float *b, int64_t b_row, float *c, \
              int64_t c_row, int add
#define PASSED depth, a, a_row, a_column, b, b_row, c, c_row, add
#define SIZED(M, NV) static void tile_##M##_##NV(GIVEN) { tile(M, NV, PASSED); }
#define ROWS_OF(NV) SIZED(1, NV) SIZED(2, NV) SIZED(3, NV) SIZED(4, NV) SIZED(5, NV) SIZED(6, NV)
ROWS_OF(1) ROWS_OF(2) ROWS_OF(3) ROWS_OF(4)
SIZED(7, 1) SIZED(8, 1) SIZED(7, 2) SIZED(8, 2)
typedef void (*tile_kind)(GIVEN);
static const tile_kind TILES[TILE][8] = {
    {tile_1_1, tile_2_1, tile_3_1, tile_4_1, tile_5_1, tile_6_1, tile_7_1, tile_8_1},
    {tile_1_2, tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2, tile_7_2, tile_8_2},
    {tile_1_3, tile_2_3, tile_3_3, tile_4_3, tile_5_3, tile_6_3},
    {tile_1_4, tile_2_4, tile_3_4, tile_4_4, tile_5_4, tile_6_4},
};

/* How many rows a tile of these many registers has at most; with few registers in the machine, fewer. */
INLINE int64_t rows_at_most(int64_t registers)
{
#if LANES == 8
    return registers == 1 ? 8 : registers == 2 ? 6 : registers == 3 ? 4 : 3;
#else
    return registers <= 2 ? 8 : 6;
#endif
}

INLINE int64_t whole_registers(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* What of a product may be left out, because it is 0.
   ALL: nothing. SCORES: row m of the result has nothing behind column first + m. UP_TO: row m of a has not. FROM: a is
   read turned, and its row m has nothing before column m. */
typedef enum { ALL, SCORES, UP_TO, FROM } triangle;

/* c (M x N) = or += a (M x depth) b (depth x N). b lies in panels of PANEL columns, b_panel numbers apart; a panel's rows
   are used for all of c before the next ones, so that they stay in the fastest cache. */
static void product(int64_t M, int64_t N, int64_t depth, const float *a, int64_t a_row, int64_t a_column, const float *b,
                    int64_t b_row, int64_t b_panel, float *c, int64_t c_row, int add, triangle shape, int64_t first)
{
    int64_t registers = N / LANES, most = rows_at_most(smaller_of(registers, TILE)), parts = (M + most - 1) / most;
    for (int64_t n = 0; n < registers; n += TILE)
        for (int64_t deep = 0; deep < depth; deep += DEEP)
            for (int64_t part = 0; part < parts; part++) {
                int64_t m = M * part / parts, end = M * (part + 1) / parts, wide = registers;
                int64_t from = deep, to = smaller_of(depth, deep + DEEP);
                if (shape == SCORES) wide = smaller_of(registers, (first + end + LANES - 1) / LANES);
                if (shape == UP_TO) to = smaller_of(to, first + end);
                if (shape == FROM) from = larger_of(from, m);
                if (n >= wide || from >= to) continue;
                TILES[smaller_of(TILE, wide - n) - 1][end - m - 1](
                    to - from, a + m * a_row + from * a_column, a_row, a_column, b + n / TILE * b_panel + from * b_row,
                    b_row, c + m * c_row + n * LANES, c_row, add || deep);
            }
}

/* to (columns x rows, rows rounded up to whole registers, in panels) = from turned; what is too much is 0. */
static void turned(const float *from, int64_t step, int64_t rows, int64_t columns, float *panels)
{
    for (int64_t r = 0; r < rows; r += LANES)
        for (int64_t c = 0; c < columns; c += LANES) {
            float *to = panels + r / PANEL * PANEL * columns + c * PANEL + r % PANEL;
            lanes x[LANES];
            for (int i = 0; i < LANES; i++) {
                __builtin_prefetch(from + (r + LANES + i) * step + c);
                x[i] = r + i < rows ? load(from + (r + i) * step + c) : all(0);
            }
            turn(x);
            for (int i = 0; i < LANES; i++) store(to + i * PANEL, x[i]);
        }
}

/* The heads of a row's tokens side by side, if there are enough for that to pay; `step` numbers apart. */
static const float *gathered(const float *from, int64_t *step, int64_t rows, int64_t width, int64_t used, float *to)
{
    if (used < GATHERED) return from;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < width; c += LANES) __builtin_prefetch(from + (r + 16) * *step + c);
        for (int64_t c = 0; c < width; c += LANES) store(to + r * width + c, load(from + r * *step + c));
    }
    *step = width;
    return to;
}

typedef struct {
    int64_t rows, heads, width, causal;
    const int32_t *q_ends, *k_ends;
    int64_t q_step, k_step, y_step;
    const float *q, *k, *v;
    float *log_sum;
    float scale, growth;
    uint32_t lost;
    uint64_t seed;
} attention;

typedef struct {
    int64_t T, S, q_first, k_first, head;
    const float *q, *k, *v;
} one_head;

static one_head head_of(const attention *all_, int64_t row, int64_t head)
{
    int64_t q_first = all_->q_ends[row], k_first = all_->k_ends[row];
    return (one_head){all_->q_ends[row + 1] - q_first,
                      all_->k_ends[row + 1] - k_first,
                      q_first,
                      k_first,
                      head,
                      all_->q + q_first * all_->q_step + head * all_->width,
                      all_->k + k_first * all_->k_step + head * all_->width,
                      all_->v + k_first * all_->k_step + head * all_->width};
}

INLINE chance_key chance_of(const attention *it, const one_head *one, int64_t t)
{
    return key_of(it->seed, (uint64_t)((one->q_first + t) * it->heads + one->head));
}

/* Keys that query t sees. */
INLINE int64_t seen_by(const attention *it, const one_head *one, int64_t t)
{
    return it->causal ? smaller_of(t + 1, one->S) : one->S;
}

/* Scores become weights, with 0 up to `wide`; what the weights were divided by, as a logarithm. */
static float softmax(float *p, int64_t seen, int64_t wide, float scale)
{
    int64_t used = whole_registers(seen);
    fill_rest(p, seen, -INFINITY);
    lanes top = all(-INFINITY), total = all(0);
    for (int64_t s = 0; s < used; s += LANES) top = larger(load(p + s), top);
    float most = largest_of(top);
    for (int64_t s = 0; s < used; s += LANES) {
        lanes e = exponential((load(p + s) - most) * scale);
        store(p + s, e);
        total += e;
    }
    float sum = sum_of(total), inverse = 1 / sum;
    for (int64_t s = 0; s < used; s += LANES) store(p + s, load(p + s) * inverse);
    memset(p + used, 0, (wide - used) * sizeof *p);
    return most * scale + logf(sum);
}

static void forward_head(const attention *it, const one_head *one, float *y, float *space)
{
    int64_t S = one->S, K = it->width, panels = (S + PANEL - 1) / PANEL * PANEL, wide = whole_registers(S) + LANES;
    int64_t v_step = it->k_step;
    float *k_KS = space, *p_TS = k_KS + K * panels;
    const float *v_SK = gathered(one->v, &v_step, S, K, S, p_TS + BLOCK * wide);
    if (!S) {
        for (int64_t t = 0; t < one->T; t++) memset(y + t * it->y_step, 0, K * sizeof *y);
        return;
    }
    turned(one->k, it->k_step, S, K, k_KS);
    for (int64_t t0 = 0; t0 < one->T; t0 += BLOCK) {
        int64_t count = smaller_of(BLOCK, one->T - t0), last = seen_by(it, one, t0 + count - 1);
        product(count, whole_registers(last), K, one->q + t0 * it->q_step, it->q_step, 1, k_KS, PANEL, K * PANEL, p_TS,
                wide, 0, it->causal ? SCORES : ALL, t0);
        for (int64_t t = 0; t < count; t++) {
            int64_t seen = seen_by(it, one, t0 + t);
            float *p = p_TS + t * wide, log_sum = softmax(p, seen, whole_registers(last), it->scale);
            it->log_sum[(one->q_first + t0 + t) * it->heads + one->head] = log_sum;
            if (it->lost) {
                chance_key key = chance_of(it, one, t0 + t);
                for (int64_t s = 0; s < seen; s += LANES)
                    store(p + s, kept(load(p + s) * it->growth, stays(key, s, it->lost)));
            }
        }
        product(count, K, last, p_TS, wide, 1, v_SK, v_step, PANEL, y + t0 * it->y_step, it->y_step, 0,
                it->causal ? UP_TO : ALL, t0);
    }
}

/* p: scores become weights, dropped ones 0; d: gradients of dropped weights become those of the scores. */
static void softmax_back(const attention *it, const one_head *one, int64_t t, float *p, float *d, int64_t wide)
{
    int64_t seen = seen_by(it, one, t), used = whole_registers(seen);
    float log_sum = it->log_sum[(one->q_first + t) * it->heads + one->head];
    fill_rest(p, seen, -INFINITY);
    fill_rest(d, seen, 0);
    chance_key key = it->lost ? chance_of(it, one, t) : (chance_key){0};
    lanes total = all(0);
    for (int64_t s = 0; s < used; s += LANES) {
        lanes weight = exponential(load(p + s) * it->scale - log_sum), slope = load(d + s);
        if (it->lost) slope = kept(slope * it->growth, stays(key, s, it->lost));
        total += weight * slope;
        store(d + s, weight * slope);
        store(p + s, weight);
    }
    float sum = sum_of(total);
    for (int64_t s = 0; s < used; s += LANES) {
        lanes weight = load(p + s);
        store(d + s, (load(d + s) - weight * sum) * it->scale);
        if (it->lost) store(p + s, kept(weight * it->growth, stays(key, s, it->lost)));
    }
    memset(p + used, 0, (wide - used) * sizeof *p);
    memset(d + used, 0, (wide - used) * sizeof *d);
}

/* Gradients of keys first ... last of their values and of themselves, by `count` queries; add: to what is there. */
static void back_to_keys(const attention *it, int64_t first, int64_t last, int64_t count, const float *p_TS,
                         const float *d_TS, int64_t wide, const float *dy, int64_t dy_step, const float *q, int64_t q_step,
                         float *dk, float *dv, int add, triangle shape)
{
    int64_t K = it->width, step = it->k_step;
    if (last <= first) return;
    product(last - first, K, count, p_TS + first, 1, wide, dy, dy_step, PANEL, dv + first * step, step, add, shape, 0);
    product(last - first, K, count, d_TS + first, 1, wide, q, q_step, PANEL, dk + first * step, step, add, shape, 0);
}

static void back_nothing(const attention *it, const one_head *one, float *dq, float *dk, float *dv)
{
    for (int64_t s = 0; s < one->S; s++) {
        memset(dk + s * it->k_step, 0, it->width * sizeof *dk);
        memset(dv + s * it->k_step, 0, it->width * sizeof *dv);
    }
    for (int64_t t = 0; t < one->T; t++) memset(dq + t * it->q_step, 0, it->width * sizeof *dq);
}

static void back_head(const attention *it, const one_head *one, const float *dy, float *dq, float *dk, float *dv,
                      float *space)
{
    int64_t S = one->S, K = it->width, panels = (S + PANEL - 1) / PANEL * PANEL, wide = whole_registers(S) + LANES;
    if (!S || !one->T) {
        back_nothing(it, one, dq, dk, dv);
        return;
    }
    float *k_KS = space, *v_KS = k_KS + K * panels, *p_TS = v_KS + K * panels, *d_TS = p_TS + BLOCK * wide;
    float *dy_space = d_TS + BLOCK * wide, *q_space = dy_space + BLOCK * K;
    int64_t k_step = it->k_step;
    turned(one->k, k_step, S, K, k_KS);
    turned(one->v, k_step, S, K, v_KS);
    const float *k_SK = gathered(one->k, &k_step, S, K, S, q_space + BLOCK * K);
    triangle scores = it->causal ? SCORES : ALL, up_to = it->causal ? UP_TO : ALL, from = it->causal ? FROM : ALL;
    for (int64_t t0 = 0; t0 < one->T; t0 += BLOCK) {
        int64_t count = smaller_of(BLOCK, one->T - t0), last = seen_by(it, one, t0 + count - 1);
        int64_t q_step = it->q_step, dy_step = it->y_step, used = whole_registers(last);
        const float *q = gathered(one->q + t0 * q_step, &q_step, count, K, S, q_space);
        const float *dy_TK = gathered(dy + t0 * dy_step, &dy_step, count, K, S, dy_space);
        product(count, used, K, q, q_step, 1, k_KS, PANEL, K * PANEL, p_TS, wide, 0, scores, t0);
        product(count, used, K, dy_TK, dy_step, 1, v_KS, PANEL, K * PANEL, d_TS, wide, 0, scores, t0);
        for (int64_t t = 0; t < count; t++) softmax_back(it, one, t0 + t, p_TS + t * wide, d_TS + t * wide, used);
        product(count, K, last, d_TS, wide, 1, k_SK, k_step, PANEL, dq + t0 * it->q_step, it->q_step, 0, up_to, t0);
        /* keys that earlier queries saw too, then those that these are the first to see */
        int64_t before = !t0 ? 0 : it->causal ? smaller_of(t0, S) : S;
        back_to_keys(it, 0, before, count, p_TS, d_TS, wide, dy_TK, dy_step, q, q_step, dk, dv, 1, ALL);
        back_to_keys(it, before, last, count, p_TS, d_TS, wide, dy_TK, dy_step, q, q_step, dk, dv, 0, from);
    }
}

#define GIVEN_ATTENTION                                                                                              \
    const float *q, const float *k, const float *v, float *log_sum, const int32_t *q_ends, const int32_t *k_ends,     \
        float *space, int64_t space_each, int64_t rows, int64_t heads, int64_t width, int64_t q_step, int64_t k_step, \
        int64_t y_step, float scale, int causal, uint64_t seed, uint32_t lost, float growth, int threads
#define AS_ONE                                                                                                       \
    {rows, heads, width, causal, q_ends, k_ends, q_step, k_step, y_step, q, k, v, log_sum, scale, growth, lost, seed}

/* space: for each thread (2 width + 66) (S + 16) + 66 width numbers, S being the keys of the longest row, rounded up to a
   multiple of 64; on the way back twice as many. lost of 2^32 weights are dropped. */
void attend(float *y, GIVEN_ATTENTION)
{
    attention it = AS_ONE;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) if (threads > 1)
    for (int64_t i = 0; i < rows * heads; i++) {
        one_head one = head_of(&it, i / heads, i % heads);
        forward_head(&it, &one, y + one.q_first * y_step + one.head * width, space + THREAD * space_each);
    }
}

void attend_back(const float *dy, float *dq, float *dk, float *dv, GIVEN_ATTENTION)
{
    attention it = AS_ONE;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) if (threads > 1)
    for (int64_t i = 0; i < rows * heads; i++) {
        one_head one = head_of(&it, i / heads, i % heads);
        int64_t q_at = one.q_first * q_step + one.head * width, k_at = one.k_first * k_step + one.head * width;
        back_head(&it, &one, dy + one.q_first * y_step + one.head * width, dq + q_at, dk + k_at, dv + k_at,
                  space + THREAD * space_each);
    }
}
