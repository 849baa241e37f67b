#!/usr/bin/env bash
# Ends an action as kgitops ended: 0, and 2 for changes, are no failure.
case "$EXITCODE" in
  0 | 2) exit 0 ;;
  *)
    echo "kgitops ended with exit code $EXITCODE; the job's summary says why."
    exit "$EXITCODE"
    ;;
esac
