"""The two dialects that texts are read in: DuckDB's with DuckLake's additions, and Spark's.

Statements that DuckLake owns are read token by token in `grammar`; here stand only the changes that
sqlglot's own reading of queries and expressions needs.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark
from sqlglot.parser import binary_range_parser
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType

# Words that open a statement of ours. To sqlglot they are commands whose remaining text is one
# opaque string, so nothing after them would be read.
_PLAIN_WORDS = frozenset({"CALL", "EXPLAIN", "PREPARE", "RESET", "EXECUTE", "OPTIMIZE", "VACUUM"})
# A cast of other systems to sqlglot; in DuckDB a parameter and a cast of it.
_NO_OPERATORS = frozenset({"?::"})
# Words that are keywords to sqlglot only; in DuckDB they are ordinary names.
_ORDINARY_NAMES = frozenset({"SETTINGS", "FORMAT"})

_STATEMENTS_AS_TABLES = ("DESCRIBE", "SHOW", "SUMMARIZE")


class DuckLake(DuckDB):
    """DuckDB's dialect, with the forms that users of DuckLake type."""

    # Indexes stay as typed (the first element is 1); sqlglot would shift them all, -1 included.
    INDEX_OFFSET = 0

    class Tokenizer(DuckDB.Tokenizer):
        """DuckDB's tokens; no statement is swallowed as an opaque command."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind
            for word, kind in DuckDB.Tokenizer.KEYWORDS.items()
            if word not in _PLAIN_WORDS | _ORDINARY_NAMES | _NO_OPERATORS
        }
        COMMANDS: ClassVar[set[TokenType]] = set()

    class Parser(DuckDBParser):
        """DuckDB's queries and expressions."""

        # RANGE<…> is a type of other systems; here ``range < 3`` compares a column.
        TYPE_TOKENS = DuckDBParser.TYPE_TOKENS - {TokenType.RANGE}
        NESTED_TYPE_TOKENS = DuckDBParser.NESTED_TYPE_TOKENS - {TokenType.RANGE}

        RANGE_PARSERS: ClassVar[dict[TokenType, Any]] = {
            **DuckDBParser.RANGE_PARSERS,
            # A pattern has to match the whole text, as in DuckDB 1.x.
            TokenType.TILDE: binary_range_parser(exp.RegexpFullMatch),
        }

        def _parse_map(self) -> exp.ToMap | exp.Map:
            """Read ``MAP {…}['k']`` as an index of the map; sqlglot indexes the braces first."""
            found = super()._parse_map()
            outer = found.this if isinstance(found, exp.ToMap) else None
            inner = outer
            while isinstance(inner, exp.Bracket):
                inner = inner.this
            if outer is inner or inner is None:
                return found
            inner.replace(exp.ToMap(this=inner.copy()))
            return outer  # type: ignore[return-value]  # a Bracket around the map

        def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            """Read ``(DESCRIBE t)`` and ``(SHOW ALL TABLES)`` as tables."""
            if self._curr.token_type == TokenType.L_PAREN and (
                self._next.text.upper() in _STATEMENTS_AS_TABLES
            ):
                return self._parse_statement_as_table(kwargs.get("alias_tokens"))
            return super()._parse_table(*args, **kwargs)

        def _parse_statement_as_table(
            self, alias_tokens: Collection[TokenType] | None
        ) -> exp.Table:
            """A table function named for the statement, whose one argument is its text."""
            self._advance()
            first = self._curr
            depth = 0
            while self._curr and (depth or self._curr.token_type != TokenType.R_PAREN):
                depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self._curr.token_type, 0)
                self._advance()
            text = self._find_sql(first, self._prev)
            self._match_r_paren()
            call = exp.Anonymous(this=first.text.lower(), expressions=[exp.Literal.string(text)])
            return exp.Table(
                this=call, alias=self._parse_table_alias(alias_tokens or self.TABLE_ALIAS_TOKENS)
            )


class LakeSpark(Spark):
    """Spark's dialect, for texts given in it; DuckLake's own statements are read as in DuckDB."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's tokens; no statement is swallowed as an opaque command."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind
            for word, kind in Spark.Tokenizer.KEYWORDS.items()
            if word not in _PLAIN_WORDS and kind is not TokenType.COMMAND
        }
        COMMANDS: ClassVar[set[TokenType]] = set()
