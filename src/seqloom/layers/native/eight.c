/* Linear maps in eight bits: see eight.h. */
#include "eight.h"

void pack(const int8_t *weight, int64_t in, int64_t out, int8_t *to, int32_t *less)
{
    in_panels(weight, in, out, to, less);
}

void multiply(const Eight *m, const float *x, int64_t rows, float *y, uint8_t *bytes, float *largest, int threads)
{
    eight_product(m, x, rows, y, bytes, largest, threads);
}
