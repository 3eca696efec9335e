/* The hypotheses of a search, item by item: which go on behind the best few tokens of each, and which end. What
   generation/writing.py says step by step. */
#ifndef SEARCH_H
#define SEARCH_H
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { GOES, ENOUGH_FOUND, NOTHING_GOES };

typedef struct {
    int64_t fan, wanted, room; /* hypotheses and answers to an item; tokens that a hypothesis has room for */
    /* of each hypothesis: its tokens, their log-probabilities, and the sum of these; -inf: nothing stands here */
    int64_t *tokens;
    float *log_probs;
    double *totals;
    int64_t *steps;          /* of each item: tokens of its hypotheses */
    const int64_t *longest;  /* of each item: tokens at the most */
    double *best;            /* of each item: the best scores of answers that have ended, the best first */
    const double *penalties; /* by which the sum of so many log-probabilities is divided */
    int64_t *ends;           /* of each item: whether, and why, it is done */
    /* answers that ended in this call, the best first, `wanted` places to each item; and how many there are */
    int64_t *found, *found_steps, *found_tokens;
    float *found_log_probs; /* the end mark's, too */
    double *found_scores;
    /* space: for the best few tokens of each row, and for an item's tables */
    float *likely;
    int64_t *likely_tokens;
    char *table;
} Search;

/* How a hypothesis may go on. */
typedef struct {
    int64_t origin, token;
    float log_prob;
    double total;
} Way;

static int ways_to(const Search *s) { return 2 * s->fan; } /* of which half may be ends */

/* Whether a row holds something; an item's first one is always asked. */
static int stands(const Search *s, int64_t row) { return row % s->fan == 0 || s->totals[row] > -INFINITY; }

/* Rows of an item that do: those behind them do not. */
static int64_t standing(const Search *s, int64_t a)
{
    int64_t k = 1;
    while (k < s->fan && stands(s, a * s->fan + k)) k++;
    return k;
}

/* The best of so many, the best first; of equals the earlier hypothesis, then the lower token. Returns how many. */
static int ways_of(const Search *s, int64_t count, const double *totals, const float *log_probs, const int64_t *tokens,
                   Way *ways)
{
    int most = ways_to(s), have = 0;
    for (int64_t k = 0; k < count; k++)
        for (int c = 0; c < most; c++) {
            int64_t at = k * most + c;
            double sum = totals[k] + log_probs[at];
            if (!(sum > -INFINITY) || (have == most && !(sum > ways[most - 1].total))) break; /* nor do those that follow */
            int place = have < most ? have++ : most - 1;
            for (; place > 0 && sum > ways[place - 1].total; place--) ways[place] = ways[place - 1];
            ways[place] = (Way){k, tokens[at], log_probs[at], sum};
        }
    return have;
}

/* An answer among those of its item, if it is one of the best. */
static void keep(Search *s, int64_t a, const Way *way)
{
    int64_t steps = s->steps[a], N = s->wanted, room = s->room, row = a * s->fan + way->origin, place;
    double score = way->total / s->penalties[steps + 1], *best = s->best + a * N, *scores = s->found_scores + a * N;
    if (!(score > best[N - 1])) return;
    for (place = N - 1; place > 0 && score > best[place - 1]; place--) best[place] = best[place - 1];
    best[place] = score;
    if (s->found[a] < N) s->found[a]++;
    for (place = s->found[a] - 1; place > 0 && score > scores[place - 1]; place--) {
        int64_t to = a * N + place;
        scores[place] = scores[place - 1], s->found_steps[to] = s->found_steps[to - 1];
        memcpy(s->found_tokens + to * room, s->found_tokens + (to - 1) * room, room * sizeof *s->tokens);
        memcpy(s->found_log_probs + to * room, s->found_log_probs + (to - 1) * room, room * sizeof *s->log_probs);
    }
    int64_t to = a * N + place;
    scores[place] = score, s->found_steps[to] = steps;
    memcpy(s->found_tokens + to * room, s->tokens + row * room, steps * sizeof *s->tokens);
    memcpy(s->found_log_probs + to * room, s->log_probs + row * room, steps * sizeof *s->log_probs);
    s->found_log_probs[to * room + steps] = way->log_prob;
}

/* Each of so many rows of a table becomes what its origin was. used: bytes of a row that hold something. */
static void fork_rows(char *rows, int64_t row, int64_t used, const Way *ways, int64_t fan, char *table)
{
    for (int64_t k = 0; k < fan; k++) memcpy(table + k * used, rows + k * row, used);
    for (int64_t k = 0; k < fan; k++)
        if (ways[k].origin != k) memcpy(rows + k * row, table + ways[k].origin * used, used);
}

/* One step of an item: keeps what ends. Its ways on, one to each hypothesis, to `ways`; 0: it is done, and stays as it is.
   log_probs, tokens: of the best few of each of so many hypotheses. */
static int item_goes(Search *s, int64_t a, int64_t many, const float *log_probs, const int64_t *tokens, int64_t end,
                     Way *ways)
{
    int64_t K = s->fan, count = 0;
    int have = ways_of(s, many, s->totals + a * K, log_probs, tokens, ways), fits = s->steps[a] < s->longest[a];
    for (int w = 0; w < have; w++)
        if (ways[w].token == end) {
            if (w < K) keep(s, a, ways + w);
        } else if (fits && count < K)
            ways[count++] = ways[w];
    /* no log-probability to come is above 0, and no length is worth more than the longest */
    double bound = count ? ways[0].total / s->penalties[s->longest[a] + 1] : -INFINITY;
    int done = bound <= s->best[(a + 1) * s->wanted - 1];
    s->ends[a] = !done ? GOES : count ? ENOUGH_FOUND : NOTHING_GOES;
    if (s->ends[a] != GOES) return 0;
    for (int64_t k = count; k < K; k++) ways[k] = ways[0], ways[k].total = -INFINITY;
    return 1;
}

/* Behind these ways. */
static void go_on(Search *s, int64_t a, const Way *ways)
{
    int64_t K = s->fan, steps = s->steps[a]++, *tokens = s->tokens + a * K * s->room;
    float *log_probs = s->log_probs + a * K * s->room;
    fork_rows((char *)tokens, s->room * sizeof *tokens, steps * sizeof *tokens, ways, K, s->table);
    fork_rows((char *)log_probs, s->room * sizeof *log_probs, steps * sizeof *log_probs, ways, K, s->table);
    for (int64_t k = 0; k < K; k++) {
        tokens[k * s->room + steps] = ways[k].token;
        log_probs[k * s->room + steps] = ways[k].log_prob;
        s->totals[a * K + k] = ways[k].total;
    }
}

#endif
