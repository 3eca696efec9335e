/* Some steps of a decoder in one call, from the last tokens to the next ones: always the likeliest, or by chance.
   A row that is done takes no further part. */
#include "block.c"
#include "shortlist.c"

#define NEAR 32

typedef struct {
    const float *vectors, *positions; /* positions may be null */
    double factor;                    /* of the vectors */
    Norm norm, last;                  /* of what the blocks read, and behind them */
    const Block *const *blocks;
    int64_t count, width, tokens;
    const Products *products;
    Map head;
    double shrink; /* of what the head reads */
} Decoder;

/* Which tokens may be drawn: see generation/sampling.py. */
typedef struct {
    double heat, top_k, top_p, min_p;
} Limits;

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
    const Limits *limits;   /* of each row */
    int64_t *tokens;        /* of each step and row; NONE: it was done before */
    float *log_probs;       /* the same; null: nobody asks */
    float *x, *space, *scores; /* scores: of all rows, or NEAR; three times as many where tokens are drawn */
    int64_t done, bad; /* steps; whether some number was none */
} Run;

#define NONE -1
#define CLOSE (12 << 20) /* bytes that rows remember, about, which stay near while several steps read them */
#define ENOUGH 48       /* rows: with fewer at once, products are slow */

/* Some of the rows, which are written one step after the other before others are. */
typedef struct {
    int64_t *rows, count, step;
} Crowd;

static uint64_t mixed(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    return bits ^ bits >> 31;
}

#define GOLDEN 0x9E3779B97F4A7C15u

static void read_tokens(const Decoder *d, const Run *run, const Crowd *crowd, float *x)
{
    int64_t D = d->width;
    float factor = d->factor;
    for (int64_t c = 0; c < crowd->count; c++, x += D) {
        int64_t r = crowd->rows[c];
        const float *v = d->vectors + run->last[r] * D;
        if (d->positions) {
            const float *at = d->positions + run->lengths[r] * D;
            for (int64_t i = 0; i < D; i++) x[i] = v[i] * factor + at[i];
        } else
            for (int64_t i = 0; i < D; i++) x[i] = v[i] * factor;
    }
}

static int all_finite(const float *x, int64_t count)
{
    int none = 0;
#pragma omp simd reduction(| : none)
    for (int64_t i = 0; i < count; i++) none |= !(fabsf(x[i]) <= 3.402823466e38f);
    return !none;
}

static float high_of(const float *x, int64_t count)
{
    float most = -INFINITY;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < count; i++) most = x[i] > most ? x[i] : most;
    return most;
}

/* log(sum(e^x)); most: the largest x */
static float total_below(const float *x, int64_t count, float most)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) sum += power(x[i] - most);
    return most + logf(sum);
}

static float total(const float *x, int64_t count) { return total_below(x, count, high_of(x, count)); }

/* The place of the largest that may be written; of equals the lower one. -1: some score is no number. */
static int64_t likeliest_of(const float *scores, const uint8_t *never, int64_t count)
{
    int64_t best = -1;
    int none = 0;
    for (int64_t begin = 0; begin < count; begin += 64) {
        int64_t end = smaller_of(begin + 64, count);
        float high = -INFINITY;
#pragma omp simd reduction(max : high) reduction(| : none)
        for (int64_t i = begin; i < end; i++) {
            high = scores[i] > high ? scores[i] : high;
            none |= scores[i] != scores[i];
        }
        if (best >= 0 && !(high > scores[best])) continue;
        for (int64_t i = begin; i < end; i++)
            if (!never[i] && (best < 0 || scores[i] > scores[best])) best = i;
    }
    return none ? -1 : best;
}

#define SOME 64 /* scores whose largest is looked for first */

/* The largest so many of those that may be written, the largest first, and where they stand; of equals the lower place.
   highs: the largest of each SOME. */
static void best_of(const float *scores, const float *highs, const uint8_t *never, int64_t count, int many, float *best,
                    int64_t *places)
{
    int have = 0;
    for (int64_t begin = 0; begin < count; begin += SOME) {
        int64_t end = smaller_of(begin + SOME, count);
        if (have == many && !(highs[begin / SOME] > best[many - 1])) continue;
        for (int64_t i = begin; i < end; i++) {
            float v = never[i] ? -INFINITY : scores[i];
            if (have == many && !(v > best[many - 1])) continue;
            int place = have < many ? have++ : many - 1;
            for (; place > 0 && v > best[place - 1]; place--) best[place] = best[place - 1], places[place] = places[place - 1];
            best[place] = v, places[place] = i;
        }
    }
}

/* so that the largest stands first */
static void sink(float *heap, int64_t size, int64_t at)
{
    for (int64_t next; (next = 2 * at + 1) < size; at = next) {
        if (next + 1 < size && heap[next + 1] > heap[next]) next++;
        if (!(heap[next] > heap[at])) return;
        float other = heap[at];
        heap[at] = heap[next], heap[next] = other;
    }
}

