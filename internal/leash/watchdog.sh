# $1 is the folder to remove; empty: none.
#
# Only the parent holds the other end of standard input. For each program it writes
# "PID SIGNAL", with the signal that asks the program to stop, and "ended" once the
# program has ended and was reaped. The end of file means that the parent gave the
# leash up or is gone; a program that has not ended by then is an orphan.
# Its pid cannot belong to someone else: until it was reaped it is not given away.
trap '' HUP INT QUIT TERM
pid=
while read -r word signal; do
	pid=$word asked=$signal
	[ "$word" != ended ] || pid=
done
if [ -n "$pid" ]; then
	# SIGKILL is for all at once; what can be asked stops its children itself.
	if [ "$asked" = 9 ]; then kill -9 -"$pid"; else kill -"$asked" "$pid"; fi
	# The whole group is waited for: what the program started may still write.
	tries=0
	while kill -0 -"$pid" && [ "$tries" -lt 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	kill -9 -"$pid"
fi 2>/dev/null
[ -n "$1" ] || exit 0
# A process that was killed a moment ago may end in the middle of writing a file.
tries=0
until rm -rf "$1" 2>/dev/null || [ "$tries" -ge 50 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
