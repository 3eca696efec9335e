/* norm(scale * (carry * x + y)) * gain + bias, row by row; each row is summed in the same order whoever stands beside it.

   y, gain, bias may be null; y null: of x alone. centres: a layer norm, else RMS. */
#include <math.h>
#include <stdint.h>

#define SMALL 16384 /* numbers: below it, waking other threads costs more than they save */

static void one_row(const float *x, const float *y, const float *gain, const float *bias, float *out, int64_t width,
                    float carry, float scale, float epsilon, int centres)
{
    float sum = 0, squares = 0, mean = 0;
    if (y) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < width; i++) {
            float v = (carry * x[i] + y[i]) * scale;
            out[i] = v;
            sum += v;
        }
    } else {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < width; i++) {
            out[i] = x[i];
            sum += x[i];
        }
    }
    if (centres) mean = sum / width;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; i++) squares += (out[i] - mean) * (out[i] - mean);
    float inverse = 1 / sqrtf(squares / width + epsilon);
    if (gain && bias) {
#pragma omp simd
        for (int64_t i = 0; i < width; i++) out[i] = (out[i] - mean) * inverse * gain[i] + bias[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < width; i++)
            out[i] = (out[i] - mean) * inverse * (gain ? gain[i] : 1.0f) + (bias ? bias[i] : 0.0f);
    }
}

void normed(const float *x, const float *y, const float *gain, const float *bias, float *out, int64_t rows,
            int64_t width, float carry, float scale, float epsilon, int centres, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * width >= SMALL)
    for (int64_t r = 0; r < rows; r++)
        one_row(x + r * width, y ? y + r * width : 0, gain, bias, out + r * width, width, carry, scale, epsilon,
                centres);
}
