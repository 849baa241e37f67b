#!/usr/bin/env bash
# Installs kgitops into $RUNNER_TEMP/kgitops, with uv where the runner has it and pip elsewhere:
# this commit of it, and of all that it needs and is built with the very files that are pinned here.
set -euo pipefail

home="$RUNNER_TEMP/kgitops"
source="$GITHUB_ACTION_PATH/../../.."
pinned="$source/kgitops/workflow/pinned"
python="${PYTHON:-python3}"
case "${INPUT_EXTRAS:-}" in
  "") lists=(requirements) ;;
  # First what builds, then what is built: PySpark comes as a source archive.
  fleet) lists=(requirements requirements-fleet) ;;
  *)
    echo "::error title=kgitops::the input extras is neither empty nor fleet"
    exit 1
    ;;
esac

rm -rf "$home"
if command -v uv >/dev/null; then
  uv venv --quiet --no-project --python "$python" "$home"
  export VIRTUAL_ENV="$home"
  install=(uv pip install --quiet)
else
  "$python" -m venv "$home"
  install=("$home/bin/python" -m pip install --quiet --disable-pip-version-check)
fi
for list in "${lists[@]}"; do
  "${install[@]}" --require-hashes --no-build-isolation --requirement "$pinned/$list.txt"
done
"${install[@]}" --no-deps --no-build-isolation -- "$source"

version="$("$home/bin/kgitops" --version)"
# kgitops alone: neither another Python nor its packages get onto the path of later steps.
mkdir -p "$home/path"
ln -sf "$home/bin/kgitops" "$home/path/kgitops"
echo "$home/path" >>"$GITHUB_PATH"
echo "version=${version#kgitops }" >>"$GITHUB_OUTPUT"
echo "Installed $version."
