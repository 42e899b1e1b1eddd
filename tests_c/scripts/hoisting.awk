# For each function of LLVM's text, the loads and the calls in its loop, which is one block that branches to itself.
/^define / {
	name = $0
	sub(/^[^@]*@/, "", name)
	sub(/\(.*/, "", name)
	block = "entry"
	split("", loads)
	split("", calls)
	split("", loops)
}
/^[0-9A-Za-z._]+:/ {
	block = $0
	sub(/:.*/, "", block)
}
/ = load / { loads[block]++ }
/ call / && !/@llvm\./ { calls[block]++ }
/^ *br / && index($0 ",", "label %" block ",") { loops[block] = 1 }
/^}/ {
	for (block in loops) print name ": " loads[block] + 0 " loads, " calls[block] + 0 " calls"
}
