/* Rows that move. */
#include <stdint.h>
#include <string.h>

/* To other places of the same buffer, none of which is one that is moved from. Each row is `outer` times `inner` pieces of `width` bytes, so many bytes apart. */
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

/* Sequences that lie behind each other, `far` bytes from token to token, each into a row of its own: row b from its
   begin on. A token has `heads` pieces of `width` bytes, side by side; in a row those of each head lie together, `head`
   bytes behind those of the one before. */
void spread(const char *x, int64_t far, const int32_t *begins, int64_t rows, int64_t row, int64_t heads, int64_t head,
            int64_t width, char *to)
{
    for (int64_t b = 0; b < rows; b++) {
        int64_t many = begins[b + 1] - begins[b];
        const char *from = x + begins[b] * far;
        for (int64_t h = 0; h < heads; h++, from += width) {
            char *own = to + b * row + h * head;
            if (far == width)
                memcpy(own, from, many * width);
            else
                for (int64_t t = 0; t < many; t++) memcpy(own + t * width, from + t * far, width);
        }
    }
}
