/* Rows that move to other places of the same buffer: none of these places is one that is moved from. */
#include <stdint.h>
#include <string.h>

/* Each row is `outer` times `inner` pieces of `width` bytes, so many bytes apart. */
void move(char *x, const int64_t *from, const int64_t *to, int64_t rows, int64_t row, int64_t outer, int64_t outer_step,
          int64_t inner, int64_t inner_step, int64_t width)
{
    if (inner_step == width) width *= inner, inner = 1;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < inner; i++) {
                int64_t at = o * outer_step + i * inner_step;
                memcpy(x + to[r] * row + at, x + from[r] * row + at, width);
            }
}
