/* One step of a decoder's blocks: self-attention, attention over a memory, feed-forward, each with its norms and residual.
   What models/block.py says layer by layer, in one call for all of them. Products of matrices are made by torch's own sgemm, or in eight bits. */
#include "attention.c"
#include "eight.h"
#include "norm.c"

enum { NO_NORM, LAYER, RMS };
enum { IDENTITY, RELU, GELU, GELU_TANH, SILU, TANH };

typedef void (*Torch)(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
                      const int *, const float *, const int *, const float *, float *, const int *);
typedef void (*Own)(const float *, const float *, int64_t, int64_t, float *, int64_t, int64_t, int64_t, const float *, int,
                    int);

typedef struct {
    Torch torch; /* its sgemm */
    Own own;     /* of product.c; null: this machine has none */
} Products;

typedef struct {
    const float *weight, *bias; /* bias may be null */
    int64_t in, out;
    int64_t turned;     /* the outputs of one input lie side by side */
    const Eight *eight; /* the same in eight bits; null: it is as it is */
    const float *panels; /* the same as product.c reads it for any number of rows; null: it is not there */
} Map;

typedef struct {
    const float *gain, *bias; /* both may be null */
    double epsilon;
    int64_t kind;
} Norm;

typedef struct {
    Norm before, behind, sum;
    double carry, scale;
} Around;

typedef struct {
    Around around;
    Map asks, out; /* asks: queries, and keys and values where there is no memory; out.in 0: there is none */
    int64_t heads, groups, width;
    double scale;
    Norm query, key;               /* of each head alone */
    const float *cosines, *sines; /* of each place, `planes` of them; null: heads do not turn */
    int64_t planes, beside;       /* beside: a plane's two numbers stand side by side; else they are `planes` apart */
} Heads;

typedef struct {
    Around around;
    Map in, out;
    int64_t activation, gated;
} Dense;

typedef struct {
    const Products *products;
    Heads self, cross; /* cross.heads 0: there is none */
    Dense dense;       /* dense.in.out 0: there is none */
    int64_t width, longest;
} Block;

/* Rows that are remembered together, as attend_one wants them. */
typedef struct {
    float *keys, *values;
    int64_t row, head, fork, step;
    const int64_t *lengths;
    int64_t even;
    int64_t *writers;
    int64_t writers_row, rows, fan;
} Part;

#define MANY 128       /* rows: with fewer torch's product is faster, where weights are not in panels */
#define MOST_THREADS 8 /* with more, torch's divides the work better */

/* y = x W' + b. As torch does it: what is added stands there before. rest: space for `rows` numbers and rows of bytes. */
static void map(const Products *products, const Map *m, const float *x, int64_t rows, float *y, float *rest, int threads)
{
    if (m->eight) {
        eight_product(m->eight, x, rows, y, (uint8_t *)(rest + rows), rest, threads);
        return;
    }
    if (products->own && threads <= MOST_THREADS && (m->panels || rows >= MANY)) {
        products->own(x, m->panels ? m->panels : m->weight, m->turned ? m->out : 1, m->turned ? 1 : m->in, y, rows,
                      m->out, m->in, m->bias, m->panels != 0, threads);
        return;
    }
    int in = m->in, out = m->out, n = rows;
    float one = 1, before = m->bias ? 1 : 0;
    if (m->bias) {
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * out >= LITTLE)
        for (int64_t r = 0; r < rows; r++) memcpy(y + r * out, m->bias, out * sizeof(float));
    }
    products->torch(m->turned ? "N" : "T", "N", &out, &n, &in, &one, m->weight, m->turned ? &out : &in, x, &in, &before,
                    y, &out);
}

static const float *normed_in(const Norm *norm, const float *x, float *to, int64_t rows, int64_t width, int threads)
{
    if (norm->kind == NO_NORM) return x;
    normed(x, 0, norm->gain, norm->bias, to, rows, width, 1, 1, norm->epsilon, norm->kind == LAYER, threads);
    return to;
}

/* x, y -> what goes on, in `to`, which may be x */
static void joined(const Around *around, const float *x, float *y, float *to, int64_t rows, int64_t width, int threads)
{
    float carry = around->carry, scale = around->scale;
    normed_in(&around->behind, y, y, rows, width, threads);
    if (around->sum.kind != NO_NORM) {
        const Norm *norm = &around->sum;
        normed(x, y, norm->gain, norm->bias, to, rows, width, carry, scale, norm->epsilon, norm->kind == LAYER, threads);
        return;
    }
    int64_t all = rows * width;
#pragma omp parallel for simd num_threads(threads) schedule(static) if (threads > 1 && all >= LITTLE)
    for (int64_t i = 0; i < all; i++) to[i] = (carry * x[i] + y[i]) * scale;
}

