#!/bin/sh
# Fails if runtime code names a file that state was once kept in; what is
# allowed is in tools/state_files.txt. Tests, benchmarks and tools may do as they
# like.   tools/check_state_files.sh [TREE]
cd "${1:-$(dirname "$0")/..}" || exit 1
find lib ipc schema vfs ops worker supervisor cli -type f \
	\( -name '*.c' -o -name '*.h' -o -name '*.def' \) 2>/dev/null |
sort | xargs -r grep -nH '"' |
awk -F: '
	BEGIN {
		while ((getline line < "tools/state_files.txt") > 0) {
			split(line, w, " ")
			if (w[1] == "name") name[w[2]] = 1
			if (w[1] == "file") file[w[2]] = 1
		}
		looks = "[A-Za-z0-9_%-]*\\.(jsonl|json|pid|lock|db|sqlite)" \
			"(\\.[0-9])?([^A-Za-z0-9_]|$)"
	}
	$1 in file || $3 ~ /^[ \t]*(\*|\/\*|\/\/)/ { next }
	{
		n = split(substr($0, length($1 $2) + 3), piece, "\"")
		for (i = 2; i <= n; i += 2) check(piece[i])
	}
	function check(s,  found) {
		while (match(s, looks)) {
			found = substr(s, RSTART, RLENGTH)
			s = substr(s, RSTART + RLENGTH)
			sub(/[^A-Za-z0-9]$/, "", found)
			if (!(found in name)) bad(found)
		}
	}
	function bad(found) {
		print $1 ":" $2 ": \"" found "\" looks like a state " \
			"file: keep state in rows (see tools/state_files.txt)"
		failed = 1
	}
	END { exit failed }'
