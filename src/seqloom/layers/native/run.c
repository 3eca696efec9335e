/* Some steps of a decoder in one call, from the last tokens to the next ones: always the likeliest, by chance, or those
   of a search. A row that is done takes no further part. */
#include "block.c"
#include "scores.h"
#include "search.h"
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
    Search *search;         /* null: each row goes its own way; else left, tokens and log_probs are not asked for */
    int64_t *tokens;        /* of each step and row; NONE: it was done before */
    float *log_probs;       /* the same; null: nobody asks */
    float *x, *space, *scores; /* scores: of all rows, or NEAR; three times as many where tokens are drawn; the best of
                                   each row and thread at least */
    int64_t done, bad; /* steps; whether some number was none */
} Run;

#define NONE -1
#define CLOSE (12 << 20) /* bytes that rows remember, about, which stay near while several steps read them */
#define ENOUGH 48       /* rows: with fewer at once, products are slow */

/* Some of the rows, which are written one step after the other before others are. */
typedef struct {
    int64_t *rows, count, step;
} Crowd;

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

/* The best few tokens of each row, the best first, with their log-probabilities; NaN where some number is none. x: what
   the head reads. */
void best_tokens(const Decoder *d, const float *x, int64_t rows, const uint8_t *never, int many, float *scores,
                 float *rest, float *best, int64_t *tokens, int threads)
{
    int64_t V = d->tokens;
    for (int64_t begin = 0, some = at_once(&d->head, rows); begin < rows; begin += some) {
        int64_t now = smaller_of(some, rows - begin);
        map(d->products, &d->head, x + begin * d->width, now, scores, rest, threads);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && 4 * now * V >= LITTLE)
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
    if (run->search) {
        best_tokens(d, x, rows, run->never, ways_to(run->search), run->scores, rest, run->search->likely,
                    run->search->likely_tokens, threads);
        return;
    }
    if (d->head.eight && !run->keys && !probs) {
        likeliest_product(d->head.eight, x, rows, run->never, to, (uint8_t *)(rest + rows), rest, (Best *)run->scores,
                          threads);
        for (int64_t r = 0; r < rows; r++) run->bad |= to[r] < 0;
        return;
    }
    for (int64_t begin = 0, some = at_once(&d->head, rows); begin < rows; begin += some) {
        int64_t many = smaller_of(some, rows - begin), V = d->tokens;
        map(d->products, &d->head, x + begin * D, many, run->scores, rest, threads);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && 4 * many * V >= LITTLE)
        for (int64_t i = 0; i < many; i++) {
            float *limited = run->scores + (some + 2 * i) * V;
            int64_t r = crowd->rows[begin + i];
            to[begin + i] = next_of(d, run, r, crowd->step, run->scores + i * V, limited, probs ? probs + r : 0);
        }
    }
    for (int64_t r = 0; r < rows; r++) run->bad |= to[r] < 0;
}

/* What was chosen is written down; rows that are done leave the others. */
static void noted(Run *run, Crowd *crowd, const int64_t *next)
{
    int64_t count = crowd->count, *tokens = run->tokens + crowd->step * run->rows;
    crowd->count = 0;
    for (int64_t c = 0; c < count; c++) {
        int64_t r = crowd->rows[c];
        tokens[r] = run->last[r] = next[c];
        run->lengths[r]++;
        if (next[c] != run->end && crowd->step < run->left[r]) crowd->rows[crowd->count++] = r;
    }
}

/* The rows of an item, from the first on, remember what those remember that they go on from. */
static void fork_past(Part *past, const int64_t *pasts, int64_t blocks, int64_t row, const Way *ways, char *table)
{
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t p = 0, first = 0; p < pasts[b]; first += past->rows, p++, past++) {
            if (row < first || row >= first + past->rows) continue;
            int64_t *writers = past->writers + (row - first) * past->writers_row;
            int64_t *lengths = (int64_t *)past->lengths + row - first;
            fork_rows((char *)writers, past->writers_row * sizeof *writers, lengths[0] * sizeof *writers, ways, past->fan,
                      table);
            for (int64_t k = 1; k < past->fan; k++) lengths[k] = lengths[0];
        }
}

/* The same of a search: an item goes on with all rows that hold something, or is done. next: space for all rows. */
static void searched(const Decoder *d, Run *run, Crowd *crowd, int64_t *next)
{
    Search *s = run->search;
    int64_t count = 0, K = s->fan, most = ways_to(s);
    Way ways[most];
    for (int64_t c = 0; c < crowd->count; c++) run->bad |= s->likely[c * most] != s->likely[c * most];
    if (run->bad) return;
    for (int64_t c = 0, many; c < crowd->count; c += many) {
        int64_t row = crowd->rows[c], a = row / K;
        many = standing(s, a);
        if (!item_goes(s, a, many, s->likely + c * most, s->likely_tokens + c * most, run->end, ways)) continue;
        go_on(s, a, ways);
        fork_past(run->past, run->pasts, d->count, row, ways, s->table);
        for (int64_t k = 0, length = run->lengths[row] + 1; k < K; k++)
            run->last[row + k] = ways[k].token, run->lengths[row + k] = length;
        for (int64_t k = 0, all = standing(s, a); k < all; k++) next[count++] = row + k;
    }
    memcpy(crowd->rows, next, count * sizeof *next);
    crowd->count = count;
}

/* One step of some rows; those that are done leave them. */
static void written_on(const Decoder *d, Run *run, Crowd *crowd, int64_t *next, int threads)
{
    int64_t count = crowd->count;
    Some some = {crowd->rows, crowd->step};
    read_tokens(d, run, crowd, run->x);
    normed_in(&d->norm, run->x, run->x, count, d->width, threads);
    some_step(d->blocks, d->count, run->x, count, &some, run->past, run->pasts, run->memory, run->memories, run->space,
              threads);
    chosen_tokens(d, run, crowd, next, threads);
    if (run->bad) return;
    grown(run->past, run->pasts, d->count, crowd);
    if (run->search)
        searched(d, run, crowd, next);
    else
        noted(run, crowd, next);
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
            bytes += memory->rows / memory->fan * memory->even * cross->groups * cross->width * 2 * sizeof(float);
    }
    int64_t some = bytes ? (int64_t)((double)run->rows * CLOSE / bytes) : run->rows;
    if (run->search) some -= some % run->search->fan;
    return run->steps > 1 && some >= ENOUGH ? some : run->rows;
}

/* space for numbers of rows: of all, twice. */
void write_on(const Decoder *d, Run *run, int64_t *space, int threads)
{
    int64_t rows = run->rows, each = crowd_of(d, run);
    for (int64_t i = 0; !run->search && i < run->steps * rows; i++) run->tokens[i] = NONE;
    run->done = run->bad = 0;
    for (int64_t begin = 0; begin < rows; begin += each) {
        Crowd crowd = {space, 0, 0};
        for (int64_t r = begin; r < smaller_of(begin + each, rows); r++)
            if (!run->search || stands(run->search, r)) space[crowd.count++] = r;
        while (crowd.count && crowd.step < run->steps) {
            written_on(d, run, &crowd, space + rows, threads);
            if (run->bad) return;
        }
        run->done = larger_of(run->done, crowd.step);
    }
}
