"""What a query names, as the mirror shows it to DuckDB and as Spark reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from ducklake_spark.binder.edits import qualify, rename, replace_function
from ducklake_spark.binder.mirror import (
    RELATIONS,
    Mirror,
    Mirrored,
    MirrorMacro,
    MirrorTable,
    MirrorView,
    Name,
)
from ducklake_spark.binder.names import (
    NamedFunction,
    NamedTable,
    Names,
    find_names,
    function_parts,
    mentioned_virtual,
    own_stars,
)
from ducklake_spark.binder.operators import Plan
from ducklake_spark.binder.trees import Tree, expect_query, table_ref, text_of
from ducklake_spark.errors import InvalidInput, NotFound, NotSupported
from ducklake_spark.execution.bound_questions import question_text
from ducklake_spark.execution.bound_values import value_of
from ducklake_spark.execution.changes import call_change_function, is_change_function
from ducklake_spark.execution.contexts import (
    CATALOG_PLACEHOLDER,
    Context,
    find_objects,
    time_travel,
)
from ducklake_spark.execution.functions import call_function, call_lake_function, is_table_function
from ducklake_spark.execution.joined_rows import JOINED, Half, JoinedRows, put_rows
from ducklake_spark.execution.readers import READERS, reader_of_path
from ducklake_spark.execution.sources import source_frame
from ducklake_spark.execution.system import system_function, system_table
from ducklake_spark.lake import Lake
from ducklake_spark.model.entities import MacroEntry, MacroImplementation, MacroParameter, ViewEntry
from ducklake_spark.model.names import quote_for_spark, quote_identifier
from ducklake_spark.model.types import DataType, format_sql_type, parse_type
from ducklake_spark.operations.contents import TableVersion
from ducklake_spark.operations.read import read_table
from ducklake_spark.spark.internal import IDENTITY_TYPES, VIRTUAL_TYPES
from ducklake_spark.spark.tags import type_of_field
from ducklake_spark.sql.relations import TableFunctionCall

if TYPE_CHECKING:
    from ducklake_spark.connection import Connection
    from ducklake_spark.operations.row_changes import Target
    from ducklake_spark.result import Result

Columns = tuple[tuple[str, str], ...]
_TRUE: Final = ("true", "t", "1", "on", "yes")
_NAMES_IN_TEXT: Final = frozenset({"query", "query_table", "histogram", "histogram_values"})


@dataclass(frozen=True)
class Rows:
    """Rows that stand behind a table of the mirror.

    Attributes:
        version: the table of a lake that they are, if they are one as it is.
    """

    columns: Columns
    frame: Callable[[], DataFrame]
    version: TableVersion | None = None


@dataclass(frozen=True)
class Queries:
    """Answers what stands inside of the query whose names are looked up.

    Attributes:
        value: of a query with one row and one column.
        statement: the outcome of DESCRIBE and its kin.
    """

    value: Callable[[str, Context], Any]
    statement: Callable[[str], Result]


class Sources:
    """Finds what one query names, and keeps what the mirror must hold for it.

    Args:
        queries: answers what stands in arguments and in DESCRIBE.
        root: the node of the query.
        target: a table that is about to be changed; in the query's own FROM its rows have their
            identities.
        joined: rows whose halves the query names as tables.
    """

    def __init__(
        self,
        con: Connection,
        mirror: Mirror,
        queries: Queries,
        root: Tree,
        target: Target | None = None,
        joined: JoinedRows | None = None,
    ) -> None:
        self.con = con
        self.mirror = mirror
        self.queries = queries
        self._root = root
        self._target = target
        self._joined = joined
        self._halves: dict[Name, Half] = {}
        self.objects: dict[tuple[Name, str], Mirrored] = {}
        self.called: set[str] = set()
        self.rows: dict[tuple[str, str, str], Rows] = {}
        self._relations: dict[tuple[Any, ...], Name] = {}

    def ready(self) -> None:
        """Let the mirror hold what was found."""
        self.mirror.hold(self.objects.values(), self.called)

    def enter(self, names: Names, context: Context) -> bool:
        """Find what a query names and edit its tree; whether anything was changed in it."""
        # All of them: each edits its own node.
        found = [
            *(self._divide(node) for node in names.calls),
            *(self._table(each, context, names.has_virtual) for each in names.tables),
            *(self._function(function, context) for function in names.functions),
            *(self._call(node, context) for node in names.calls),
            *(self._question(node) for node in names.questions),
        ]
        return any(found)

    def joined_plan(self, plan: Plan) -> Plan:
        """The plan with the joined rows where their halves stand."""
        if self._joined is None:
            return plan
        frame = self._joined.frame
        rows = self._relation(("joined",), Rows(self._joined.columns, lambda: frame))
        return put_rows(plan, self._halves, rows)

    # --- tables ----------------------------------------------------------------------------------

    def _table(self, table: NamedTable, context: Context, has_virtual: bool) -> bool:
        if self._joined is not None and table.parts[0] == JOINED:
            return self._half(table, self._joined.halves[table.parts[-1]])
        system = system_table(self.con, table.parts)
        if system is not None:
            rows = Rows(system.columns, lambda: self.con.result(system).frame)
            rename(table, self._relation(("system", table.parts), rows))
            return True
        context = self._context_at(table, context)
        try:
            return self._lake_table(table, context, has_virtual)
        except (NotFound, InvalidInput):
            if table.at is not None or not self._other_table(table):
                raise
            return True

    def _context_at(self, table: NamedTable, context: Context) -> Context:
        if table.at is None:
            return context
        unit, expression = table.at
        value = value_of(self.mirror, expression, self._compute(context))
        version, moment = time_travel(unit, value, self.con.time_zone)
        return replace(context, version=version, timestamp=moment)

    def _lake_table(self, table: NamedTable, context: Context, has_virtual: bool) -> bool:
        con = self.con
        lake, schema_name, name = con.place(table.parts, context.home)
        schema, view, _ = find_objects(con, lake, schema_name, name, context)
        if schema is not None and view is not None:
            return self._view(table, lake, schema.name, view, context)
        version = con.table_version(
            (lake.name, schema_name, name), version=context.version, timestamp=context.timestamp
        )
        if self._is_target(table, version, context):
            return self._target_table(table)
        virtual = _virtual(table, version) if has_virtual else ()
        place = Name(lake.name, schema.name if schema else schema_name, version.table.name)
        if not virtual and not context.is_past:
            self._hold(place, _rows_of_table(con, version, ()))
            if context.home is not None:
                qualify(table.node, place)
            return context.home is not None
        key = ("table", *place.folded, context.version, context.timestamp, virtual)
        rename(table, self._relation(key, _rows_of_table(con, version, virtual)), virtual)
        return True

    def _half(self, table: NamedTable, half: Half) -> bool:
        def alone() -> DataFrame:
            raise NotSupported("Half of joined rows cannot be read alone.")

        name = self._relation(("half", table.parts[-1]), Rows(half.columns, alone))
        self._halves[name] = half
        rename(table, name, called=half.parts)
        return True

    def _is_target(self, table: NamedTable, version: TableVersion, context: Context) -> bool:
        target = self._target
        if target is None or table.select is not self._root or context.is_past:
            return False
        same_table = version.table.table_id == target.table.table_id
        return same_table and version.lake is target.version.lake

    def _target_table(self, table: NamedTable) -> bool:
        """The rows that are about to be changed, each with its identity."""
        assert self._target is not None  # noqa: S101 - the caller has asked
        target, virtual = self._target, _virtual(table, self._target.version)
        shown = _rows_of_table(self.con, target.version, virtual).columns
        identity = tuple(
            (name, format_sql_type(parse_type(k))) for name, k in IDENTITY_TYPES.items()
        )
        width = len(shown) - len(virtual)
        columns = (*shown[:width], *identity, *shown[width:])
        rows = Rows(columns, lambda: target.frame(virtual))
        name = self._relation(("target", virtual), rows)
        rename(table, name, (*IDENTITY_TYPES, *virtual) if any(own_stars(table.select)) else ())
        return True

    def _view(
        self, table: NamedTable, lake: Lake, schema: str, view: ViewEntry, context: Context
    ) -> bool:
        if view.dialect.lower() != "duckdb":
            raise NotSupported(
                f'The view "{view.name}" is written in the dialect "{view.dialect}".',
                hint="only views in DuckDB's dialect can be read.",
            )
        text = view.sql.replace(CATALOG_PLACEHOLDER, quote_identifier(lake.name))
        query = self._inner_text(text, context.inside(lake, schema))
        place = Name(lake.name, schema, view.name)
        if context.is_past:
            place = Name(RELATIONS, "main", f"view_{_digest((query, view.column_aliases))}")
        self.keep(MirrorView(place, query, view.column_aliases))
        if context.is_past:
            rename(table, place)
        elif context.home is not None:
            qualify(table.node, place)
        return context.is_past or context.home is not None

    def _inner_text(self, text: str, context: Context) -> str:
        """The query of a view or macro, whose names are those of its own schema."""
        parsed = expect_query(self.mirror, text)
        changed = self.enter(find_names(parsed.node), context)
        return text_of(self.mirror, parsed.tree) if changed else text.strip().rstrip(";")

    def _other_table(self, table: NamedTable) -> bool:
        """A table of another database, a file, a system function, or a table of Spark's own."""
        con, parts = self.con, _bare(self.con, table.parts)
        found = source_frame(con, parts)
        reader = reader_of_path(parts[0]) if len(parts) == 1 else None
        system = system_function(con, parts[0].lower()) if len(parts) == 1 else None
        if found is None and reader is not None:
            found = READERS[reader](con, parts, {})
        elif found is None and system is not None:
            shown = system()
            rows = Rows(shown.columns, lambda: con.result(shown).frame)
            rename(table, self._relation((parts,), rows))
            return True
        if found is None and self._spark_has(parts):
            found = con.spark.table(".".join(map(quote_for_spark, parts)))
        if found is None:
            return False
        rename(table, self._relation((parts,), _rows_of_frame(found)))
        return True

    def _spark_has(self, parts: Sequence[str]) -> bool:
        from pyspark.errors import AnalysisException

        try:
            return self.con.spark.catalog.tableExists(".".join(map(quote_for_spark, parts)))
        except AnalysisException:  # a name of more parts than Spark's catalog has levels
            return False

    # --- functions -------------------------------------------------------------------------------

    def _function(self, function: NamedFunction, context: Context) -> bool:
        parts = function.parts
        if self._macro(function.node["function"], context, is_table=True):
            return context.home is not None
        is_ours = is_change_function(parts) or is_table_function(self.con, parts)
        if not is_ours:
            if parts[-1].lower() in _NAMES_IN_TEXT:
                raise NotSupported(f"{parts[-1]}() names tables in its text.")
            return False
        placed, named = function.arguments
        compute = self._compute(context)
        call = TableFunctionCall(
            parts,
            tuple(value_of(self.mirror, each, compute) for each in placed),
            {name: value_of(self.mirror, each, compute) for name, each in named.items()},
            virtual_columns=mentioned_virtual(_as_table(function)),
        )
        rows, hidden = _rows_of_call(self.con, call, context)
        key = ("function", parts, call.arguments, tuple(call.named.items()), context.home)
        replace_function(function, self._relation(_hashable(key), rows), hidden)
        return True

    def _divide(self, node: Tree) -> bool:
        """``a / b`` where a setting says that it is ``a // b``: a tree does not tell it."""
        is_whole = dict(self.mirror.settings.others).get("integer_division", "").lower() in _TRUE
        if not is_whole or node["function_name"] != "/":
            return False
        node["function_name"] = "//"
        return True

    def _compute(self, context: Context) -> Callable[[str], Any]:
        """What answers queries in arguments."""
        return lambda text: self.queries.value(text, context)

    def _call(self, node: Tree, context: Context) -> bool:
        if node.get("is_operator"):
            return False
        is_macro = self._macro(node, context, is_table=False)
        return is_macro and context.home is not None

    def _macro(self, node: Tree, context: Context, *, is_table: bool) -> bool:
        """Whether a call is one of a macro, which the mirror holds then."""
        con, parts = self.con, function_parts(node)
        self.called.add(parts[-1].lower())
        if not con.lakes or (len(parts) == 1 and context.home is None and con.current is None):
            return False
        found = self._find_macro(parts, context, is_table=is_table)
        if found is None:
            return False
        if context.is_past:
            raise NotSupported("Macros of an older snapshot are not bound yet.")
        lake, schema, macro = found
        place = Name(lake.name, schema, macro.name)
        inner = context.inside(lake, schema)
        overloads = tuple(self._overload(each, inner) for each in macro.implementations)
        self.keep(MirrorMacro(place, overloads, is_table))
        if context.home is not None:
            node["catalog"], node["schema"] = place.catalog, place.schema
        return True

    def _find_macro(
        self, parts: tuple[str, ...], context: Context, *, is_table: bool
    ) -> tuple[Lake, str, MacroEntry] | None:
        try:
            lake, schema_name, name = self.con.place(parts, context.home)
        except (NotFound, InvalidInput):
            return None
        schema, _, macro = find_objects(
            self.con, lake, schema_name, name, context, is_table=is_table
        )
        return (lake, schema.name, macro) if schema and macro else None

    def _overload(self, impl: MacroImplementation, context: Context) -> str:
        if impl.dialect.lower() != "duckdb":
            raise NotSupported(f'A macro is written in the dialect "{impl.dialect}".')
        parameters = ", ".join(map(_parameter, impl.parameters))
        if impl.type.lower() == "table":
            return f"({parameters}) AS TABLE {self._inner_text(impl.sql, context)}"
        query = self._inner_text(f"SELECT {impl.sql}", context)
        return f"({parameters}) AS {query.removeprefix('SELECT ')}"

    def _question(self, node: Tree) -> bool:
        """``(DESCRIBE …)``, ``(SUMMARIZE …)`` and ``(SHOW …)`` in FROM: their rows."""
        rows = self._answered(node)
        kept: Tree = {key: node[key] for key in ("alias", "column_name_alias") if key in node}
        name = self._relation(("question", len(self._relations)), rows)
        node.clear()
        node.update({**table_ref(name.catalog, name.schema, name.name), **kept})
        return True

    def _answered(self, node: Tree) -> Rows:
        result = self.queries.statement(question_text(self.mirror, node))
        columns = tuple(zip(result.columns, result.types, strict=True))
        return Rows(columns, lambda: result.frame)

    # --- relations -------------------------------------------------------------------------------

    def _hold(self, place: Name, rows: Rows) -> None:
        self.keep(MirrorTable(place, rows.columns))
        self.rows[place.folded] = rows

    def keep(self, each: Mirrored) -> None:
        """Have an object on the mirror."""
        self.objects.setdefault((each.name, each.kind), each)

    def _relation(self, key: tuple[Any, ...], rows: Rows) -> Name:
        """A name for rows that have none in a lake: it tells their columns, and who they are."""
        found = self._relations.get(key)
        if found is None:
            plain = _digest(rows.columns)
            taken = sum(name.name.startswith(f"{plain}_") for name in self._relations.values())
            found = Name(RELATIONS, "main", f"{plain}_{taken}")
            self._relations[key] = found
            self._hold(found, rows)
        return found


