"""How random bits become equally likely numbers of a type: the part of it that needs no library of arrays."""

import math


def acceptance(count: int) -> tuple[int, int]:
    """For one of `count` numbers, at most 2^64, from 64 random bits: the bits to keep, and the limit that they, as a number
    with a sign, must be less than; others are drawn again. If `count` is at most 2^63, the remainder of a division by it is
    then uniform; else the number itself is, from -2^63 on."""
    if count > 1 << 63:
        return -1, count - (1 << 63)
    return (1 << 63) - 1, (1 << 63) - (1 << 63) % count


def representable(first: int, last: int, digits: int) -> tuple[int, int]:
    """The first and the last number of a range that have at most `digits` binary digits: a type with so many rounds all
    between them to numbers between them."""

    def down(number: int) -> int:
        surplus = max(number.bit_length() - digits, 0)
        return number >> surplus << surplus

    return -down(-first), down(last)


def steps(low: float, high: float, digits: int, least: float) -> tuple[float, int, int]:
    """A type's distance of numbers with `digits` binary digits just below the larger of the absolute bounds, at least
    `least`; and the multiples of it from `low` to before `high`: the first, and how many. None of them is rounded."""
    mantissa, exponent = math.frexp(max(abs(low), abs(high)))
    step = max(math.ldexp(1, exponent - digits - (mantissa == 0.5)), least)
    first = math.ceil(low / step)
    return step, first, math.ceil(high / step) - first
