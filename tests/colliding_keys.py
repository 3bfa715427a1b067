"""Keys of 16 bytes that have one and the same value of libstdc++'s std::hash, which is MurmurHash64A with
a seed that everybody knows: the second eight bytes undo what the first did."""
import struct

ALL = 2**64 - 1
MULTIPLIER = 0xc6a4a7935bd1e995
INVERSE = pow(MULTIPLIER, -1, 2**64)
SEED = 0xc70f6907


def mix(bits):
    return bits ^ bits >> 47  # its own inverse


def key(first):
    state = SEED ^ (16 * MULTIPLIER & ALL) ^ (mix(first * MULTIPLIER & ALL) * MULTIPLIER & ALL)
    wanted = state * MULTIPLIER & ALL
    return struct.pack("<QQ", first, mix(wanted * INVERSE & ALL) * INVERSE & ALL)


def keys(count):
    return [key(first) for first in range(count)]
