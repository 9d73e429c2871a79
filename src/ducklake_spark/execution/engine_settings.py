"""The settings of DuckDB itself: scripts set them, and Spark has no use for most of them."""

from __future__ import annotations

from typing import Final

_SETTINGS: Final = """
    access_mode allocator_background_threads allocator_bulk_deallocation_flush_threshold
    allocator_flush_threshold allow_community_extensions allow_extensions_metadata_mismatch
    allow_persistent_secrets allow_unredacted_secrets allow_unsigned_extensions
    arrow_large_buffer_size arrow_lossless_conversion arrow_output_list_view arrow_output_version
    asof_loop_join_threshold
    autoinstall_extension_repository autoinstall_known_extensions autoload_known_extensions
    binary_as_string block_allocator_memory calendar catalog_error_max_schemas checkpoint_threshold
    custom_extension_repository custom_profiling_settings custom_user_agent debug_force_external
    debug_window_mode default_block_size default_secret_storage disable_database_invalidation
    disable_parquet_prefetching disabled_compression_methods disabled_filesystems
    disabled_log_types disabled_optimizers duckdb_api dynamic_or_filter_threshold
    enable_caching_operators enable_external_access enable_external_file_cache enable_fsst_vectors
    enable_geoparquet_conversion enable_http_logging enable_http_metadata_cache enable_logging
    enable_macro_dependencies enable_object_cache enable_profiling enable_progress_bar
    enable_progress_bar_print enable_view_dependencies enabled_log_types errors_as_json
    explain_output extension_directory external_threads file_search_path force_bitpacking_mode
    force_compression force_mbedtls_unsafe home_directory http_logging_output http_proxy
    http_proxy_password http_proxy_username immediate_transaction_mode index_scan_max_count
    index_scan_percentage late_materialization_max_rows lock_configuration log_query_path
    logging_level logging_mode logging_storage max_expression_depth max_memory
    max_temp_directory_size max_vacuum_tasks memory_limit merge_join_threshold
    nested_loop_join_threshold ordered_aggregate_threshold parquet_metadata_cache
    partitioned_write_flush_threshold partitioned_write_max_open_files perfect_ht_threshold
    pin_threads pivot_filter_threshold pivot_limit prefer_range_joins prefetch_all_parquet_files
    preserve_identifier_case preserve_insertion_order produce_arrow_string_view profile_output
    profiling_coverage profiling_mode profiling_output progress_bar_time
    python_enable_replacements python_scan_all_frames s3_access_key_id s3_endpoint s3_region
    s3_secret_access_key s3_session_token s3_url_style s3_use_ssl scheduler_process_partial
    secret_directory storage_compatibility_version streaming_buffer_size temp_directory
    temp_file_encryption threads validate_external_file_cache wal_autocheckpoint worker_threads
    write_buffer_row_group_count zstd_min_string_length
"""
ENGINE_SETTINGS: Final = frozenset(_SETTINGS.split())
"""Accepted and remembered; they change no result."""

REFUSED_SETTINGS: Final = frozenset(
    {
        "default_collation",
        "ieee_floating_point_ops",
        "scalar_subquery_error_on_multiple_rows",
    }
)
"""They would change results, and Spark cannot be told to."""

ONLY_VALUES: Final = {"binary_as_string": "false", "calendar": "gregorian"}
"""Settings of which any other value would change results."""

BINDING_SETTINGS: Final = {
    "default_null_order": "default_null_order",
    "null_order": "default_null_order",
    "default_order": "default_order",
    "integer_division": "integer_division",
    "lambda_syntax": "lambda_syntax",
    "old_implicit_casting": "old_implicit_casting",
    "order_by_non_integer_literal": "order_by_non_integer_literal",
}
"""DuckDB heeds them when it binds a query; with the name that DuckDB has for each."""

_PRAGMAS: Final = """
    disable_checkpoint_on_shutdown disable_object_cache disable_optimizer
    disable_print_progress_bar disable_profile disable_profiling disable_progress_bar
    disable_verification disable_verify_external disable_verify_fetch_row
    disable_verify_parallelism disable_verify_serializer enable_checkpoint_on_shutdown
    enable_object_cache enable_optimizer enable_print_progress_bar enable_profile enable_profiling
    enable_progress_bar enable_verification verify_external verify_fetch_row verify_parallelism
    verify_serializer
"""
ENGINE_PRAGMAS: Final = frozenset(_PRAGMAS.split())
"""Accepted, without effect."""
