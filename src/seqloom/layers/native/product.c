/* c (M x N) = a (M x K) b (K x N), with a bias for each column and an activation, or added to what is there.

   Made for products whose depth or height is some hundreds, as those of a training step: there MKL leaves a fifth of
   the machine's speed. A tile of 6 x 64 numbers stays in registers for up to DEEP steps. b lies in panels of 64 columns,
   a block of which fits into the second cache; a is read where it lies if its rows are whole, else put into panels of 6
   rows. While a tile is worked on, the memory that the next one is written to is fetched, line by line: to write to it
   unprepared costs a seventh. What order the steps of a sum are added in depends on K alone, not on threads. */
#include "activation.h"
#include "panels.h"

#define DEEP 512          /* steps of a sum that stay in registers; a multiple of RUN */
#define RUN 16            /* steps without a look at the end */
#define BLOCK (128 << 10) /* numbers of b at once */
#define TALLEST (32 * TALL) /* rows of a at once, if they are put into panels: these stay in the second cache too */
#define WIDEST 1024         /* and columns of b at once then */
#define FETCHED 16          /* steps of b that are fetched ahead, where few rows are all there is to do */
#define SPACE (WIDEST * DEEP + TALLEST * DEEP + (TALLEST / TALL + 1) * GAP)

typedef struct {
    lanes at[TALL][TILE];
} sums_of_tile;

/* Some steps, known to the compiler. a: the beginning of each row. */
INLINE void steps(const int count, sums_of_tile *sum, const float *const a[TALL], const int64_t a_column,
                  const float *b)
{
#pragma GCC unroll 16
    for (int k = 0; k < count; k++) {
        lanes right[TILE];
#pragma GCC unroll 4
        for (int n = 0; n < TILE; n++) right[n] = load(b + k * PANEL + n * LANES);
#pragma GCC unroll 6
        for (int m = 0; m < TALL; m++) {
            lanes left = all(a[m][k * a_column]);
#pragma GCC unroll 4
            for (int n = 0; n < TILE; n++) ADD_PRODUCT(sum->at[m][n], left, right[n]);
        }
    }
}

typedef struct {
    float *to;
    int64_t row;
    const float *bias; /* may be null */
    int add;
    const float *next;     /* where the next tile begins */
    const float *beside;   /* and what it needs beside the factors */
    const float *ahead[2]; /* rows of a that are needed soon */
} tile_place;

INLINE void tile(int64_t depth, const float *a, int64_t a_row, const int64_t a_column, const float *b, tile_place c)
{
    sums_of_tile sum;
    const float *at[TALL];
#pragma GCC unroll 6
    for (int m = 0; m < TALL; m++) {
        at[m] = a + m * a_row;
#pragma GCC unroll 4
        for (int n = 0; n < TILE; n++) sum.at[m][n] = all(0);
    }
    int64_t k = 0, rows = TALL;
    for (; k + TILE * RUN <= depth; k += TILE * RUN) {
        for (int line = 0; line < TILE; line++) {
            __builtin_prefetch(c.next + line * LANES, 1);
            __builtin_prefetch(c.beside + line * LANES, 1);
            __builtin_prefetch(c.ahead[0] += RUN);
            __builtin_prefetch(c.ahead[1] += RUN);
            steps(RUN, &sum, at, a_column, b + (k + line * RUN) * PANEL);
#pragma GCC unroll 6
            for (int m = 0; m < TALL; m++) at[m] += RUN * a_column;
        }
        int64_t below = --rows > 0 ? c.row : 0;
        c.next += below;
        c.beside += below;
    }
    for (; k < depth; k++) {
        steps(1, &sum, at, a_column, b + k * PANEL);
        for (int m = 0; m < TALL; m++) at[m] += a_column;
    }
#pragma GCC unroll 6
    for (int m = 0; m < TALL; m++)
#pragma GCC unroll 4
        for (int n = 0; n < TILE; n++) {
            float *to = c.to + m * c.row + n * LANES;
            lanes made = sum.at[m][n];
            if (c.bias) made += load(c.bias + n * LANES);
            if (c.add) made += load(to);
            store(to, made);
        }
}

#define APART static __attribute__((noinline)) /* so that each has all registers */

APART void tile_of_rows(int64_t depth, const float *a, int64_t a_row, const float *b, tile_place c)
{
    tile(depth, a, a_row, 1, b, c);
}

