#!/bin/sh
# Fails if a file has grown over its budget: 600 lines, 200 for a header. A file
# in tools/size_exceptions.txt ("path reason") may be longer.
cd "$(dirname "$0")/.." || exit 1
git ls-files -co --exclude-standard '*.c' '*.h' '*.py' '*.sh' |
xargs wc -l |
awk '
	BEGIN {
		while ((getline line < "tools/size_exceptions.txt") > 0) {
			split(line, word, " ")
			if (line !~ /^#/) excused[word[1]] = 1
		}
	}
	$2 == "total" { next }
	{
		limit = ($2 ~ /\.h$/) ? 200 : 600
		if ($1 > limit && !($2 in excused)) {
			print $2 ": " $1 " lines, the limit is " limit
			failed = 1
		}
	}
	END { exit failed }'
