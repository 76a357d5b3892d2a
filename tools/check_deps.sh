#!/bin/sh
# Fails if a file includes a directory, or a library, that tools/deps.txt forbids,
# or another directory's internal.h (tests may); or if X.c does not include X.h
# first, which proves that the header compiles alone.
cd "$(dirname "$0")/.." || exit 1
git ls-files -co --exclude-standard '*.c' '*.h' '*.def' |
xargs grep -nHE '^[ 	]*#[ 	]*include' |
awk -F: '
	BEGIN {
		while ((getline line < "tools/deps.txt") > 0) {
			if (line ~ /^#/ || line == "") continue
			at = (line ~ /@/) ? "@" : ":"
			split(line, side, at); gsub(/ /, "", side[1])
			if (at == "@") lib[side[1]] = side[2]
			else may[side[1]] = side[2] " " side[1]
		}
	}
	# Whether the path is one of the directories, or below one.
	function below(path, directories,  d, n, i) {
		n = split(directories, d, " ")
		for (i = 1; i <= n; i++)
			if (path == d[i] || index(path, d[i] "/") == 1) return 1
		return 0
	}
	# The longest directory above the path that has a line.
	function rule(path) {
		while (sub(/\/[^\/]*$/, "", path))
			if (path in may) return path
		return ""
	}
	function directory(path) { sub(/\/?[^\/]*$/, "", path); return path }
	{
		match($3, /["<][^">]+/); h = substr($3, RSTART + 1, RLENGTH - 1)
		own = $1; sub(/c$/, "h", own)
		if (!seen[$1]++ && $1 ~ /\.c$/ && h != own && (getline line < own) > 0)
			bad($1, $2, "it must include " own " first")
		if ($3 ~ /"/ && rule(h) != "" && !below(h, may[rule($1)]))
			bad($1, $2, rule($1) " must not include " rule(h))
		if (h ~ /\/internal\.h$/ && !below($1, directory(h)) &&
		    $1 !~ /^tests\//)
			bad($1, $2, h " is private to its directory")
		for (l in lib)
			if (index(h, l) == 1 && !below($1, lib[l]))
				bad($1, $2, h " does not belong in " directory($1))
	}
	function bad(f, n, why) { print f ":" n ": " why; failed = 1 }
	END { exit failed }'
