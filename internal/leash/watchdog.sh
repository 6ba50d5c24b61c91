# $1 is the signal that asks the program to stop, $2 the folder to remove.
#
# Only the parent holds the other end of standard input. It writes the program's
# pid, and "ended" once the program has ended and was reaped. An end of file
# before that word means that the parent is gone and the program is an orphan.
# The pid cannot belong to someone else: until it was reaped it is not given away.
trap '' HUP INT QUIT TERM
if read -r pid && ! read -r ended; then
	kill -"$1" "$pid"
	tries=0
	while kill -0 "$pid" && [ "$tries" -lt 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill -9 "$pid"
fi 2>/dev/null
[ -z "$2" ] || rm -rf "$2"
