"""e^-x in whole numbers against `decimal`, over all exponents that mechanisms take."""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from freewill.domain.draws.chance import Chance, Dyadic, exponential, ln2, precision, share

exponents = st.floats(min_value=-300, max_value=290).map(lambda power: 10.0**power)


def digits(count):
    return localcontext(Context(prec=count, Emax=MAX_EMAX, Emin=MIN_EMIN))


@given(x=exponents, bits=st.integers(min_value=64, max_value=1300))
@example(x=5e-324, bits=1266)
@example(x=1e290, bits=192)
@example(x=1e-300, bits=1200)
@example(x=math.log(2), bits=192)
@example(x=1.0, bits=192)
@example(x=2.0**900, bits=192)
def test_the_relative_error_is_below_2_to_minus_p_minus_24(x, bits):
    total, working, halvings = exponential(Dyadic.of(x), bits)
    with digits(420 + bits // 3):
        log_quotient = Decimal(total).ln() - (working + halvings) * Decimal(2).ln() + Decimal(x)
        assert abs(log_quotient) < Decimal(2) ** -(bits + 24)
    assert total <= 1 << working
    assert total.bit_length() >= working


@pytest.mark.parametrize("bits", [1, 10, 64, 256, 1000, 5000])
def test_ln2_is_rounded_down_by_less_than_a_unit(bits):
    with digits(60 + bits // 3):
        short = Decimal(2).ln() * 2**bits - ln2(bits)
        assert -Decimal("1e-6") < short < 1


@given(x=st.floats(min_value=1e-12, max_value=700.0), size=st.integers(2, 2**54))
def test_derived_chances_are_rounded_as_they_say(x, size):
    """Of k e^-x / (1 + (k-1) e^-x): down by less than a unit, up by one to two."""
    exponent = Dyadic.of(x)
    bits = precision(exponent, size.bit_length())
    quotient = share(exponential(exponent, bits), size, size - 1)
    low, high = Chance.down(*quotient, bits), Chance.up(*quotient, bits)
    assert low.numerator.bit_length() == bits
    with digits(1000):
        rare = (-Decimal(x)).exp()
        exact = size * rare / (1 + (size - 1) * rare) * Decimal(2) ** low.shift
        assert -Decimal("1e-3") < exact - low.numerator < Decimal("1.001")
        assert low.shift == high.shift
        assert Decimal("0.999") < high.numerator - exact < Decimal("2.001")


@given(number=st.floats(min_value=0, allow_infinity=False, exclude_min=True))
def test_doubles_are_taken_literally(number):
    dyadic = Dyadic.of(number)
    assert dyadic.numerator / (1 << dyadic.shift) == number
    assert 2.0**dyadic.log2 <= number
    assert dyadic.log2 >= 1023 or number < 2.0 ** (dyadic.log2 + 1)
    again = dyadic.doubled(7)
    assert again.numerator * 2**dyadic.shift == 128 * dyadic.numerator * 2**again.shift


@pytest.mark.parametrize(
    ("number", "bits"), [(1.0, 192), (0.5, 194), (0.75, 194), (2.0, 192), (5e-324, 192 + 2148)]
)
def test_precision_grows_as_exponents_shrink(number, bits):
    assert precision(Dyadic.of(number)) == bits
    assert precision(Dyadic.of(number), 7) == bits + 7
