"""Steps that change tables, columns, views and layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.walking.draw_rows import NESTED_IDS
from support.walking.steps import Statement
from support.walking.values import NESTED, NUMBERS, SCALARS, WIDER

if TYPE_CHECKING:
    from support.walking.draw import Drawer


def create(draw: Drawer, name: str) -> Statement:
    """A table with some columns."""
    kinds = ["VARCHAR", "INTEGER", *draw.random.sample(SCALARS, draw.random.randint(1, 4))]
    if draw.random.random() < 0.6:
        kinds.append(draw.random.choice(NESTED))
    columns = ", ".join(["id BIGINT", *(f"{draw.new_name()} {kind}" for kind in kinds)])
    return Statement(f"CREATE TABLE {name} ({columns})", table=name)


def other_table(draw: Drawer) -> list[Statement]:
    """Make, drop, rename, replace tables besides the first."""
    others = sorted(n for n in draw.plain.numbers if n != "t")
    if not others or (len(others) < 2 and draw.random.random() < 0.3):
        return [create(draw, next(n for n in ("u", "w", "x") if n not in others))]
    name, chance = draw.random.choice(others), draw.random.random()
    if chance < 0.4:
        return [Statement(f"DROP TABLE {name}", table=name)]
    if chance < 0.7:
        new = next(n for n in ("u", "w", "x") if n not in others)
        draw.layout_keys[new] = draw.layout_keys.pop(name, set())
        return [Statement(f"ALTER TABLE {name} RENAME TO {new}", table=name)]
    made = create(draw, name)
    draw.layout_keys.pop(name, None)
    return [Statement(made.text.replace("CREATE", "CREATE OR REPLACE", 1), table=name)]


def view(draw: Drawer) -> list[Statement]:
    """Make or drop a view of the first table."""
    if draw.random.random() < 0.3:
        return [Statement("DROP VIEW IF EXISTS v")]
    where = f"id % {draw.random.randint(2, 4)} = 0"
    return [
        Statement(f"CREATE OR REPLACE VIEW v AS SELECT id, id + 1 AS more FROM t WHERE {where}")
    ]


def alter(draw: Drawer, *, in_transaction: bool = False) -> list[Statement]:
    """Change a column, or a field of one."""
    table = draw.table()
    makers = [_add, _add, _drop, _rename, _widen, _default, _add_field, _drop_field, _rename_field]
    if in_transaction:
        makers = [_add, _default]
    text = draw.random.choice(makers)(draw, table)
    if not text:
        return []
    return [Statement(f"ALTER TABLE {table} {text}", table=table, alters=text)]


def _free(draw: Drawer, table: str) -> list[tuple[str, Any]]:
    used = draw.layout_keys.get(table, set())
    return [(n, k) for n, k in draw.plain.columns(table)[1:] if n not in used]


def _add(draw: Drawer, table: str) -> str:
    kind = draw.random.choice([*SCALARS, *NESTED])
    text = f"ADD COLUMN {draw.new_name()} {kind}"
    if kind in (*NUMBERS, "VARCHAR") and draw.random.random() < 0.6:  # "defaults"
        text += " DEFAULT " + draw.random.choice(
            ["'dé'", "'a'"] if kind == "VARCHAR" else ["7", "0"]
        )
    return text


def _drop(draw: Drawer, table: str) -> str:
    free = _free(draw, table)
    return f"DROP COLUMN {draw.random.choice(free)[0]}" if len(free) > 2 else ""


def _rename(draw: Drawer, table: str) -> str:
    free = _free(draw, table)
    return f"RENAME COLUMN {draw.random.choice(free)[0]} TO {draw.new_name()}" if free else ""


def _widen(draw: Drawer, table: str) -> str:
    narrow = [(n, str(k)) for n, k in draw.plain.columns(table) if str(k) in WIDER]
    if not narrow:
        return ""
    name, kind = draw.random.choice(narrow)
    return f"ALTER COLUMN {name} SET DATA TYPE {draw.random.choice(WIDER[kind])}"


def _default(draw: Drawer, table: str) -> str:
    usable = [(n, str(k)) for n, k in _free(draw, table) if str(k) in (*NUMBERS, "VARCHAR")]
    if not usable:
        return ""
    name, kind = draw.random.choice(usable)
    if draw.random.random() < 0.3:
        return f"ALTER COLUMN {name} DROP DEFAULT"
    return (
        f"ALTER COLUMN {name} SET DEFAULT {chr(39) + 'def' + chr(39) if kind == 'VARCHAR' else 42}"
    )


def _struct(draw: Drawer, table: str) -> tuple[str, list[tuple[str, Any]]] | None:
    found = [(n, k.children) for n, k in _free(draw, table) if k.id == "struct"]
    return draw.random.choice(found) if found else None


def _add_field(draw: Drawer, table: str) -> str:
    found = _struct(draw, table)
    kind = draw.random.choice(["INTEGER", "VARCHAR", "BOOLEAN"])
    return f"ADD COLUMN {found[0]}.{draw.new_name()} {kind}" if found else ""


def _drop_field(draw: Drawer, table: str) -> str:
    found = _struct(draw, table)
    if found is None or len(found[1]) < 2:
        return ""
    return f"DROP COLUMN {found[0]}.{draw.random.choice(found[1])[0]}"


def _rename_field(draw: Drawer, table: str) -> str:
    found = _struct(draw, table)
    if found is None:
        return ""
    return f"RENAME COLUMN {found[0]}.{draw.random.choice(found[1])[0]} TO {draw.new_name()}"


def partition(draw: Drawer) -> list[Statement]:
    """Set or reset the partitions of a table."""
    table, rng = draw.table(), draw.random
    flat = [
        (n, str(k))
        for n, k in draw.plain.columns(table)[1:]
        if k.id not in NESTED_IDS and str(k) not in ("FLOAT", "DOUBLE", "BLOB")
    ]
    if rng.random() < 0.3 or not flat:
        return [_layout(table, "RESET PARTITIONED BY", [])]
    chosen = rng.sample(flat, min(len(flat), rng.choice([1, 1, 2])))
    draw.layout_keys.setdefault(table, set()).update(name for name, _ in chosen)
    keys = ", ".join(_key(draw, name, kind) for name, kind in chosen)
    return [_layout(table, f"SET PARTITIONED BY ({keys})", [name for name, _ in chosen])]


def _key(draw: Drawer, name: str, kind: str) -> str:
    forms = [name]
    if kind in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
        forms = [f"{part}({name})" for part in ("year", "month", "day")]
    elif kind in (*NUMBERS, "VARCHAR"):
        forms.append(f"bucket(3, {name})")
    return draw.random.choice(forms)


def sort(draw: Drawer) -> list[Statement]:
    """Set or reset the order of a table."""
    table, rng = draw.table(), draw.random
    flat = [n for n, k in draw.plain.columns(table) if k.id not in NESTED_IDS]
    draw.renumbers = True
    if rng.random() < 0.3:
        return [_layout(table, "RESET SORTED BY", [])]
    chosen = rng.sample(flat, min(len(flat), rng.choice([1, 1, 2])))
    draw.layout_keys.setdefault(table, set()).update(chosen)
    keys = ", ".join(name + rng.choice(["", " DESC", " DESC NULLS FIRST"]) for name in chosen)
    return [_layout(table, f"SET SORTED BY ({keys})", chosen)]


def _layout(table: str, text: str, columns: list[str]) -> Statement:
    probe = f"SELECT {', '.join(columns) or 'id'} FROM {table} LIMIT 0"
    return Statement(f"ALTER TABLE {table} {text}", probe, table)
