/* Some steps of a decoder in one call, from the last tokens to the next ones: always the likeliest, or by chance.
   It stops behind the step with which some row is done. */
#include "block.c"
#include "shortlist.c"

typedef struct {
    const float *vectors, *positions; /* positions may be null */
    double factor;                    /* of the vectors */
    Norm norm, last;                  /* of what the blocks read, and behind them */
    const Block *const *blocks;
    int64_t count, width, tokens;
    Product product;
    Map head;
    double shrink; /* of what the head reads */
} Decoder;

typedef struct {
    int64_t rows, steps;
    int64_t *last, *lengths; /* of each row: its last token, and how many steps it has */
    const int64_t *left;     /* tokens that it may still get; one step more may say that it ends */
    Part *past, *memory;     /* of all blocks; lengths and even grow with the steps */
    const int64_t *pasts, *memories;
    const uint8_t *never;   /* tokens that are not written */
    int64_t end;
    const Short *shortlist; /* null: all scores are made */
    const uint64_t *keys;   /* of each row's chance; null: the likeliest token */
    const int64_t *drawn;   /* tokens that each row drew before */
    const double *heat;     /* of each row */
    int64_t *tokens;        /* of each step and row */
    float *log_probs;       /* the same; null: nobody asks */
    float *x, *space, *scores;
    int64_t done, bad; /* steps; whether some number was none */
} Run;

static uint64_t mixed(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    return bits ^ bits >> 31;
}

#define GOLDEN 0x9E3779B97F4A7C15u

static void read_tokens(const Decoder *d, const Run *run, float *x)
{
    int64_t D = d->width;
    float factor = d->factor;
    for (int64_t r = 0; r < run->rows; r++) {
        const float *v = d->vectors + run->last[r] * D;
        if (d->positions) {
            const float *at = d->positions + run->lengths[r] * D;
            for (int64_t i = 0; i < D; i++) x[r * D + i] = v[i] * factor + at[i];
        } else
            for (int64_t i = 0; i < D; i++) x[r * D + i] = v[i] * factor;
    }
}

static int all_finite(const float *x, int64_t count)
{
    int none = 0;
#pragma omp simd reduction(| : none)
    for (int64_t i = 0; i < count; i++) none |= !(fabsf(x[i]) <= 3.402823466e38f);
    return !none;
}

static int any_none(const float *x, int64_t count)
{
    int none = 0;
#pragma omp simd reduction(| : none)
    for (int64_t i = 0; i < count; i++) none |= x[i] != x[i];
    return none;
}

/* log(sum(e^x)) */
static float total(const float *x, int64_t count)
{
    float most = -INFINITY, sum = 0;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < count; i++) most = x[i] > most ? x[i] : most;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += power(x[i] - most);
    return most + logf(sum);
}

/* The place of the largest that may be written; of equals the lower one. */
static int64_t likeliest_of(const float *scores, const uint8_t *never, int64_t count)
{
    int64_t best = -1;
    for (int64_t begin = 0; begin < count; begin += 64) {
        int64_t end = smaller_of(begin + 64, count);
        float high = -INFINITY;
#pragma omp simd reduction(max : high)
        for (int64_t i = begin; i < end; i++) high = scores[i] > high ? scores[i] : high;
        if (best >= 0 && !(high > scores[best])) continue;
        for (int64_t i = begin; i < end; i++)
            if (!never[i] && (best < 0 || scores[i] > scores[best])) best = i;
    }
    return best;
}

/* By chance: each token waits E / p, with E exponential, and the first to come is drawn, as generation/sampling.py says.
   log(1 / u) >= 1 - u: most tokens are too late by that already, and no logarithm is needed. */
static int64_t drawn_of(const float *scores, const uint8_t *never, int64_t count, float heat, uint64_t key)
{
    float most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++) most = !never[i] && scores[i] > most ? scores[i] : most;
    for (int64_t i = 0; i < count; i++) sum += never[i] ? 0 : power((scores[i] - most) / heat);
    float less = logf(sum);
    double soonest = INFINITY, best = -INFINITY;
    int64_t first = 0;
    for (int64_t i = 0; i < count; i++) {
        if (never[i]) continue;
        float log_prob = (scores[i] - most) / heat - less;
        double u = ((mixed(key + (uint64_t)(i + 1) * GOLDEN) >> 11) + 0.5) * 0x1p-53;
        double p = power(log_prob);
        if (1 - u > soonest * p) continue;
        double wait = -log(u), early = log_prob - log(wait);
        if (early > best) best = early, soonest = wait / p * (1 + 1e-5), first = i; /* p has few digits */
    }
    return first;
}

/* One row's next token, from all its scores. */
static int64_t next_of(const Decoder *d, const Run *run, int64_t r, int64_t step, const float *scores, float *log_prob)
{
    int64_t token;
    if (run->keys) {
        uint64_t key = mixed(run->keys[r] + (uint64_t)(run->drawn[r] + step) * GOLDEN);
        token = drawn_of(scores, run->never, d->tokens, run->heat[r], key);
    } else
        token = likeliest_of(scores, run->never, d->tokens);
    if (log_prob) *log_prob = scores[token] - total(scores, d->tokens);
    return token;
}

static void grown(Part *past, const int64_t *pasts, int64_t blocks)
{
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t p = 0; p < pasts[b]; p++, past++) {
            int64_t *lengths = (int64_t *)past->lengths;
            past->even++;
            for (int64_t r = 0; lengths && r < past->rows; r++) lengths[r]++;
        }
}

/* The next token of each row, to `to`. */
static void chosen_tokens(const Decoder *d, Run *run, int64_t step, int64_t *to, int threads)
{
    int64_t rows = run->rows, D = d->width;
    float *x = run->x, *rest = run->space, *probs = run->log_probs ? run->log_probs + step * rows : 0;
    normed_in(&d->last, x, x, rows, D, threads);
    if (d->shrink != 1)
        for (int64_t i = 0; i < rows * D; i++) x[i] *= (float)d->shrink;
    run->bad = !all_finite(x, rows * D);
    if (run->bad) return;
    if (run->shortlist) {
        largest(run->shortlist, x, rows, (uint8_t *)(rest + rows), (int32_t *)rest, (int32_t *)run->scores, to, threads);
        return;
    }
    map(d->product, &d->head, x, rows, run->scores, rest, threads);
    run->bad = any_none(run->scores, rows * d->tokens);
    if (run->bad) return;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * d->tokens >= LITTLE)
    for (int64_t r = 0; r < rows; r++) to[r] = next_of(d, run, r, step, run->scores + r * d->tokens, probs ? probs + r : 0);
}

void write_on(const Decoder *d, Run *run, int threads)
{
    int64_t rows = run->rows;
    for (run->done = run->bad = 0; run->done < run->steps;) {
        int64_t step = run->done, ends = 0, *tokens = run->tokens + step * rows;
        read_tokens(d, run, run->x);
        normed_in(&d->norm, run->x, run->x, rows, d->width, threads);
        stack_step(d->blocks, d->count, run->x, rows, run->past, run->pasts, run->memory, run->memories, run->space,
                   threads);
        chosen_tokens(d, run, step, tokens, threads);
        if (run->bad) return;
        grown(run->past, run->pasts, d->count);
        for (int64_t r = 0; r < rows; r++) {
            run->last[r] = tokens[r];
            run->lengths[r]++;
            ends |= tokens[r] == run->end || step >= run->left[r];
        }
        run->done++;
        if (ends) return;
    }
}
