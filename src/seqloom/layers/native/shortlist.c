/* The largest of many products, found exactly: see layers/shortlist.py. */
#include "eight.h"

#define LITTLE 16384 /* numbers: below it, waking other threads costs more than they save */

/* Rows rounded to eight bits, each by its own largest number, and how far below the largest of its products another
   may lie and still be the largest in full: Cauchy and Schwarz, in steps of the rounded products.

   apart, length: the largest distance of an output from its rounded self, and the largest length of a rounded one.
   scale: of the outputs. rounding: of the bound itself and of sums in full, as a share of the largest possible. */
void rounded(const float *x, int64_t rows, int64_t width, float apart, float length, float scale, float rounding,
             float smallest, uint8_t *out, int32_t *reach, int threads)
{
    int64_t far = padded(width, FOUR);
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * width >= LITTLE)
    for (int64_t r = 0; r < rows; r++) {
        const float *own = x + r * width;
        uint8_t *to = out + r * far;
        float most = smallest, squares = 0, away = 0;
#pragma omp simd reduction(max : most)
        for (int64_t i = 0; i < width; i++) {
            float size = fabsf(own[i]);
            most = size > most ? size : most;
        }
        float times = MOST / most, step = most / MOST;
#pragma omp simd reduction(+ : squares, away)
        for (int64_t i = 0; i < width; i++) {
            float whole = (own[i] * times + 12582912.0f) - 12582912.0f; /* rounds */
            float left = own[i] - whole * step;
            to[i] = (uint8_t)((int32_t)whole + MIDDLE);
            squares += own[i] * own[i];
            away += left * left;
        }
        for (int64_t i = width; i < far; i++) to[i] = MIDDLE;
        float bound = apart * sqrtf(squares) + length * sqrtf(away) + rounding * length * sqrtf(squares);
        float far = ceilf(2 * bound / (step * scale));
        reach[r] = far < 1e9f ? (int32_t)far : 1000000000;
    }
}

/* The output with the largest product in full, for each row; of equals the lower one. Only those are computed that can
   be it. products: in eight bits. */
void picked(const int32_t *products, int64_t rows, int64_t outputs, const int32_t *reach, const float *x,
            const float *weights, int64_t width, const int64_t *numbers, int64_t *out, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * outputs >= LITTLE)
    for (int64_t r = 0; r < rows; r++) {
        const int32_t *own = products + r * outputs;
        int32_t most = INT32_MIN;
#pragma omp simd reduction(max : most)
        for (int64_t o = 0; o < outputs; o++) most = own[o] > most ? own[o] : most;
        int64_t enough = (int64_t)most - reach[r], best = -1;
        int32_t floor = enough < INT32_MIN ? INT32_MIN : (int32_t)enough;
        float largest = 0;
        for (int64_t begin = 0; begin < outputs; begin += 64) {
            int64_t end = begin + 64 < outputs ? begin + 64 : outputs;
            int32_t high = INT32_MIN;
#pragma omp simd reduction(max : high)
            for (int64_t o = begin; o < end; o++) high = own[o] > high ? own[o] : high;
            if (high < floor) continue;
            for (int64_t o = begin; o < end; o++) {
                if (own[o] < floor) continue;
                const float *a = x + r * width, *b = weights + o * width;
                float sum = 0;
#pragma omp simd reduction(+ : sum)
                for (int64_t i = 0; i < width; i++) sum += a[i] * b[i];
                if (best < 0 || sum > largest) best = o, largest = sum;
            }
        }
        out[r] = numbers[best < 0 ? 0 : best];
    }
}

/* What the outputs are, and how far apart they are from their rounded selves. */
typedef struct {
    const Eight *rounded;
    const float *weights;
    const int64_t *numbers; /* of what stands here, among all outputs */
    double apart, length, scale, rounding, smallest;
} Short;

/* All of it. bytes, reach, products: space for rows of inputs, rows, and rows of outputs. */
void largest(const Short *s, const float *x, int64_t rows, uint8_t *bytes, int32_t *reach, int32_t *products,
             int64_t *out, int threads)
{
    const Eight *m = s->rounded;
    rounded(x, rows, m->in, s->apart, s->length, s->scale, s->rounding, s->smallest, bytes, reach, threads);
    whole_product(m, bytes, rows, products, threads);
    picked(products, rows, m->out, reach, x, s->weights, m->in, s->numbers, out, threads);
}