def _bare(con: Connection, parts: tuple[str, ...]) -> tuple[str, ...]:
    """A name without DuckDB's default database, which is Spark's when no lake is in use."""
    owner = tuple(part.lower() for part in parts[:-1])
    is_default = owner in (("memory",), ("main",), ("memory", "main"), ("temp",), ("temp", "main"))
    return parts[-1:] if is_default and con.current is None else parts


def _virtual(table: NamedTable, version: TableVersion) -> tuple[str, ...]:
    """The virtual columns that a query reads; a real column of that name wins."""
    own = {column.lower() for column in version.table.schema.names}
    return tuple(sorted(mentioned_virtual(table) - own))


def _rows_of_table(con: Connection, version: TableVersion, virtual: tuple[str, ...]) -> Rows:
    columns = tuple((c.name, format_sql_type(c.type)) for c in version.table.schema.columns)
    shown = tuple((name, format_sql_type(parse_type(VIRTUAL_TYPES[name]))) for name in virtual)

    def frame() -> DataFrame:
        return read_table(con.spark, version, virtual_columns=virtual)

    return Rows((*columns, *shown), frame, None if virtual else version)


def _rows_of_frame(frame: DataFrame) -> Rows:
    columns = tuple((f.name, format_sql_type(type_of_field(f))) for f in frame.schema.fields)
    return Rows(columns, lambda: frame)


