#!/usr/bin/env bash
# Sets the project up in .venv: scripts/setup.sh demo | test | dev | bench
#
#   demo   what running needs: the package with its PostgreSQL driver, and Java
#   test   everything the tests need, and Java
#   dev    the same without looking for Java: linting, type checks, tests without Spark
#   bench  test, and the data generator of the benchmarks
#
# Repeated runs do nothing until pyproject.toml changes. Nothing is installed outside .venv but, on
# Debian and Ubuntu with root rights, a missing python3-venv or Java.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/machine.sh

full=(-e '.[postgres,test,dev]')

make_venv .venv
case "${1:-}" in
  demo)
    is_installed .venv dev "${full[@]}" || install_into .venv demo -e '.[postgres]'
    ensure_java .venv
    ;;
  test)
    install_into .venv dev "${full[@]}"
    ensure_java .venv
    ;;
  dev)
    install_into .venv dev "${full[@]}"
    ;;
  bench)
    install_into .venv dev "${full[@]}"
    install_into .venv bench -e '.[bench]'
    ensure_java .venv
    ;;
  *)
    fail "usage: scripts/setup.sh demo | test | dev | bench"
    ;;
esac
