/* The loss of scores under a softmax, and its gradient in their place: -log softmax(x)[goal], in nats.

   smoothing: so much of each goal is spread evenly over the vocabulary. times: how often each row counts; null: once. */
#include "lanes.h"

#define TINY 1e-30f /* beside the largest, 1: products with numbers too small to be normal take many times as long */

void loss_in_place(float *scores, const int64_t *goal, const float *times, float *loss, int64_t rows, int64_t width,
                   float smoothing, int gradient, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int64_t r = 0; r < rows; r++) {
        float *x = scores + r * width, often = times ? times[r] : 1;
        if (often == 0) { /* not times 0: what does not count may be no number at all */
            loss[r] = 0;
            if (gradient) memset(x, 0, width * sizeof *x);
            continue;
        }
        int64_t even = width / LANES * LANES;
        lanes top = all(-INFINITY), total = all(0), every = all(0);
        for (int64_t c = 0; c < even; c += LANES) top = larger(load(x + c), top);
        float most = largest_of(top), hit = x[goal[r]], rest = 0, sum;
        for (int64_t c = even; c < width; c++) most = x[c] > most ? x[c] : most;
        for (int64_t c = 0; c < even; c += LANES) {
            lanes in = load(x + c), e = exponential(in - most);
            every += in;
            total += e;
            store(x + c, e);
        }
        sum = sum_of(total);
        rest = sum_of(every);
        for (int64_t c = even; c < width; c++) {
            rest += x[c];
            sum += x[c] = expf(x[c] - most);
        }
        float spread = most + logf(sum);
        float missed = smoothing ? (1 - smoothing) * (spread - hit) + smoothing * (spread - rest / width) : spread - hit;
        loss[r] = missed * often;
        if (!gradient) continue;
        float grow = often / sum, shared = smoothing ? often * smoothing / width : 0;
#pragma omp simd
        for (int64_t c = 0; c < width; c++) x[c] = (x[c] < TINY ? 0 : x[c] * grow) - shared;
        x[goal[r]] -= often * (1 - smoothing);
    }
}