APART void tile_of_panel(int64_t depth, const float *a, const float *b, tile_place c)
{
    tile(depth, a, 1, TALL, b, c);
}

typedef struct {
    const float *a;
    int64_t a_row, a_column;
    const float *b;
    int64_t b_row, b_column;
    float *c;
    int64_t M, N, K;
    const float *bias; /* may be null */
    float *sums;       /* of a's rows, which lie in columns then; may be null */
    int add, packed;   /* packed: b is in panels already */
    activation_kind kind;
    float *slope;       /* c becomes f(c), and this its slope, if it is smooth */
    const float *known; /* or c becomes c times the slope that is seen here; null: not wanted */
    int activates;
} product_kind;

INLINE int64_t depth_of(int64_t K)
{
    int64_t parts = (K + DEEP - 1) / DEEP, each = (K + parts - 1) / larger_of(parts, 1);
    return larger_of(RUN, (each + LANES - 1) / LANES * LANES);
}

INLINE int64_t whole_panels(int64_t n) { return (n + PANEL - 1) / PANEL * PANEL; }

/* Fewer rows than a tile has, in the same order: what is not there is not multiplied. All the time goes into waiting for
   b. columns: what is wanted of a panel's. */
INLINE void rows_of_panel(const int rows, int64_t depth, const float *a, int64_t a_row, const float *b, tile_place c,
                          int64_t columns)
{
    lanes sum[TALL][TILE];
#pragma GCC unroll 6
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int n = 0; n < TILE; n++) sum[m][n] = all(0);
    for (int64_t k = 0; k < depth; k++) {
#pragma GCC unroll 4
        for (int n = 0; n < TILE; n++) {
            const float *here = b + k * PANEL + n * LANES;
            __builtin_prefetch(here + FETCHED * PANEL);
            lanes right = load(here);
#pragma GCC unroll 6
            for (int m = 0; m < rows; m++) {
                lanes left = all(a[m * a_row + k]);
                ADD_PRODUCT(sum[m][n], left, right);
            }
        }
    }
#pragma GCC unroll 6
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int n = 0; n < TILE; n++) {
            int64_t at = n * LANES, count = columns - at;
            if (count <= 0) continue;
            float *to = c.to + m * c.row + at;
            lanes made = sum[m][n];
            if (c.bias) made += load_up_to(c.bias + at, count);
            if (c.add) made += load_up_to(to, count);
            store_up_to(to, made, count);
        }
}

#define FEW_ROWS(ROWS) \
    case ROWS: rows_of_panel(ROWS, depth, a, a_row, b, c, columns); break;

APART void few_rows(int64_t rows, int64_t depth, const float *a, int64_t a_row, const float *b, tile_place c,
                    int64_t columns)
{
    switch (rows) {
        FEW_ROWS(1)
        FEW_ROWS(2)
        FEW_ROWS(3)
        FEW_ROWS(4)
        FEW_ROWS(5)
    }
}

/* A tile that reaches beyond c is made elsewhere, and what is wanted copied. */
static void tile_at_edge(int64_t depth, const float *a, int64_t a_row, int turned, const float *b, tile_place c,
                         int64_t rows, int64_t columns)
{
    if (!turned && rows < TALL) {
        few_rows(rows, depth, a, a_row, b, c, columns);
        return;
    }
    float made[TALL * PANEL];
    tile_place here = {made, PANEL, 0, 0, made, made, {a, a}};
    if (turned)
        tile_of_panel(depth, a, b, here);
    else
        tile_of_rows(depth, a, a_row, b, here);
    for (int64_t m = 0; m < smaller_of(rows, TALL); m++)
        for (int64_t n = 0; n < smaller_of(columns, PANEL); n++) {
            float *to = c.to + m * c.row + n, sum = made[m * PANEL + n];
            if (c.bias) sum += c.bias[n];
            *to = c.add ? sum + *to : sum;
        }
}

/* What comes behind the product, while a tile of it is in the fastest cache. */
APART void activate_tile(const product_kind *it, int64_t m, int64_t n, int64_t rows, int64_t columns)
{
    for (int64_t r = m; r < m + smaller_of(rows, TALL); r++) {
        chance_key key = key_of(it->kind.seed, r);
        float *row = it->c + r * it->N;
        for (int64_t c = n; c < n + smaller_of(columns, PANEL); c += LANES) {
            int64_t at = r * it->N + c, count = n + columns - c;
            lanes here = load_up_to(row + c, count), rise;
            if (it->activates) {
                here = activation_of(here, &it->kind, key, c, &rise);
                if (it->kind.smooth) store_up_to(it->slope + at, rise, count);
            } else
                here = activation_back(here, load_up_to(it->known + at, count), &it->kind);
            store_up_to(row + c, here, count);
        }
    }
}