static void normalise(float *x, int64_t count)
{
    float less = total(x, count);
    if (less > -INFINITY)
        for (int64_t i = 0; i < count; i++) x[i] -= less;
}

/* Only the so many likeliest, or the fewest that hold this mass together; of equals the lower ones. heap: space. */
static void likeliest_only(float *x, int64_t count, float *heap, int64_t many, double mass)
{
    int64_t size = 0, taken = 0, room;
    for (int64_t i = 0; i < count; i++)
        if (x[i] > -INFINITY) heap[size++] = x[i];
    for (int64_t i = size / 2; i-- > 0;) sink(heap, size, i);
    float border = -INFINITY;
    double held = 0;
    while (size && (!taken || (taken < many && held < mass))) { /* somebody always stays */
        border = heap[0], held += exp(border), taken++;
        heap[0] = heap[--size];
        sink(heap, size, 0);
    }
    room = taken;
    for (int64_t i = 0; i < count; i++) room -= x[i] > border;
    for (int64_t i = 0; i < count; i++)
        if (x[i] < border || (x[i] == border && room-- <= 0)) x[i] = -INFINITY;
}

/* The log-probabilities that are drawn from, in place of the scores. */
static void limit(float *x, const uint8_t *never, int64_t count, const Limits *by, float *heap)
{
    float most = -INFINITY, heat = by->heat;
    for (int64_t i = 0; i < count; i++) {
        x[i] = never[i] ? -INFINITY : x[i];
        most = x[i] > most ? x[i] : most;
    }
    for (int64_t i = 0; i < count; i++) x[i] = (x[i] - most) / heat;
    normalise(x, count);
    int64_t many = by->top_k > 0 && by->top_k < count ? (int64_t)by->top_k : count;
    if (many < count) {
        likeliest_only(x, count, heap, many, INFINITY);
        normalise(x, count);
    }
    if (by->top_p < 1) likeliest_only(x, count, heap, many, by->top_p - 1e-6);
    if (by->min_p > 0) {
        most = -INFINITY;
        for (int64_t i = 0; i < count; i++) most = x[i] > most ? x[i] : most;
        float least = most + (float)log(by->min_p);
        for (int64_t i = 0; i < count; i++) x[i] = x[i] < least ? -INFINITY : x[i];
    }
    if (by->top_p < 1 || by->min_p > 0) normalise(x, count);
}

/* By chance: each token waits E / p, with E exponential, and the first to come is drawn, as generation/sampling.py says.
   log(1 / u) >= 1 - u: most tokens are too late by that already, and no logarithm is needed. */
static int64_t drawn_of(const float *log_probs, int64_t count, uint64_t key)
{
    double soonest = INFINITY, best = -INFINITY;
    int64_t first = 0;
    for (int64_t i = 0; i < count; i++) {
        if (log_probs[i] == -INFINITY) continue;
        double u = ((mixed(key + (uint64_t)(i + 1) * GOLDEN) >> 11) + 0.5) * 0x1p-53;
        double p = power(log_probs[i]);
        if (1 - u > soonest * p) continue;
        double wait = -log(u), early = log_probs[i] - log(wait);
        if (early > best) best = early, soonest = wait / p * (1 + 1e-5), first = i; /* p has few digits */
    }
    return first;
}

/* One row's next token, from all its scores. limited: space for twice as many. -1: some number is none. */
static int64_t next_of(const Decoder *d, const Run *run, int64_t r, int64_t step, const float *scores, float *limited,
                       float *log_prob)
{
    int64_t V = d->tokens, token;
    if (run->keys) {
        memcpy(limited, scores, V * sizeof *limited);
        limit(limited, run->never, V, run->limits + r, limited + V);
        token = drawn_of(limited, V, mixed(run->keys[r] + (uint64_t)(run->drawn[r] + step) * GOLDEN));
    } else
        token = likeliest_of(scores, run->never, V);
    if (log_prob && token >= 0) *log_prob = scores[token] - total(scores, V);
    return token;
}

/* Rows whose scores are made at once: in eight bits so few that they stay near until somebody has looked at them. */
static int64_t at_once(const Map *head, int64_t rows) { return head->eight ? smaller_of(rows, NEAR) : rows; }

/* Each of these rows has one step more, where rows have lengths of their own. */
static void grown(Part *past, const int64_t *pasts, int64_t blocks, const Crowd *crowd)
{
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t p = 0, first = 0, c = 0; p < pasts[b]; first += past->rows, p++, past++) {
            int64_t *lengths = (int64_t *)past->lengths;
            for (; c < crowd->count && crowd->rows[c] < first + past->rows; c++)
                if (lengths) lengths[crowd->rows[c] - first]++;
        }
}

