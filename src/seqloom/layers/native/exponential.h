#pragma once
#include <stdint.h>

/* e^x for x <= 0, to the last bit or two: 2^n e^r with |r| <= log(2) / 2; 0 below -87 */
static inline float power(float given)
{
    float x = given < -87.0f ? -87.0f : given;
    float n = x * 1.44269504f;
    n = (n + 12582912.0f) - 12582912.0f; /* rounds */
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    union {
        int32_t i;
        float f;
    } two = {.i = ((int32_t)n + 127) << 23};
    return given < -87.0f ? 0 : p * two.f;
}