typedef struct {
    int64_t m0, m1, n0, n1, k, depth; /* rows, columns, the first step, and how many */
} part;

/* b: panels from column n0 on. */
static void tiles(const product_kind *it, part at, const float *a_panels, const float *b)
{
    int64_t depth = at.depth, panel = TALL * depth + GAP;
    int last = at.k + depth == it->K && (it->activates || it->known);
    const float *beside = !last ? it->c : it->known ? it->known : it->kind.smooth ? it->slope : it->c;
    for (int64_t m = at.m0; m < at.m1; m += TALL) {
        const float *a = a_panels ? a_panels + (m - at.m0) / TALL * panel : it->a + m * it->a_row + at.k * it->a_column;
        int64_t step = a_panels ? depth : it->a_row, below = a_panels ? panel : TALL * step;
        for (int64_t n = at.n0, some = 0; n < at.n1; n += PANEL, some = (some + 2) % TALL) {
            const float *right = b + (n - at.n0) * depth, *ahead = a + below + some * step;
            tile_place c = {it->c + m * it->N + n, it->N, it->bias && !at.k ? it->bias + n : 0, it->add || at.k};
            c.next = n + PANEL < at.n1 ? c.to + PANEL : it->c + (m + TALL) * it->N + at.n0;
            c.beside = beside + (c.next - it->c);
            c.ahead[0] = ahead;
            c.ahead[1] = ahead + step;
            if (at.m1 - m < TALL || at.n1 - n < PANEL)
                tile_at_edge(depth, a, it->a_row, a_panels != 0, right, c, at.m1 - m, at.n1 - n);
            else if (a_panels)
                tile_of_panel(depth, a, right, c);
            else
                tile_of_rows(depth, a, it->a_row, right, c);
            if (last) activate_tile(it, m, n, at.m1 - m, at.n1 - n);
        }
    }
}

/* Columns n0 ... n1 of one part of b's depth, in panels. */
static void panels_of_b(const product_kind *it, part at, float *to)
{
    panels_of(it->b + at.k * it->b_row + at.n0 * it->b_column, it->b_row, it->b_column, at.depth, at.n1 - at.n0, to);
}

/* Rows from ... to, columns left ... right (whole panels, but for the last). */
static void part_of_rows(const product_kind *it, int64_t from, int64_t to, int64_t left, int64_t right, float *space)
{
    int64_t deep = depth_of(it->K), wide = larger_of(PANEL, BLOCK / deep / PANEL * PANEL);
    for (int64_t k = 0; k < it->K; k += deep)
        for (int64_t n = left; n < right; n += wide) {
            part at = {from, to, n, smaller_of(right, n + wide), k, smaller_of(deep, it->K - k)};
            if (!it->packed) panels_of_b(it, at, space);
            tiles(it, at, 0, it->packed ? it->b + k * whole_panels(it->N) + n * at.depth : space);
        }
}

/* The same where each row of a lies in a column: some rows at a time are put into panels. The sums are made with column 0. */
static void part_of_columns(const product_kind *it, int64_t from, int64_t to, int64_t first, int64_t end, float *space)
{
    int64_t deep = depth_of(it->K), wide = larger_of(PANEL, BLOCK / deep / PANEL * PANEL);
    float *a_space = space + WIDEST * DEEP;
    if (it->sums && !first) memset(it->sums + from, 0, (to - from) * sizeof *it->sums);
    for (int64_t left = first; left < end; left += WIDEST)
        for (int64_t k = 0; k < it->K; k += deep) {
            int64_t depth = smaller_of(deep, it->K - k), right = smaller_of(end, left + WIDEST);
            panels_of_b(it, (part){from, to, left, right, k, depth}, space);
            for (int64_t m = from; m < to; m += TALLEST) {
                int64_t last = smaller_of(to, m + TALLEST);
                panels_of_a(it->a + m + k * it->a_column, it->a_column, depth, last - m, a_space,
                            it->sums && !left ? it->sums + m : 0);
                for (int64_t n = left; n < right; n += wide)
                    tiles(it, (part){m, last, n, smaller_of(right, n + wide), k, depth}, a_space,
                          space + (n - left) * depth);
            }
        }
}

