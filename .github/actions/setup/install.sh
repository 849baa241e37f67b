#!/usr/bin/env bash
# Installs kgitops into $RUNNER_TEMP/kgitops, with uv where the runner has it and pip elsewhere.
set -euo pipefail

home="$RUNNER_TEMP/kgitops"
requirement="${INPUT_REQUIREMENT:-$GITHUB_ACTION_PATH/../../..}"
python="${PYTHON:-python3}"

rm -rf "$home"
if command -v uv >/dev/null; then
  uv venv --quiet --no-project --python "$python" "$home"
  VIRTUAL_ENV="$home" uv pip install --quiet -- "$requirement"
else
  "$python" -m venv "$home"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check -- "$requirement"
fi

version="$("$home/bin/kgitops" --version)"
# kgitops alone: neither another Python nor its packages get onto the path of later steps.
mkdir -p "$home/path"
ln -sf "$home/bin/kgitops" "$home/path/kgitops"
echo "$home/path" >>"$GITHUB_PATH"
echo "version=${version#kgitops }" >>"$GITHUB_OUTPUT"
echo "Installed $version."
