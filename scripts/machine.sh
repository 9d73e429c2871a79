# What a machine must offer before anything can run: a Python, a virtual environment, a Java.
# Sourced by the other scripts; defines functions only.

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }

fail() {
  printf 'error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '       %s\n' "$line" >&2; done
  exit 1
}

# Runs a command as root without asking for a password; fails when that is not possible.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    return 1
  fi
}

# Installs the first of the named packages that the distribution has.
install_package() {
  command -v apt-get >/dev/null 2>&1 || return 1
  as_root true || return 1
  say "installing $1 with apt-get"
  as_root apt-get update -qq >/dev/null || true
  local package
  for package in "$@"; do
    if as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$package" >/dev/null; then
      return 0
    fi
  done
  return 1
}

# Prints the first Python that runs and is new enough. A version manager's shim may exist and still
# not run, so each candidate is tried and asked for the real interpreter behind it.
find_python() {
  local candidate found
  for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.10 python; do
    if found=$("$candidate" -c 'import sys
if sys.version_info < (3, 10): sys.exit(1)
print(sys.executable)' 2>/dev/null); then
      printf '%s\n' "$found"
      return 0
    fi
  done
  fail "Python 3.10 or newer was not found." \
    "On Debian or Ubuntu: apt-get install python3 python3-venv" \
    "With another name or place: make PYTHON=/path/to/python3 ..."
}

# Makes the virtual environment $1 with a working pip. One that works is left as it is.
make_venv() {
  local venv=$1 python minor
  if ! "$venv/bin/python" -c '' 2>/dev/null; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
      minor=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
      install_package "python$minor-venv" python3-venv \
        && "$python" -c 'import ensurepip, venv' 2>/dev/null \
        || fail "$python cannot make virtual environments." \
          "On Debian or Ubuntu, as root: apt-get install python3-venv"
    fi
    say "making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
  fi
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null
}

# What an installation depends on: the place of the project, what was asked for, pyproject.toml.
installation_state() { printf '%s\n' "$PWD" "$*" && cat pyproject.toml; }

# Succeeds when the set $2 of requirements (the other arguments) stands in the environment $1.
is_installed() {
  local stamp="$1/.installed-$2"
  shift 2
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(installation_state "$@")" ]
}

# Installs the set $2 of requirements (the other arguments) into the environment $1, once.
install_into() {
  if is_installed "$@"; then
    return 0
  fi
  local venv=$1 stamp="$1/.installed-$2"
  shift 2
  say "installing $* into $venv (PySpark is large: the first time takes a few minutes)"
  # Old pips cannot do editable installations of a pyproject.toml; a new one is no condition.
  "$venv/bin/python" -m pip install --quiet --upgrade pip || true
  "$venv/bin/python" -m pip install --quiet "$@"
  installation_state "$@" >"$stamp"
}

# Succeeds when $1 runs and is Java 17 or newer.
java_is_new_enough() {
  local version
  version=$("$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1) || return 1
  [ "${version:-0}" -ge 17 ]
}

# Prints the home of a Java that Spark can use; fails when there is none.
find_java_home() {
  local java
  for java in "${JAVA_HOME:-}/bin/java" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
    if [ -x "$java" ] && java_is_new_enough "$java"; then
      # Java itself knows where it lives; a link or a shim in the PATH does not.
      "$java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java\.home = //p' | head -n 1
      return 0
    fi
  done
  return 1
}

# Finds or installs Java and notes its home in $1/java-home, where scripts/run.sh looks.
ensure_java() {
  local home
  if ! home=$(find_java_home); then
    install_package openjdk-17-jre-headless default-jre-headless || true
    home=$(find_java_home) || fail "Spark needs Java 17 or newer, and none was found." \
      "On Debian or Ubuntu, as root: apt-get install default-jre-headless" \
      "On Fedora: dnf install java-21-openjdk-headless" \
      "On macOS: brew install openjdk@21, then export JAVA_HOME" \
      "If there is one in another place, set JAVA_HOME to it."
  fi
  printf '%s\n' "$home" >"$1/java-home"
}
