/* Chance as a function of a key and a place: nothing is kept, and threads do not matter.

   Each row has a key of 64 bits, made of the seed and the row's number (a step of SplitMix64, Steele et al. 2014). Each
   place in it has 32 bits, mixed twice, with half of the key before and half between. */
#ifndef CHANCE_H
#define CHANCE_H
#include "lanes.h"

typedef struct {
    uint32_t before, between;
} chance_key;

INLINE chance_key key_of(uint64_t seed, uint64_t row)
{
    uint64_t z = seed + (row + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (chance_key){(uint32_t)z, (uint32_t)(z >> 32)};
}

/* LANES places from `first` on: ones in all bits where a number stays. `lost` of 2^32 go. */
INLINE whole stays(chance_key key, uint32_t first, uint32_t lost)
{
    bits h = ((bits)places() + first) * 0x9e3779b1u ^ key.before;
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= (h >> 15) ^ key.between;
    h *= 0x846ca68bu;
    h ^= h >> 16;
    return (whole)(h >= lost);
}

INLINE lanes kept(lanes x, whole mask) { return (lanes)((whole)x & mask); }
#endif