/* One of a_row and a_column is 1, and so of b_row and b_column. space: SPACE numbers for each thread. Threads share the
   columns where a is read as it lies, so that none puts the same part of b into panels as another; else the longer side, so
   that what all of them put into panels is the smaller one. */
static void product_of(const product_kind *it, float *space, int threads)
{
    int64_t M = it->M, N = it->N;
    int turned = it->a_column != 1 || it->sums, by_rows = it->packed || N < 2 * PANEL * threads || (turned && M >= N);
    int64_t count = by_rows ? (M + TALL - 1) / TALL : (N + PANEL - 1) / PANEL, unit = by_rows ? TALL : PANEL;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t t = 0; t < threads; t++) {
        int64_t from = count * t / threads * unit, to = smaller_of(by_rows ? M : N, count * (t + 1) / threads * unit);
        int64_t top = by_rows ? from : 0, bottom = by_rows ? to : M, left = by_rows ? 0 : from, right = by_rows ? N : to;
        if (turned)
            part_of_columns(it, top, bottom, left, right, space + t * SPACE);
        else
            part_of_rows(it, top, bottom, left, right, space + t * SPACE);
    }
}

#define FACTORS                                                                                                      \
    const float *a, int64_t a_row, int64_t a_column, const float *b, int64_t b_row, int64_t b_column, float *c, int64_t M, \
        int64_t N, int64_t K
#define AS_GIVEN a, a_row, a_column, b, b_row, b_column, c, M, N, K

void product(FACTORS, const float *bias, float *sums, int add, int packed, float *space, int threads)
{
    product_kind it = {AS_GIVEN, bias, sums, add, packed};
    product_of(&it, space, threads);
}

/* c = f(a b + bias), with dropout. slope null: a rectifier; bias may be null. a's rows are whole. */
void product_activated(FACTORS, const float *bias, float *slope, uint64_t seed, uint32_t lost, float growth, float *space,
                       int threads)
{
    product_kind it = {AS_GIVEN, bias, .kind = {slope != 0, seed, lost, growth}, .slope = slope, .activates = 1};
    product_of(&it, space, threads);
}

/* c = (a b) times a slope: that of the smooth one, or where it is null the rectifier's, seen in what that made. */
void product_back(FACTORS, const float *made, const float *slope, float growth, float *space, int threads)
{
    product_kind it = {AS_GIVEN, .kind = {slope != 0, 0, 0, growth}, .known = slope ? slope : made};
    product_of(&it, space, threads);
}

/* The same of rows that lie side by side, with a bias or none, for who has no space at hand: each thread keeps its own.
   packed: b is in panels. */
void product_of_rows(const float *a, const float *b, int64_t b_row, int64_t b_column, float *c, int64_t M, int64_t N,
                     int64_t K, const float *bias, int packed, int threads)
{
    static _Thread_local float space[BLOCK] __attribute__((aligned(64)));
    product_kind it = {a, K, 1, b, b_row, b_column, c, M, N, K, bias, 0, 0, packed};
    int64_t count = whole_panels(N) / PANEL;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && worth_sharing(M, K, N))
    for (int64_t t = 0; t < threads; t++)
        part_of_rows(&it, 0, M, count * t / threads * PANEL, smaller_of(N, count * (t + 1) / threads * PANEL), space);
}

/* b in panels, for several products: K x N numbers, N rounded up to a multiple of PANEL. */
void panels(const float *b, int64_t b_row, int64_t b_column, int64_t K, int64_t N, float *to, int threads)
{
    int64_t deep = depth_of(K), wide = whole_panels(N), some = 4 * PANEL;
    for (int64_t k = 0; k < K; k += deep) {
        int64_t depth = smaller_of(deep, K - k);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
        for (int64_t n = 0; n < N; n += some)
            panels_of(b + k * b_row + n * b_column, b_row, b_column, depth, smaller_of(some, N - n),
                      to + k * wide + n * depth);
    }
}

/* What this was compiled for: registers of how many numbers; how many a thread needs; how wide panels are. */
void about(int64_t *to)
{
    to[0] = LANES;
    to[1] = SPACE;
    to[2] = PANEL;
}