static inline float smooth(float x, int64_t kind)
{
    switch (kind) {
    case RELU: return x < 0 ? 0 : x;
    case GELU: { /* the normal distribution, right to 3e-7, by Abramowitz & Stegun 1964, 7.1.26; erff goes one by one */
        float z = fabsf(x) * 0.70710678f, t = 1 / (1 + 0.3275911f * z);
        float p = (((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f;
        float tail = 0.5f * t * p * power(-z * z);
        return x * (x < 0 ? tail : 1 - tail);
    }
    case GELU_TANH: {
        float z = 1.59576912f * (x + 0.044715f * x * x * x), e = power(z < 0 ? z : -z);
        return x * (z < 0 ? e : 1) / (1 + e);
    }
    case SILU: {
        float e = power(x < 0 ? x : -x);
        return x * (x < 0 ? e : 1) / (1 + e);
    }
    case TANH: return tanhf(x);
    default: return x;
    }
}

#define EACH(KIND) \
    case KIND: \
        if (gated) \
            for (int64_t i = 0; i < half; i++) to[i] = smooth(own[i], KIND) * own[half + i]; \
        else \
            for (int64_t i = 0; i < half; i++) to[i] = smooth(own[i], KIND); \
        break;

/* x -> y. gated: the first half of a row, activated, times the second; rows become half as wide. */
static void activated(const float *x, float *y, int64_t rows, int64_t width, int64_t kind, int64_t gated, int threads)
{
    int64_t half = gated ? width / 2 : width;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * width >= LITTLE)
    for (int64_t r = 0; r < rows; r++) {
        const float *restrict own = x + r * width;
        float *restrict to = y + r * half;
        switch (kind) {
            EACH(IDENTITY)
            EACH(RELU)
            EACH(GELU)
            EACH(GELU_TANH)
            EACH(SILU)
            EACH(TANH)
        }
    }
}

/* Rows of a step, where only some of all go on, in order; of a past to which all have `steps` more than it says. */
typedef struct {
    const int64_t *rows;
    int64_t steps;
} Some;

/* Who writes the next step: rows that do not go on may have no place for one. */
static void sign_going(const Part *past, int64_t pasts, int64_t rows, const Some *some)
{
    for (int64_t p = 0, first = 0, c = 0; p < pasts; first += past->rows, p++, past++) {
        if (past->writers && !some) sign(past->writers, past->writers_row, past->lengths, past->rows, past->fan);
        for (; some && c < rows && some->rows[c] < first + past->rows; c++) {
            int64_t r = some->rows[c] - first;
            if (past->writers) past->writers[r * past->writers_row + past->lengths[r]] = r % past->fan;
        }
    }
}

static void turn_head(const Heads *heads, float *x, const float *cosines, const float *sines)
{
    int64_t far = heads->beside ? 1 : heads->planes, step = heads->beside ? 2 : 1;
    for (int64_t i = 0; i < heads->planes; i++) {
        float a = x[i * step], b = x[i * step + far];
        x[i * step] = a * cosines[i] - b * sines[i];
        x[i * step + far] = b * cosines[i] + a * sines[i];
    }
}

/* Some heads of one row, each alone: normed, and turned by the place where the row stands (Su et al. 2021, eq. 15). */
static void shaped(const Heads *heads, const Norm *norm, float *x, int64_t count, int64_t at)
{
    normed_in(norm, x, x, count, heads->width, 1);
    for (int64_t h = 0; heads->cosines && h < count; h++, x += heads->width)
        turn_head(heads, x, heads->cosines + at * heads->planes, heads->sines + at * heads->planes);
}

static int is_shaped(const Heads *heads)
{
    return heads->query.kind != NO_NORM || heads->key.kind != NO_NORM || heads->cosines;
}

/* What a row asks, and where it reads itself its key. x: as they were made. */
static void shaped_row(const Heads *heads, int own, float *x, int64_t at)
{
    shaped(heads, &heads->query, x, heads->heads, at);
    if (own) shaped(heads, &heads->key, x + heads->heads * heads->width, heads->groups, at);
}

/* The same of all rows of a part, each behind what it has written so far. */
static void shaped_part(const Heads *heads, const Part *part, int own, float *x, int64_t rows, int64_t even,
                        const Going *going, int threads)
{
    int64_t wide = heads->asks.out;
    if (!is_shaped(heads)) return;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * wide >= LITTLE)
    for (int64_t r = 0; r < rows; r++) {
        int64_t row = row_of(going, r);
        int64_t at = !part->lengths ? even : part->lengths[part->writers ? row : item_of(row, part->fan)];
        shaped_row(heads, own, x + r * wide, at);
    }
}

static void attended(const Block *block, const Heads *heads, const Part *parts, int64_t count, int own, float *x,
                     int64_t rows, const Some *some, float *space, int threads)
{
    int64_t D = block->width, all = heads->heads * heads->width, wide = heads->asks.out, one = block->longest * rows;
    float *a = space, *b = space + one, *y = space + 2 * one, *rest = space + 3 * one;
    const float *read = normed_in(&heads->around.before, x, a, rows, D, threads);
    map(block->products, &heads->asks, read, rows, b, rest, threads);
    int64_t keys = all, values = all + heads->groups * heads->width, begin = 0, first = 0;
    for (int64_t p = 0; p < count; p++) {
        const Part *part = parts + p;
        float *q = b + begin * wide;
        int64_t many = part->rows, even = part->even + (own && some ? some->steps : 0);
        Going going = {some ? some->rows + begin : 0, first};
        if (some)
            for (many = 0; begin + many < rows && going.rows[many] < first + part->rows;) many++;
        shaped_part(heads, part, own, q, many, even, some ? &going : 0, threads);
        attend_going(q, wide, own ? q + keys : 0, wide, own ? q + values : 0, wide, part->keys, part->values, part->row,
                     part->head, part->fork, part->step, part->lengths, even, part->writers, part->writers_row,
                     y + begin * all, many, part->fan, heads->heads, heads->groups, heads->width, heads->scale,
                     some ? &going : 0, threads);
        begin += many, first += part->rows;
    }
    if (heads->out.in) {
        map(block->products, &heads->out, y, rows, a, rest, threads);
        y = a;
    }
    joined(&heads->around, x, y, x, rows, D, threads);
}

static void fed_forward(const Block *block, float *x, int64_t rows, float *space, int threads)
{
    const Dense *dense = &block->dense;
    if (!dense->in.out) return;
    int64_t D = block->width, one = block->longest * rows;
    float *a = space, *b = space + one, *c = space + 2 * one, *rest = space + 3 * one;
    const float *read = normed_in(&dense->around.before, x, a, rows, D, threads);
    map(block->products, &dense->in, read, rows, b, rest, threads);
    activated(b, c, rows, dense->in.out, dense->activation, dense->gated, threads);
    map(block->products, &dense->out, c, rows, a, rest, threads);
    joined(&dense->around, x, a, x, rows, D, threads);
}

/* x: what goes in, and what comes out. some: null: all rows. space: for rows * (4 * longest + 2) numbers. */
static void block_step(const Block *block, float *x, int64_t rows, const Some *some, const Part *past, int64_t pasts,
                       const Part *memory, int64_t memories, float *space, int threads)
{
    sign_going(past, pasts, rows, some);
    attended(block, &block->self, past, pasts, 1, x, rows, some, space, threads);
    if (block->cross.heads) attended(block, &block->cross, memory, memories, 0, x, rows, some, space, threads);
    fed_forward(block, x, rows, space, threads);
}

/* Whole sequences, each over itself: token t of sequence s is row begins[s] + t. */
static void block_read(const Block *block, float *x, const int32_t *begins, int64_t sequences, float *space, int threads)
{
    const Heads *heads = &block->self;
    int64_t rows = begins[sequences], D = block->width, all = heads->heads * heads->width, wide = heads->asks.out;
    int64_t one = block->longest * rows;
    float *a = space, *b = space + one, *y = space + 2 * one, *rest = space + 3 * one;
    const float *read = normed_in(&heads->around.before, x, a, rows, D, threads);
    map(block->products, &heads->asks, read, rows, b, rest, threads);
    if (is_shaped(heads))
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * wide >= LITTLE)
        for (int64_t s = 0; s < sequences; s++)
            for (int64_t t = begins[s]; t < begins[s + 1]; t++) shaped_row(heads, 1, b + t * wide, t - begins[s]);
    attend_rows(b, wide, b + all, wide, b + all + heads->groups * heads->width, begins, begins, y, sequences,
                heads->heads, heads->groups, heads->width, heads->scale, 0, threads);
    if (heads->out.in) {
        map(block->products, &heads->out, y, rows, a, rest, threads);
        y = a;
    }
    joined(&heads->around, x, y, x, rows, D, threads);
    fed_forward(block, x, rows, space, threads);
}

