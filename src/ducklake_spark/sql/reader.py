"""Reading the tokens of one statement, with sqlglot's parser for what is a query or expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from ducklake_spark.errors import SqlSyntaxError
from ducklake_spark.model.types import DataType, parse_sql_type

_QUERY_STARTS = frozenset(
    {"SELECT", "FROM", "WITH", "VALUES", "(", "TABLE", "PIVOT", "UNPIVOT", "PIVOT_WIDER"}
)
SPARK_DIALECT = "spark_dialect"  # the key of a tree's meta that says that it is Spark's
CTES = "ctes"  # the key of a query's meta that holds the `Written` of CTEs that stood before
WRITTEN = "written"  # the key of a tree's meta that holds its `Written` in DuckDB's dialect
# Words and signs that end an expression, unless they stand inside of brackets or of a CASE.
_STOPS = frozenset(
    {
        *(",", ")", "]", "}", ";", "AS", "ASC", "DESC", "NULLS", "RETURNING", "THEN", "WHEN"),
        *("WHERE", "ON", "SET", "USING"),
    }
)
_OPENING = frozenset({"(", "[", "{", "CASE"})
_ENDING = frozenset({")", "]", "}", "END"})
_CLOSING = {"(": ")", "[": "]", "<": ">"}
_TWO_WORD_TYPES = {"DOUBLE PRECISION": "DOUBLE", "CHARACTER VARYING": "VARCHAR"}


@dataclass(frozen=True, slots=True)
class Written:
    """A part of a text, which means what DuckDB reads in it."""

    sql: str
    start: int
    end: int

    @classmethod
    def whole(cls, text: str) -> Written:
        """All of a text."""
        return cls(text, 0, len(text))

    @property
    def text(self) -> str:
        """The part."""
        return self.sql[self.start : self.end]


class Reader:
    """A place in the tokens of one statement.

    Words are matched without regard to case and never inside quotes: ``"set"`` is a name.
    """

    def __init__(self, tokens: list[Token], sql: str, dialect: Dialect) -> None:
        self.sql = sql
        self.dialect = dialect
        self.parser: Parser = dialect.parser(error_level=ErrorLevel.IMMEDIATE)
        self.parser.reset()
        self.parser.sql = sql
        self.parser._chunks = [tokens]
        self.parser._advance_chunk()

    @property
    def is_spark(self) -> bool:
        """Whether the text is in Spark's dialect."""
        return isinstance(self.dialect, Spark)

    # --- words -----------------------------------------------------------------------------------

    @property
    def at_end(self) -> bool:
        """Whether all tokens are read."""
        return not self.parser._curr

    @property
    def word(self) -> str:
        """The next token in upper case, or the empty string for a quoted one or the end."""
        return self._word(self.parser._curr)

    @property
    def following_word(self) -> str:
        """The token after the next one."""
        return self._word(self.parser._next)

    @staticmethod
    def _word(token: Token) -> str:
        if not token or token.token_type in (TokenType.IDENTIFIER, TokenType.STRING):
            return ""
        return token.text.upper()

    def peek(self, *words: str) -> bool:
        """Whether these words come next."""
        index = self.mark()
        found = self.accept(*words)
        self.back_to(index)
        return found

    def accept(self, *words: str) -> bool:
        """Read these words if they all come next; otherwise read nothing."""
        index = self.mark()
        wanted = " ".join(words).split()
        while wanted:
            # A few of sqlglot's tokens hold two words ("PARTITIONED BY").
            found = self.word.split()
            if not found or wanted[: len(found)] != found:
                self.back_to(index)
                return False
            del wanted[: len(found)]
            self.parser._advance()
        return True

    def accept_any(self, *words: str) -> str | None:
        """Read one of these words if it comes next, and say which."""
        if self.word and self.word in words:
            found = self.word
            self.parser._advance()
            return found
        return None

    def expect(self, *words: str) -> None:
        """Read these words; anything else is a syntax error."""
        if not self.accept(*words):
            self.fail(f"expected {' '.join(words)}")

    def expect_end(self) -> None:
        """The statement must be over."""
        if not self.at_end:
            self.fail("it is not expected here")

    def mark(self) -> int:
        """The place, for `back_to`."""
        return self.parser._index

    def back_to(self, index: int) -> None:
        """Return to a place marked before."""
        self.parser._advance(index - self.parser._index)

    def advance(self) -> Token:
        """Read any one token."""
        token = self.parser._curr
        if not token:
            self.fail("the statement ends too early")
        self.parser._advance()
        return token

    def fail(self, reason: str) -> NoReturn:
        """Raise the syntax error for the place reached."""
        raise syntax_error(self.sql, self.parser._curr or self.parser._prev, reason)

    # --- names and values ------------------------------------------------------------------------

    def name(self) -> str:
        """One identifier, quoted or not; keywords may be names, as after a dot in DuckDB."""
        token = self.parser._curr
        if not token or not (
            token.token_type == TokenType.IDENTIFIER
            or (token.text and (token.text[0].isalpha() or token.text[0] == "_"))
        ):
            self.fail("expected a name")
        if token.token_type in (TokenType.STRING, TokenType.NUMBER):
            self.fail("expected a name")
        self.parser._advance()
        return token.text

    @property
    def at_string(self) -> bool:
        """Whether a string literal comes next."""
        return bool(self.parser._curr) and self.parser._curr.token_type == TokenType.STRING

    def name_or_string(self) -> str:
        """One identifier or a string in its place."""
        if self.at_string:
            return self.string()
        return self.name()

    def parts(self) -> tuple[str, ...]:
        """A dotted name."""
        names = [self.name_or_string()]
        while self.accept("."):
            names.append(self.name())
        return tuple(names)

    def names(self) -> tuple[str, ...]:
        """A list of identifiers in parentheses."""
        self.expect("(")
        found = [self.name()]
        while self.accept(","):
            found.append(self.name())
        self.expect(")")
        return tuple(found)

    def string(self) -> str:
        """A string literal."""
        tree = self.parser._parse_string()
        if not isinstance(tree, exp.Literal):
            self.fail("expected a string")
        return str(tree.this)

    # --- trees -----------------------------------------------------------------------------------

    def expression(self) -> exp.Expr:
        """Any scalar expression."""
        start = self.mark()
        try:
            tree = self._required(self.parser._parse_assignment(), "expected an expression")
            if self.is_spark or self._at_stop:
                return self.noted(tree, start)
        except (ParseError, SqlSyntaxError):
            if self.is_spark:
                raise
        # DuckDB reads it, and knows forms that the parser here does not.
        self.back_to(start)
        self._skip_expression()
        return self.noted(exp.Var(this=self.text_since(start)), start)

    @property
    def _at_stop(self) -> bool:
        """Whether an expression may be over here."""
        if self.at_end or self.word in _STOPS:
            return True
        return self.word == "FROM" and self._word(self.parser._prev) != "DISTINCT"

    def _skip_expression(self) -> None:
        """Read up to what can only stand behind an expression."""
        start, depth = self.mark(), 0
        while not self.at_end and (depth or not self._at_stop):
            depth += (self.word in _OPENING) - (self.word in _ENDING)
            self.advance()
        if self.mark() == start or depth:
            self.fail("expected an expression")

    def operand(self) -> exp.Expr:
        """An expression without AND, OR, NOT or IS at its top: what DEFAULT takes."""
        return self._required(self.parser._parse_bitwise(), "expected an expression")

    @property
    def at_query(self) -> bool:
        """Whether a query may start here."""
        return self.word in _QUERY_STARTS

    def query(self) -> exp.Expr:
        """A query with all its clauses."""
        start = self.mark()
        tree = self.parser._parse_statement() if self.at_query else None
        if not isinstance(tree, (exp.Query, exp.Values, exp.Pivot)):
            self.fail("expected a query")
        return self.noted(tree, start)

    def rest(self) -> Written:
        """All that is left, which is read now."""
        start = self.mark()
        while not self.at_end:
            self.advance()
        return self.since(start)

    def since(self, start: int) -> Written:
        """What was read since a marked place."""
        first = self.parser._tokens[start]
        return Written(self.sql, first.start, self.parser._prev.end + 1)

    def noted(self, tree: exp.Expr, start: int) -> exp.Expr:
        """The tree of what was read since a marked place, with the text that says what it means."""
        if self.is_spark:
            tree.meta[SPARK_DIALECT] = True
        else:
            tree.meta[WRITTEN] = self.since(start)
        return tree

    def _required(self, tree: exp.Expr | None, reason: str) -> exp.Expr:
        if tree is None:
            self.fail(reason)
        return tree

    # --- types and text --------------------------------------------------------------------------

    def type(self) -> DataType:
        """A column type; in Spark's dialect it is translated."""
        if self.is_spark:
            tree = self._required(self.parser._parse_types(schema=True), "expected a type")
            return parse_sql_type(tree.sql(dialect="duckdb"))
        return parse_sql_type(self._type_text())

    def _type_text(self) -> str:
        """The tokens of one type, joined: comments and line breaks are gone."""
        for words, name in _TWO_WORD_TYPES.items():
            if self.accept(words):
                text = name
                break
        else:
            text = self._spelled(self.advance())
        if self.word == "(":
            text += self._bracketed()
        if self.word in ("WITH", "WITHOUT") and self.following_word == "TIME":
            text += " " + " ".join(self.advance().text for _ in range(3))
        while self.word == "[":
            text += self._bracketed()
        return text

    def _bracketed(self) -> str:
        closing = [_CLOSING[self.word]]
        pieces = [self.advance().text]
        while closing:
            if self.at_end:
                self.fail("the type has no end")
            if self.word in _CLOSING:
                closing.append(_CLOSING[self.word])
            elif self.word == closing[-1]:
                closing.pop()
            pieces.append(self._spelled(self.advance()))
        return " ".join(pieces)

    @staticmethod
    def _spelled(token: Token) -> str:
        if token.token_type == TokenType.IDENTIFIER:
            return '"' + token.text.replace('"', '""') + '"'
        return _TWO_WORD_TYPES.get(token.text.upper(), token.text)

    def duckdb_since(self, index: int, tree: exp.Expr) -> str:
        """The expression read since a marked place, in DuckDB's SQL."""
        if self.is_spark:
            return tree.sql(dialect="duckdb")
        return self.text_since(index)

    def text_since(self, index: int) -> str:
        """The text as typed from a marked place up to here."""
        return self.since(index).text


def syntax_error(sql: str, token: Token | None, reason: str) -> SqlSyntaxError:
    """The error for one place of a text, with line, column and the line itself."""
    if not token:
        return SqlSyntaxError(f"Cannot read the SQL text {sql.strip()[:80]!r}: {reason}.")
    before = sql[: token.start]
    line = before.count("\n") + 1
    column = token.start - (before.rfind("\n") + 1) + 1
    shown = sql.splitlines()[line - 1].strip() if sql.splitlines() else ""
    return SqlSyntaxError(
        f"Cannot read the SQL text at line {line}, column {column}, near {token.text!r}: {reason}."
        f"\n  {shown[:160]}"
    )
