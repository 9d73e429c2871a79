from __future__ import annotations

import pytest

from ducklake_spark.catalog_db.url import CatalogUrl, mask_password, parse_url
from ducklake_spark.errors import InvalidInput, NotSupported


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("ducklake:shop.ducklake", "duckdb", "shop.ducklake"),
        ("ducklake:/data/a:b.ducklake", "duckdb", "/data/a:b.ducklake"),
        ("ducklake:duckdb:shop.db", "duckdb", "shop.db"),
        ("ducklake:C:\\lakes\\shop.ducklake", "duckdb", "C:\\lakes\\shop.ducklake"),
        ("ducklake:shop", "duckdb", "shop"),
        ("DuckLake:sqlite:shop.db", "sqlite", "shop.db"),
        ("ducklake:postgres:dbname=shop host=db", "postgres", "dbname=shop host=db"),
        ("ducklake:postgresql:dbname=shop", "postgres", "dbname=shop"),
        ("ducklake:postgresql://u@db/shop", "postgres", "postgresql://u@db/shop"),
        ("ducklake:postgres:postgresql://u@db/shop", "postgres", "postgresql://u@db/shop"),
        ("ducklake:mysql:db=shop host=db", "mysql", "db=shop host=db"),
    ],
)
def test_url_is_taken_apart(text, kind, target):
    assert parse_url(text) == CatalogUrl(kind, target)


@pytest.mark.parametrize("text", ["shop.db", "sqlite:shop.db", "ducklake:", "ducklake:sqlite:"])
def test_url_is_refused_when_it_names_no_lake(text):
    with pytest.raises(InvalidInput):
        parse_url(text)


def test_url_is_refused_when_its_database_is_not_served():
    with pytest.raises(NotSupported, match="md:shop"):
        parse_url("ducklake:md:shop")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("dbname=a password=geheim host=h", "dbname=a password=*** host=h"),
        ("password = 'two words' dbname=a", "password = *** dbname=a"),
        (r"password='it\'s x' dbname=a", "password=*** dbname=a"),
        ("db=a passwd=geheim", "db=a passwd=***"),
        ("PASSWORD=geheim", "PASSWORD=***"),
        ("postgresql://ada:geheim@db:5432/a", "postgresql://ada:***@db:5432/a"),
        ("postgresql://ada:ge@heim@db/a", "postgresql://ada:***@db/a"),
        (
            "postgresql://db/a?user=ada&password=geheim&x=1",
            "postgresql://db/a?user=ada&password=***&x=1",
        ),
        ("dbname=a host=/tmp/x", "dbname=a host=/tmp/x"),
    ],
)
def test_passwords_are_masked(text, masked):
    assert mask_password(text) == masked
    assert masked in repr(CatalogUrl("postgres", text)).replace("\\\\", "\\")
    assert masked in str(CatalogUrl("postgres", text))


def test_password_is_masked_when_a_driver_repeats_it():
    url = parse_url(r"ducklake:postgres:password='it\'s x' user=ada")
    assert url.mask("refused: it's x (user ada)") == "refused: *** (user ada)"
    url = parse_url("ducklake:postgresql://ada:ge%20heim@db/a")
    assert url.mask('no such role "ge heim"') == 'no such role "***"'
