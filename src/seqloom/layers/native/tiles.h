/* Sums of bytes by the processor's tile registers (AMX), where it has them and the system lets us: the same whole
   numbers as eight.h makes otherwise, three to four times as fast. A tile is 16 rows of 64 bytes. */
#ifndef TILES_H
#define TILES_H
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILE_ROWS 16
#define DEEP 64 /* inputs that a tile holds */
#define PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM: a process asks once before it may use them */
#define TILE_DATA 18

/* Written out, as the intrinsics of gcc 12 do not say that they read memory. far: bytes from one row to the next. */
#define LOAD_TILE(TO, FROM, FAR) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #TO ::"r"((const void *)(FROM)), "r"((int64_t)(FAR)) : "memory")
#define STORE_TILE(FROM, TO, FAR) \
    __asm__ volatile("tilestored %%tmm" #FROM ", (%0,%1,1)" ::"r"((void *)(TO)), "r"((int64_t)(FAR)) : "memory")
/* to += rows of bytes without a sign times weights, four inputs of 16 outputs side by side */
#define ADD_TILE(TO, ROWS, WEIGHTS) \
    __asm__ volatile("tdpbusd %%tmm" #WEIGHTS ", %%tmm" #ROWS ", %%tmm" #TO ::: "memory")

typedef struct {
    uint8_t palette, start, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} Shapes;

static int tiles_allowed(void)
{
    static int known; /* 1: no, 2: yes; whoever asks at the same time finds the same */
    if (!known) known = syscall(SYS_arch_prctl, PERMISSION, TILE_DATA) ? 1 : 2;
    return known == 2;
}

/* Tiles 0 to 3 sum, 4 and 5 hold rows, 6 and 7 weights. Of up to 16 rows all sums are of the same rows and 64 outputs,
   else tiles 2 and 3 are of the rows behind the 16th. */
static void shape_tiles(int rows)
{
    int first = rows < TILE_ROWS ? rows : TILE_ROWS, second = rows > TILE_ROWS ? rows - TILE_ROWS : first;
    Shapes shapes = {.palette = 1};
    for (int t = 0; t < 8; t++) shapes.bytes[t] = 64, shapes.rows[t] = TILE_ROWS;
    shapes.rows[0] = shapes.rows[1] = shapes.rows[4] = first;
    shapes.rows[2] = shapes.rows[3] = shapes.rows[5] = second;
    __asm__ volatile("ldtilecfg %0" ::"m"(shapes) : "memory");
}

/* Others' tiles are not ours, and a system saves none that is empty. */
static void leave_tiles(void) { __asm__ volatile("tilerelease" ::: "memory"); }

/* The sums of 17 to 32 rows with a panel of 64 outputs, half of them at a time. less: where sums begin. */
static void two_high(const uint8_t *x, int64_t far, const int8_t *panel, int64_t inputs, const int32_t *less, int32_t *to)
{
    for (int half = 0; half < 2; half++, panel += 2 * 64, less += 32, to += 32) {
        LOAD_TILE(0, less, 0);
        LOAD_TILE(1, less + 16, 0);
        LOAD_TILE(2, less, 0);
        LOAD_TILE(3, less + 16, 0);
        for (int64_t k = 0; k < inputs; k += DEEP) {
            const int8_t *w = panel + k * 64;
            LOAD_TILE(6, w, 4 * 64);
            LOAD_TILE(7, w + 64, 4 * 64);
            LOAD_TILE(4, x + k, far);
            ADD_TILE(0, 4, 6);
            ADD_TILE(1, 4, 7);
            LOAD_TILE(5, x + TILE_ROWS * far + k, far);
            ADD_TILE(2, 5, 6);
            ADD_TILE(3, 5, 7);
        }
        STORE_TILE(0, to, 4 * 64);
        STORE_TILE(1, to + 16, 4 * 64);
        STORE_TILE(2, to + TILE_ROWS * 64, 4 * 64);
        STORE_TILE(3, to + TILE_ROWS * 64 + 16, 4 * 64);
    }
}

/* The same of up to 16 rows. */
static void one_high(const uint8_t *x, int64_t far, const int8_t *panel, int64_t inputs, const int32_t *less, int32_t *to)
{
    LOAD_TILE(0, less, 0);
    LOAD_TILE(1, less + 16, 0);
    LOAD_TILE(2, less + 32, 0);
    LOAD_TILE(3, less + 48, 0);
    for (int64_t k = 0; k < inputs; k += DEEP) {
        const int8_t *w = panel + k * 64;
        LOAD_TILE(4, x + k, far);
        LOAD_TILE(6, w, 4 * 64);
        ADD_TILE(0, 4, 6);
        LOAD_TILE(7, w + 64, 4 * 64);
        ADD_TILE(1, 4, 7);
        LOAD_TILE(6, w + 128, 4 * 64);
        ADD_TILE(2, 4, 6);
        LOAD_TILE(7, w + 192, 4 * 64);
        ADD_TILE(3, 4, 7);
    }
    STORE_TILE(0, to, 4 * 64);
    STORE_TILE(1, to + 16, 4 * 64);
    STORE_TILE(2, to + 32, 4 * 64);
    STORE_TILE(3, to + 48, 4 * 64);
}

static void tiled(const uint8_t *x, int64_t far, const int8_t *panel, int64_t inputs, const int32_t *less, int32_t *to,
                  int rows)
{
    if (rows > TILE_ROWS)
        two_high(x, far, panel, inputs, less, to);
    else
        one_high(x, far, panel, inputs, less, to);
}
#endif
