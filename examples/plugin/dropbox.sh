#!/bin/sh
# A channel plugin whose platform is a directory (the setting `dir`). A file that
# is moved to dir/in is an incoming message; its name is the sender. An outgoing
# message is a file in dir/out, named by its key, so a repeated send adds nothing.

# Two processes write: each opens the lock itself, so that lines do not mix.
put() {
	{ flock 9 && printf '{"jsonrpc":"2.0",%s}\n' "$1"; } 9<"$0"
}

# Escapes the text on stdin for a JSON string.
quote() {
	tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/\\t/g' |
		awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

# member NAME LINE: the value of a member, still escaped.
member() {
	printf '%s\n' "$2" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

bring() {
	while sleep 0.1; do
		for file in "$dir"/in/*; do
			[ -s "$file" ] || continue
			name=$(printf '%s' "${file##*/}" | quote)
			put "\"method\":\"channel.receive\",\"params\":{\"id\":\"$(stat -c %i-%.9Y "$file")\",\"sender\":\"$name\",\"text\":\"$(quote <"$file")\"}"
		done
	done
}

put '"method":"channel.register","params":{"name":"dropbox","idempotent":true}'
while IFS= read -r line; do
	id=$(printf '%s\n' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
	problem='"error":{"code":1,"message":"see the log"}'
	case $line in
	*'"method":"channel.configure"'*)
		dir=$(member dir "$line")
		mkdir -p "$dir/in" "$dir/out" "$dir/done" && problem=
		bring & # skepd ends it together with this process
		;;
	*'"method":"channel.send"'*)
		key=$(printf '%s\n' "$line" | sed 's/.*"routing":{"id":"\([^"]*\)".*/\1/')
		printf '%s\n' "$line" >"$dir/done/$key" && mv "$dir/done/$key" "$dir/out/$key" && problem=
		;;
	*'"event":"message.received"'*)
		ref=$(member ref_id "$line")
		for file in "$dir"/in/*; do
			[ "$(stat -c %i-%.9Y "$file")" = "$ref" ] && mv "$file" "$dir/done/"
		done
		;;
	*) problem= ;; # channel.status: any response will do
	esac
	[ -z "$id" ] || put "\"id\":$id,${problem:-\"result\":{\}}"
done
