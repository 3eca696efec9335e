/* What follows, from the scores of all tokens: the likeliest, the best few, or one by chance. */
#ifndef SCORES_H
#define SCORES_H
#include <math.h>
#include <stdint.h>

#include "exponential.h"
#include "lanes.h"

/* Which tokens may be drawn: see generation/sampling.py. */
typedef struct {
    double heat, top_k, top_p, min_p;
} Limits;

static uint64_t mixed(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
    return bits ^ bits >> 31;
}

#define GOLDEN 0x9E3779B97F4A7C15u

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

#endif
