/* Passes over scores of a whole vocabulary, row by row. */
#include <math.h>
#include <stdint.h>

#include "exponential.h"

#define LITTLE 16384 /* numbers: below it, waking other threads costs more than they save */
#define BLOCK 64     /* scores of which none is looked at where the largest of them is too small */
#define MOST 64      /* places that can be asked for */

/* x - log(sum(e^x)), in place. A row with a number that is none becomes such numbers. */
void log_softmax(float *x, int64_t rows, int64_t width, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * width >= LITTLE)
    for (int64_t r = 0; r < rows; r++) {
        float *own = x + r * width, most = -INFINITY, sum = 0;
#pragma omp simd reduction(max : most)
        for (int64_t i = 0; i < width; i++) most = own[i] > most ? own[i] : most;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < width; i++) sum += power(own[i] - most);
        float less = most + logf(sum);
#pragma omp simd
        for (int64_t i = 0; i < width; i++) own[i] -= less;
    }
}

/* The largest so many of each row, the largest first, and where they stand; of equals the lower place. Where one is no
   number, none is. */
void likeliest(const float *x, int64_t rows, int64_t width, int64_t row, int count, float *best, int64_t *places,
               int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && rows * width >= LITTLE)
    for (int64_t r = 0; r < rows; r++) {
        const float *own = x + r * row;
        float top[MOST + 1];
        int64_t at[MOST + 1];
        int have = 0, none = 0;
        for (int64_t begin = 0; begin < width; begin += BLOCK) {
            int64_t end = begin + BLOCK < width ? begin + BLOCK : width;
            float high = -INFINITY;
#pragma omp simd reduction(max : high) reduction(| : none)
            for (int64_t i = begin; i < end; i++) {
                high = own[i] > high ? own[i] : high;
                none |= own[i] != own[i];
            }
            if (have == count && !(high > top[count - 1])) continue;
            for (int64_t i = begin; i < end; i++) {
                float v = own[i];
                if (have == count && !(v > top[count - 1])) continue;
                int place = have < count ? have++ : count - 1;
                while (place > 0 && v > top[place - 1]) {
                    top[place] = top[place - 1], at[place] = at[place - 1];
                    place--;
                }
                top[place] = v, at[place] = i;
            }
        }
        for (int i = 0; i < count; i++) best[r * count + i] = none ? NAN : top[i], places[r * count + i] = at[i];
    }
}
