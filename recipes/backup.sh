#!/usr/bin/env bash
# backup.sh FOLDER: what cannot be made again, consistent although runs go on; keeps the last seven of its own.
#   restore a file:      stop the timer; cp FOLDER/DATE/* data/; rm -rf data/dlt data/published.duckdb; earshot sync
#   restore a Postgres:  createdb earshot; pg_restore -d earshot FOLDER/DATE/earshot.dump; earshot sync
#     psql -d earshot -c "INSERT INTO control.restorations VALUES ('DATE', 'DATE')"   # as 2026-03-01T12:00:00Z
# Reading goes on from the cursors in the backup: what was said since is read again, nothing is doubled. Answers that were
# given since are unknown: `restorations` has `earshot reply` look before it speaks.
set -euo pipefail
umask 077
folder="${1:?where to}/$(date -u +%Y%m%dT%H%M%SZ)" now="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
data="${EARSHOT_DATA:-data}"
mkdir -p "$folder"
sqlite3 "$data/control.sqlite" ".timeout 10000" ".backup '$folder/control.sqlite'"
sqlite3 "$folder/control.sqlite" \
    "CREATE TABLE IF NOT EXISTS restorations (restored_at TEXT PRIMARY KEY, as_of TEXT NOT NULL)" \
    "INSERT INTO restorations VALUES ('$now', '$now')"
if [ -n "${DESTINATION__POSTGRES__CREDENTIALS:-}" ]; then
    # the password by the environment: a command line is for everybody to read
    PGPASSWORD="$(python3 -c 'import os, urllib.parse as u
print(u.unquote(u.urlsplit(os.environ["DESTINATION__POSTGRES__CREDENTIALS"]).password or ""))')" \
        pg_dump --format=custom --file="$folder/earshot.dump" --exclude-schema='*_staging*' \
        "$(sed -E 's#(://[^:/@]*):[^@]*@#\1@#' <<< "$DESTINATION__POSTGRES__CREDENTIALS")"
else  # a run holds the lock while it writes: wait for it, an hour at the most
    flock --timeout 3600 "$data/earshot.lock" cp --reflink=auto "$data/warehouse.duckdb" "$folder/"
fi
find "$(dirname "$folder")" -mindepth 1 -maxdepth 1 -type d -regextype posix-extended \
    -regex '.*/[0-9]{8}T[0-9]{6}Z' -print0 | sort -z | head -z -n -7 | xargs -0 -r rm -rf