/* All blocks for some sequences, then for the next ones, so that what stands between blocks stays near. begins: from 0
   on, of each part anew; parts: how many sequences each has. */
void stack_read(const Block *const *blocks, int64_t count, float *x, const int32_t *begins, const int64_t *parts,
                int64_t many, float *space, int threads)
{
    for (int64_t p = 0; p < many; p++) {
        for (int64_t b = 0; b < count; b++) block_read(blocks[b], x, begins, parts[p], space, threads);
        x += begins[parts[p]] * blocks[0]->width;
        begins += parts[p] + 1;
    }
}

/* Blocks one upon the other. pasts, memories: of how many parts each block's rows remember something. */
static void some_step(const Block *const *blocks, int64_t count, float *x, int64_t rows, const Some *some,
                      const Part *past, const int64_t *pasts, const Part *memory, const int64_t *memories, float *space,
                      int threads)
{
    for (int64_t b = 0; b < count; b++) {
        block_step(blocks[b], x, rows, some, past, pasts[b], memory, memories[b], space, threads);
        past += pasts[b], memory += memories[b];
    }
}

void stack_step(const Block *const *blocks, int64_t count, float *x, int64_t rows, const Part *past,
                const int64_t *pasts, const Part *memory, const int64_t *memories, float *space, int threads)
{
    some_step(blocks, count, x, rows, 0, past, pasts, memory, memories, space, threads);
}