/* The next token of each of these rows, to `to`. */
static void chosen_tokens(const Decoder *d, Run *run, const Crowd *crowd, int64_t *to, int threads)
{
    int64_t rows = crowd->count, D = d->width;
    float *x = run->x, *rest = run->space, *probs = run->log_probs ? run->log_probs + crowd->step * run->rows : 0;
    normed_in(&d->last, x, x, rows, D, threads);
    if (d->shrink != 1)
        for (int64_t i = 0; i < rows * D; i++) x[i] *= (float)d->shrink;
    run->bad = !all_finite(x, rows * D);
    if (run->bad) return;
    if (run->shortlist) {
        largest(run->shortlist, x, rows, (uint8_t *)(rest + rows), (int32_t *)rest, (int32_t *)run->scores, to, threads);
        return;
    }
    for (int64_t begin = 0, some = at_once(&d->head, rows); begin < rows; begin += some) {
        int64_t many = smaller_of(some, rows - begin), V = d->tokens;
        map(d->products, &d->head, x + begin * D, many, run->scores, rest, threads);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && many * V >= LITTLE)
        for (int64_t i = 0; i < many; i++) {
            float *limited = run->scores + (some + 2 * i) * V;
            int64_t r = crowd->rows[begin + i];
            to[begin + i] = next_of(d, run, r, crowd->step, run->scores + i * V, limited, probs ? probs + r : 0);
        }
    }
    for (int64_t r = 0; r < rows; r++) run->bad |= to[r] < 0;
}

/* The best few tokens of each row, the best first, with their log-probabilities; NaN where some number is none. x: what
   the head reads. */
void best_tokens(const Decoder *d, const float *x, int64_t rows, const uint8_t *never, int many, float *scores,
                 float *rest, float *best, int64_t *tokens, int threads)
{
    int64_t V = d->tokens;
    for (int64_t begin = 0, some = at_once(&d->head, rows); begin < rows; begin += some) {
        int64_t now = smaller_of(some, rows - begin);
        map(d->products, &d->head, x + begin * d->width, now, scores, rest, threads);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && now * V >= LITTLE)
        for (int64_t i = 0; i < now; i++) {
            int64_t parts = (V + SOME - 1) / SOME;
            float *own = best + (begin + i) * many, *x = scores + i * V, highs[parts];
            for (int64_t p = 0; p < parts; p++) highs[p] = high_of(x + p * SOME, smaller_of(SOME, V - p * SOME));
            float less = total_below(x, V, high_of(highs, parts));
            best_of(x, highs, never, V, many, own, tokens + (begin + i) * many);
            for (int c = 0; c < many; c++) own[c] -= less;
        }
    }
}

/* One step of some rows; those that are done leave them. */
static void written_on(const Decoder *d, Run *run, Crowd *crowd, int64_t *next, int threads)
{
    int64_t count = crowd->count, *tokens = run->tokens + crowd->step * run->rows;
    Some some = {crowd->rows, crowd->step};
    read_tokens(d, run, crowd, run->x);
    normed_in(&d->norm, run->x, run->x, count, d->width, threads);
    some_step(d->blocks, d->count, run->x, count, &some, run->past, run->pasts, run->memory, run->memories, run->space,
              threads);
    chosen_tokens(d, run, crowd, next, threads);
    if (run->bad) return;
    grown(run->past, run->pasts, d->count, crowd);
    crowd->count = 0;
    for (int64_t c = 0; c < count; c++) {
        int64_t r = crowd->rows[c];
        tokens[r] = run->last[r] = next[c];
        run->lengths[r]++;
        if (next[c] != run->end && crowd->step < run->left[r]) crowd->rows[crowd->count++] = r;
    }
    crowd->step++;
}

/* How many rows are written together: so many that what they remember stays near, or all. */
static int64_t crowd_of(const Decoder *d, const Run *run)
{
    int64_t bytes = 0;
    const Part *past = run->past, *memory = run->memory;
    for (int64_t b = 0; b < d->count; b++) {
        const Heads *self = &d->blocks[b]->self, *cross = &d->blocks[b]->cross;
        for (int64_t p = 0; p < run->pasts[b]; p++, past++)
            bytes += past->rows * (past->even + run->steps) * self->groups * self->width * 2 * sizeof(float);
        for (int64_t p = 0; p < run->memories[b]; p++, memory++)
            bytes += memory->rows * memory->even * cross->groups * cross->width * 2 * sizeof(float);
    }
    int64_t some = bytes ? (int64_t)((double)run->rows * CLOSE / bytes) : run->rows;
    return run->steps > 1 && some >= ENOUGH ? some : run->rows;
}

/* space for numbers of rows: of all, twice. */
void write_on(const Decoder *d, Run *run, int64_t *space, int threads)
{
    int64_t rows = run->rows, each = crowd_of(d, run);
    for (int64_t i = 0; i < run->steps * rows; i++) run->tokens[i] = NONE;
    run->done = run->bad = 0;
    for (int64_t begin = 0; begin < rows; begin += each) {
        Crowd crowd = {space, smaller_of(each, rows - begin), 0};
        for (int64_t c = 0; c < crowd.count; c++) space[c] = begin + c;
        while (crowd.count && crowd.step < run->steps) {
            written_on(d, run, &crowd, space + rows, threads);
            if (run->bad) return;
        }
        run->done = larger_of(run->done, crowd.step);
    }
}
