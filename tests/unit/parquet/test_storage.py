import pytest

from ducklake_spark.errors import DataFileError, NotSupported
from ducklake_spark.parquet.storage import create_file, file_size, list_files, remove_file


def test_directories_are_made_when_a_file_is_created(tmp_path):
    path = f"{tmp_path}/a/b/c.bin"
    with create_file(path) as file:
        file.write(b"123")
    assert file_size(path) == 3


def test_files_are_listed_at_every_depth(tmp_path):
    for name in ("b", "x/a", "x/y/c"):
        with create_file(f"{tmp_path}/{name}") as file:
            file.write(b"1")
    assert [file.path for file in list_files(f"{tmp_path}/")] == [
        f"{tmp_path}/b",
        f"{tmp_path}/x/a",
        f"{tmp_path}/x/y/c",
    ]


def test_paths_keep_the_form_of_the_directory_when_it_is_a_url(tmp_path):
    with create_file(f"file://{tmp_path}/a") as file:
        file.write(b"1")
    (found,) = list_files(f"file://{tmp_path}")
    assert (found.path, found.size) == (f"{tmp_path}/a", 1)


def test_nothing_is_listed_when_the_directory_is_missing(tmp_path):
    assert list_files(f"{tmp_path}/none") == []


def test_removing_is_quiet_when_the_file_is_gone(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1")
    remove_file(str(path))
    remove_file(str(path))
    assert file_size(str(path)) is None


def test_a_path_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataFileError, match="file/x"):
        create_file(f"{tmp_path}/file/x")


def test_an_unknown_store_is_refused():
    with pytest.raises(NotSupported, match="nowhere://"):
        file_size("nowhere://bucket/x")
