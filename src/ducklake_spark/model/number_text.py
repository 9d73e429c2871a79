"""Numbers <-> DuckDB's text of them, without ever rounding one. Pure; driver and task."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from ducklake_spark.errors import InvalidValue
from ducklake_spark.model.types import SIGNED_BITS, UNSIGNED_BITS, DecimalType

INTEGERS: Final = frozenset({*SIGNED_BITS, *UNSIGNED_BITS})
FLOATS: Final = frozenset({"float32", "float64"})

_RANGES: Final[dict[str, tuple[int, int]]] = {
    **{name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in SIGNED_BITS.items()},
    **{name: (0, 2**bits - 1) for name, bits in UNSIGNED_BITS.items()},
}
_UNITS: Final = {scale: Decimal((0, (1,), -scale)) for scale in range(39)}
_INTEGER: Final = re.compile(r"[+-]?\d+")
_LONGEST: Final = 60  # no number has as many digits


def unreadable(text: str, name: str) -> InvalidValue:
    """The error for text that is not of the type `name`."""
    return InvalidValue(f"Cannot read {text!r} as a {name}.")


def wrong(value: object, name: str) -> InvalidValue:
    """The error for a Python value of the wrong class."""
    return InvalidValue(f"{value!r} ({type(value).__name__}) is not a value for a {name}.")


def parse_integer(text: str, name: str) -> int:
    """A whole number that fits the type; ``1.0`` and ``1e2`` are whole too.

    >>> parse_integer("-5", "int8")
    -5
    """
    trimmed = text.strip()
    if not _INTEGER.fullmatch(trimmed):
        try:
            return to_integer(Decimal(trimmed), name)
        except InvalidOperation:
            raise unreadable(text, name) from None
    digits = trimmed.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _LONGEST:  # Python refuses to read very long ones
        raise _misfit(trimmed, name)
    return to_integer(-int(digits) if trimmed.startswith("-") else int(digits), name)


def to_integer(value: Any, name: str) -> int:
    """A whole Python number within the range of the type, else InvalidValue.

    >>> to_integer(Decimal("7"), "uint8")
    7
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise wrong(value, name)
    if not value:
        return 0
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > _LONGEST:
        raise _misfit(str(value), name)  # to write all its digits could take all memory
    if not isinstance(value, int) and (not math.isfinite(value) or value != int(value)):
        raise InvalidValue(f"{value} is not a whole number, which a {name} must be.")
    number = int(value)
    low, high = _RANGES[name]
    if not low <= number <= high:
        raise _misfit(str(number), name)
    return number


def _misfit(text: str, name: str) -> InvalidValue:
    low, high = _RANGES[name]
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return InvalidValue(f"{shown} does not fit a {name}, which holds {low} to {high}.")


def parse_decimal(text: str, kind: DecimalType) -> Decimal:
    """An exact number at full scale.

    >>> parse_decimal(".5", DecimalType(4, 2))
    Decimal('0.50')
    """
    try:
        return to_decimal(Decimal(text.strip()), kind)
    except InvalidOperation:
        raise unreadable(text, f"decimal({kind.precision},{kind.scale})") from None


def to_decimal(value: Any, kind: DecimalType) -> Decimal:
    """The number at the scale of the type; one that would have to be rounded is refused."""
    if _is_sized(value, kind):
        return value  # type: ignore[no-any-return]
    number = unscaled(value, kind.scale)
    if number is None or abs(number) >= 10**kind.precision:
        raise InvalidValue(f"{value} does not fit a decimal({kind.precision},{kind.scale}).")
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))


def _is_sized(value: Any, kind: DecimalType) -> bool:
    """Whether it is a number of the type as it stands, which most are."""
    unit = _UNITS.get(kind.scale)
    if unit is None or type(value) is not Decimal or not value or not value.same_quantum(unit):
        return False
    return value.adjusted() < kind.precision - kind.scale


def unscaled(value: Any, scale: int) -> int | None:
    """The number without its point, at that many digits behind it; None if it has more, or is huge.

    Python's own scaling rounds to the digits of a context.

    >>> unscaled(Decimal("1.5"), 2), unscaled(Decimal("1.5"), 0)
    (150, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise wrong(value, "decimal")
    exact = Decimal(value)
    if not exact.is_finite():
        raise wrong(value, "decimal")
    sign, digits, exponent = exact.as_tuple()
    if not exact:
        return 0
    shift = int(exponent) + scale
    if exact.adjusted() > _LONGEST or -shift > len(digits):
        return None  # to write all its digits could take all memory
    number = int("".join(map(str, digits)))
    number, lost = (number * 10**shift, 0) if shift >= 0 else divmod(number, 10**-shift)
    return None if lost else -number if sign else number


def format_decimal(value: Any, kind: DecimalType) -> str:
    """All digits behind the point; a type without any before it shows none, as DuckDB does.

    >>> format_decimal(Decimal("1.5"), DecimalType(4, 2)), format_decimal(0, DecimalType(2, 2))
    ('1.50', '.00')
    """
    text = format(to_decimal(value, kind), "f")
    return text.replace("0.", ".", 1) if kind.precision == kind.scale else text


def parse_float(text: str, name: str) -> float:
    """A floating-point number of the type's own precision.

    >>> parse_float("0.1", "float32"), parse_float("inf", "float64")
    (0.10000000149011612, inf)
    """
    try:
        number = float(text.strip())
    except ValueError:
        raise unreadable(text, name) from None
    return to_float32(number) if name == "float32" else number


def to_float32(number: float) -> float:
    """The nearest number that 32 bits can hold, as a Python float.

    >>> to_float32(16_777_217.0)
    16777216.0
    """
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _halfways(number: float) -> tuple[float, ...]:
    """The points halfway to both neighbours among the 32-bit numbers; exact in 64 bits."""
    bits = struct.unpack("<I", struct.pack("<f", number))[0]
    near = [b for b in (bits - 1, bits + 1) if 0 <= b < 2**32]
    return tuple((struct.unpack("<f", struct.pack("<I", b))[0] + number) / 2 for b in near)


def format_float(value: float, name: str) -> str:
    """The shortest text that reads back to the same number.

    >>> format_float(1e16, "float64"), format_float(0.10000000149011612, "float32")
    ('1e+16', '0.1')
    """
    number = float(value)
    if name == "float64" or not math.isfinite(number):
        return repr(number)
    if to_float32(number) != number:
        raise InvalidValue(f"{number} does not fit a float32 without rounding.")
    halfways = _halfways(number)
    for digits in range(1, 9):
        short = float(f"{number:.{digits}g}")
        # DuckDB does not trust a text that lies just between two numbers.
        if to_float32(short) == number and short not in halfways:
            return repr(short)
    return repr(float(f"{number:.9g}"))
