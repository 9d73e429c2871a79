"""INSERTs of plain constants are read as the parser reads them, only quicker."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from ducklake_spark.errors import DuckLakeError
from ducklake_spark.sql import parse as parsing
from ducklake_spark.sql.dialect import DuckLake
from ducklake_spark.sql.plain_insert import parse_plain_insert


def parse_fully(text: str) -> object:
    """What the parser makes of one statement, or the class of its error."""
    dialect = DuckLake()
    try:
        found = [
            parsing._reading_errors(tokens, text, dialect, parsing._statement)
            for tokens in parsing._split(text, dialect)
        ]
    except DuckLakeError as error:
        return type(error)
    return found


def outline(tree: exp.Expr) -> object:
    """Everything in a tree, also what equality leaves out, but where its parts stood."""
    given = {
        key: [outline(v) if isinstance(v, exp.Expr) else v for v in value]
        if isinstance(value, list)
        else outline(value)
        if isinstance(value, exp.Expr)
        else value
        for key, value in tree.args.items()
        if value is not None
    }
    return type(tree), given, tree.comments


def check_same(text: str) -> bool:
    """Whether the text was read here; then it must be as the parser reads it."""
    quick = parse_plain_insert(text)
    if quick is None:
        return False
    (full,) = parse_fully(text)
    assert quick == full
    assert outline(quick.source) == outline(full.source)
    return True


blanks = st.text(" \t\r\n", min_size=1, max_size=2)
spaces = st.text(" \t\r\n", max_size=2)
words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
names = st.one_of(
    *(words, words, words, words, words),
    st.sampled_from(sorted({word.split(" ")[0] for word in DuckLake.Tokenizer.KEYWORDS})),
    st.sampled_from(["into", "Table", "as", "by", "overwrite", "e", "x", "b", "n", "_utf8", "t"]),
)
plain = st.one_of(
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.text(max_size=12).map(lambda text: "'" + text.replace("'", "''") + "'"),
    st.sampled_from(["NULL", "null", "TRUE", "False", "007", "-0.0"]),
)
others = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text("'\\\n;-/*?$ax", max_size=6).map(lambda text: f"'{text}'"),
    st.sampled_from(["DEFAULT", "- 1", "+1", ".5", "5.", "1_000", "0x1F", "1e3", "x'00'"]),
    st.sampled_from(["e'\\n'", "$$a$$", "$1", "?", "a", "'a' 'b'", "(1)", "1 + 1", "[1]", "now()"]),
    st.sampled_from(["1::INT", "DATE '2020-01-01'", "", "--1", "/**/1", "1--", "'''", "'"]),
)
cells = st.one_of(plain, plain, plain, plain, plain, plain, others)


@st.composite
def inserts(draw) -> str:
    """Texts of the form, and near to it."""
    table = ".".join(draw(st.lists(names, min_size=1, max_size=4)))
    listed = draw(st.one_of(st.none(), st.lists(names, max_size=3)))
    comma = draw(spaces) + "," + draw(spaces)
    columns = (
        draw(blanks) if listed is None else f"{draw(spaces)}({comma.join(listed)}){draw(spaces)}"
    )
    rows = comma.join(
        f"({draw(spaces)}{comma.join(row)}{draw(spaces)})"
        for row in draw(st.lists(st.lists(cells, min_size=1, max_size=3), min_size=1, max_size=3))
    )
    into = draw(st.sampled_from(["INTO", "into", ""]))
    values = draw(st.sampled_from(["VALUES", "values"]))
    end = draw(
        st.sampled_from(
            ["", "", "", " ", ";", " ;\n", ";;", "; SELECT 1", " -- end", " RETURNING *", ")"]
        )
    )
    start = f"{draw(spaces)}insert{draw(blanks)}{into}{draw(blanks)}{table}"
    return f"{start}{columns}{values}{draw(spaces)}{rows}{end}"


@settings(max_examples=1000)
@given(inserts())
@example("INSERT INTO tVALUES (1)")
@example("INSERT INTO t (a)VALUES(1);")
@example("INSERT INTO default VALUES (1)")
@example("INSERT INTO t () VALUES (1)")
@example("INSERT INTO t (a,) VALUES (1)")
@example("INSERT INTO t VALUES ('\x00', '\ud7ff', '\U0010ffff', '\u2028')")
def test_what_is_read_here_is_what_the_parser_reads(text: str):
    check_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (1, 'one', 1.5)",
        "insert into lake.main.t (id, name) values (-1, NULL), (2, 'it''s; -- no end');\n",
        "INSERT INTO t VALUES\n  (1, TRUE),\n  (2, false)",
    ],
)
def test_rows_as_programs_write_them_are_read_here(text: str):
    assert check_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t SELECT 1",
        "INSERT INTO t VALUES (1 + 1)",
        "INSERT INTO t BY NAME VALUES (1)",
        'INSERT INTO "t" VALUES (1)',
        "INSERT INTO table VALUES (1)",
        "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)",
        "INSERT INTO t VALUES (1",
        "INSERT INTO t VALUES ()",
        "INSERT INTO t VALUES (1) RETURNING *",
        "INSERT OR REPLACE INTO t VALUES (1)",
    ],
)
def test_all_else_is_left_to_the_parser(text: str):
    assert parse_plain_insert(text) is None
