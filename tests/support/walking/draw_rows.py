"""Steps that change rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.walking.steps import Statement
from support.walking.values import NUMBERS, literal

if TYPE_CHECKING:
    from support.walking.draw import Drawer

SIMPLE = ("INTEGER", "BIGINT", "VARCHAR")


def small_insert(draw: Drawer) -> list[Statement]:
    """Few rows, which stay in the catalog mostly."""
    return [_insert_values(draw, draw.table(), draw.random.choice([1, 2, 5]))]


def large_insert(draw: Drawer) -> list[Statement]:
    """Rows for a file."""
    make = draw.random.choice([_insert_values, _insert_range])
    return [make(draw, draw.table(), draw.random.choice([11, 15, 40]))]


def append(draw: Drawer) -> list[Statement]:
    """A DataFrame of ours."""
    if not draw.is_ours:
        return []
    table = draw.table()
    query = _query(draw, table, draw.random.choice([3, 12, 30]))
    return [Statement(query, f"INSERT INTO {table} BY NAME {query}", table, call="append")]


def overwrite(draw: Drawer) -> list[Statement]:
    """Other rows in the place of all."""
    if not draw.is_ours:
        return []
    table = draw.table()
    query = _query(draw, table, draw.random.choice([2, 14]), every_column=True)
    text = f"DELETE FROM {table}; INSERT INTO {table} BY NAME {query}"
    return [Statement(query, text, table, call="overwrite")]


def _query(draw: Drawer, table: str, count: int, *, every_column: bool = False) -> str:
    """Some rows as a query with the names of the columns."""
    columns = draw.plain.columns(table)[1:]
    if not every_column:
        columns = [c for c in columns if draw.random.random() < 0.8]
    names = ["id", *(name for name, _ in columns)]
    lines = []
    for _ in range(count):
        cells = [f"CAST({literal(draw.random, k)} AS {k}) AS {n}" for n, k in columns]
        lines.append("SELECT " + ", ".join([f"CAST({draw.new_key()} AS BIGINT) AS id", *cells]))
    return f"SELECT {', '.join(names)} FROM ({' UNION ALL '.join(lines)}) q"


def _insert_values(draw: Drawer, table: str, count: int) -> Statement:
    columns = draw.plain.columns(table)
    given, names = columns[1:], ""
    if draw.random.random() < 0.3:
        given = [c for c in given if draw.random.random() < 0.6]
        names = f" ({', '.join(['id', *(name for name, _ in given)])})"
    lines = []
    for _ in range(count):
        cells = [literal(draw.random, kind) for _, kind in given]
        lines.append(f"({', '.join([str(draw.new_key()), *cells])})")
    return Statement(f"INSERT INTO {table}{names} VALUES {', '.join(lines)}", table=table)


def _insert_range(draw: Drawer, table: str, count: int) -> Statement:
    given = [(n, str(k)) for n, k in draw.plain.columns(table)[1:] if str(k) in SIMPLE]
    first = draw.next_key
    draw.next_key += count
    names = ["id", *(name for name, _ in given)]
    values = ["i", *("'n' || i" if kind == "VARCHAR" else "i * 2" for _, kind in given)]
    return Statement(
        f"INSERT INTO {table} ({', '.join(names)}) "
        f"SELECT {', '.join(values)} FROM range({first}, {first + count}) r(i)",
        table=table,
    )


def condition(draw: Drawer, table: str) -> str:
    """Some rows of a table: a range of keys mostly, or by the value of another column."""
    rng = draw.random
    usable = [(n, k) for n, k in draw.plain.columns(table)[1:] if k.id not in NESTED_IDS]
    chance = rng.random()
    if chance < 0.25 and usable:
        return compare(rng, *rng.choice(usable))
    if chance < 0.35:
        return rng.choice(["true", "false", f"id < {draw.next_key // 2}"])
    low = rng.randint(max(0, draw.next_key - 150), draw.next_key)
    high = low + rng.choice([0, 1, 4, 14, 40, 100])
    if chance < 0.5:
        return f"id >= {low} AND id % 3 = 1"
    return f"id BETWEEN {low} AND {high}"


NESTED_IDS = ("list", "map", "struct")


def compare(rng: Any, name: str, kind: Any) -> str:
    """A condition on a column."""
    form = rng.choice([">", "<=", "=", "IS NULL", "IS NOT NULL", "IN", "BETWEEN"])
    if form.startswith("IS"):
        return f"{name} {form}"
    values = [literal(rng, kind) for _ in range(3)]
    if str(kind) in NUMBERS:
        values = [f"{v}" for v in values]
    if form == "IN":
        return f"{name} IN ({', '.join(values)})"
    if form == "BETWEEN":
        return f"{name} BETWEEN {values[0]} AND {values[1]}"
    return f"{name} {form} {values[0]}"


def delete(draw: Drawer) -> list[Statement]:
    """Some rows, all or none."""
    table = draw.table()
    return [Statement(f"DELETE FROM {table} WHERE {condition(draw, table)}", table=table)]


def truncate(draw: Drawer) -> list[Statement]:
    """All rows."""
    table = draw.table()
    return [
        Statement(draw.random.choice([f"TRUNCATE {table}", f"DELETE FROM {table}"]), table=table)
    ]


def update(draw: Drawer) -> list[Statement]:
    """One or two columns of some rows."""
    table = draw.table()
    columns = draw.plain.columns(table)[1:]
    if not columns:
        return []
    chosen = draw.random.sample(columns, min(len(columns), draw.random.choice([1, 1, 2])))
    where = condition(draw, table)
    texts = ", ".join(f"{name} = {_new_value(draw, name, kind)}" for name, kind in chosen)
    draw.renumbers = True
    text = f"UPDATE {table} SET {texts} WHERE {where}"
    return [Statement(text, table=table, updates=where)]


def _new_value(draw: Drawer, name: str, kind: Any) -> str:
    if str(kind) in ("INTEGER", "BIGINT", "DOUBLE") and draw.random.random() < 0.5:
        return f"{name} + 1"
    if str(kind) == "VARCHAR" and draw.random.random() < 0.5:
        return f"{name} || 'x'"
    return literal(draw.random, kind)


def merge_into(draw: Drawer) -> list[Statement]:
    """Rows that are there are updated, or deleted where the source says so; others come."""
    table, rng = draw.table(), draw.random
    usable = [(n, str(k)) for n, k in draw.plain.columns(table)[1:] if str(k) in SIMPLE]
    if not usable:
        return []
    name, kind = rng.choice(usable)
    keys = sorted(draw.plain.keys(table))
    old = rng.sample(keys, min(rng.choice([1, 3, 9, 30]), len(keys)))
    going = old[:2] if draw.is_ours and rng.random() < 0.5 else []  # "one merge action"
    source = [*old, *(draw.new_key() for _ in range(rng.choice([0, 1, 12])))]
    if not source:
        return []
    values = [
        f"'m{rng.randint(0, 99)}'" if kind == "VARCHAR" else rng.randint(0, 99) for _ in source
    ]
    lines = ", ".join(
        f"({key}, CAST({value} AS {kind}), {str(key in going).lower()})"
        for key, value in zip(source, values, strict=True)
    )
    draw.renumbers = True
    removal = "WHEN MATCHED AND s.goes THEN DELETE " if going else ""
    text = (
        f"MERGE INTO {table} USING (VALUES {lines}) s(id, v, goes) ON {table}.id = s.id {removal}"
        f"WHEN MATCHED THEN UPDATE SET {name} = s.v "
        f"WHEN NOT MATCHED THEN INSERT (id, {name}) VALUES (s.id, s.v)"
    )
    stay = [key for key in source if key not in going]
    updates = f"id IN ({', '.join(map(str, stay))})" if stay else "false"
    return [Statement(text, table=table, updates=updates)]