def _rows_of_call(
    con: Connection, call: TableFunctionCall, context: Context
) -> tuple[Rows, tuple[str, ...]]:
    """The rows of a function, and the columns of them that no star shows."""
    if is_change_function(call.parts):
        frame, hidden = call_change_function(con, call, context.home)
        return _rows_of_frame(frame), tuple(sorted(hidden))
    if len(call.parts) == 1 and call.parts[0].lower() in READERS:
        return _rows_of_frame(call_function(con, call)), ()
    rows = call_lake_function(con, call.parts, call.arguments, call.named)
    return Rows(rows.columns, lambda: con.result(rows).frame), ()


def _as_table(function: NamedFunction) -> NamedTable:
    alias = function.node.get("alias") or function.parts[-1]
    return NamedTable({"alias": alias, "table_name": function.parts[-1]}, function.select)


def _parameter(parameter: MacroParameter) -> str:
    name = quote_identifier(parameter.name)
    typed = "" if _is_unknown(parameter.type_name) else f" {_type_text(parameter.type_name)}"
    if parameter.default is None:
        return name + typed
    text = "'" + parameter.default.replace("'", "''") + "'"
    if _is_unknown(parameter.default_type) or parameter.default_type == "varchar":
        return f"{name}{typed} := {text}"
    return f"{name}{typed} := CAST({text} AS {_type_text(parameter.default_type)})"


def _is_unknown(kind: str) -> bool:
    return kind in ("", "unknown")


def _type_text(kind: str) -> str:
    found: DataType = parse_type(kind)
    return format_sql_type(found)


def _digest(value: object) -> str:
    return "r" + hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


def _hashable(value: Any) -> Any:
    match value:
        case dict():
            return tuple((name, _hashable(item)) for name, item in value.items())
        case list() | tuple():
            return tuple(map(_hashable, value))
        case _:
            return value
