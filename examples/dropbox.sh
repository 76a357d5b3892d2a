#!/bin/sh
# A channel plugin: a directory (the setting `dir`). Each file in dir/in comes in
# as a message, its name being the sender; what goes out is a file in dir/out,
# named by its key, so that a message sent twice is there once.
put() {
	printf '%s\n' "$1"
}

answer() {
	put "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":{\"ok\":true}}"
}

# member NAME LINE: the text of a member, as skepd writes it
member() {
	printf '%s\n' "$2" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

quote() {
	tr -d '\000-\037' <"$1" | sed 's/\\/\\\\/g; s/"/\\"/g'
}

bring() {
	while sleep 0.1; do
		for file in "$dir"/in/*; do
			[ -f "$file" ] || continue
			id=$(stat -c %i-%Y "$file")
			put "{\"jsonrpc\":\"2.0\",\"method\":\"channel.receive\",\"params\":{\"id\":\"$id\",\"sender\":\"${file##*/}\",\"text\":\"$(quote "$file")\"}}"
		done
	done
}

put '{"jsonrpc":"2.0","method":"channel.register","params":{"name":"dropbox","idempotent":true}}'
while IFS= read -r line; do
	id=$(printf '%s\n' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
	case $line in
	*'"method":"channel.configure"'*)
		dir=$(member dir "$line")
		mkdir -p "$dir/in" "$dir/out" "$dir/done"
		bring &
		child=$!
		;;
	*'"method":"channel.send"'*)
		key=$(printf '%s\n' "$line" | sed 's/.*"routing":{"id":"\([^"]*\)".*/\1/')
		printf '%s\n' "$line" >"$dir/done/$key" && mv "$dir/done/$key" "$dir/out/$key"
		;;
	*'"event":"message.received"'*)
		ref=$(member ref_id "$line")
		for file in "$dir"/in/*; do
			[ "$(stat -c %i-%Y "$file")" = "$ref" ] && mv "$file" "$dir/done/"
		done
		;;
	*'"method":"channel.stop"'*)
		break
		;;
	esac
	[ -n "$id" ] && answer "$id"
done
[ -n "$child" ] && kill "$child"
