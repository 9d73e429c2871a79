"""Day numbers <-> years, months and days, for all years. Pure; driver and task."""

from __future__ import annotations


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year (0 is 1 BC), month and day of a day number, in the proleptic Gregorian calendar.

    >>> civil_from_days(-719_529)
    (-1, 12, 31)
    """
    shifted = days + 719_468  # days since 0000-03-01: a leap day is then the last of its year
    era, of_era = divmod(shifted, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    part = (5 * of_year + 2) // 153
    month = part + 3 if part < 10 else part - 9
    return year + era * 400 + (month <= 2), month, of_year - (153 * part + 2) // 5 + 1


def days_from_civil(year: int, month: int, day: int) -> int:
    """The day number of a date; the inverse of `civil_from_days`.

    >>> days_from_civil(2000, 3, 1)
    11017
    """
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
