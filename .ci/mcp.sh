#!/usr/bin/env bash
# MCP as others judge it: the official conformance suite on both current wires, Inspector's strict schema check over stdio
# and HTTP, and a real agent harness on each of two nodes. Needs Go and npm; what it installs goes to a cache directory.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"

packages=(@modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 opencode-ai@1.18.33 node@22.23.3)
cache="${PLEXUS_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plexus-ci}/mcp-$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c1-12)"
if [ ! -e "$cache/complete" ]; then
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --silent "${packages[@]}"
	touch "$cache/complete"
fi
PATH="$cache/node_modules/.bin:$PATH" # node 22 comes from there too

work=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done; rm -rf "$work"' EXIT

wait_for() { # file: something in it within 20 s
	for _ in $(seq 200); do
		[ -s "$1" ] && return
		sleep 0.1
	done
	echo "waited in vain for $1"
	return 1
}

echo "-- conformance"
go build -tags conformance -o "$work/conformance" ./node/api/conformance
"$work/conformance" >"$work/url" &
pids+=($!)
wait_for "$work/url"
for revision in 2025-11-25 2026-07-28; do
	# its exit code also counts scenarios that the revision doesn't require; those stand below "Not scored"
	(cd "$work" && conformance server --url "$(cat url)" --requirements "$revision") >"$work/report" 2>&1 || true
	awk '/=== SUMMARY/ {on = 1} /^Not scored/ {skip = 1}
		on && skip && NF > 1 {free[$2] = 1}
		on && !skip && ($1 == "✓" || $1 == "✗") {name = $2; sub(/:$/, "", name); mark[name] = $1; checks[name] = $3}
		END {
			for (n in mark) if (!(n in free)) { required++; passed += checks[n]; if (mark[n] == "✗") { bad++; print "fails: " n } }
			printf "%s: %d required scenarios, %d checks passed, %d scenarios failed\n", revision, required, passed, bad
			exit !(required >= 30 && !bad)
		}' revision="$revision" "$work/report" || { cat "$work/report"; exit 1; }
done

echo "-- inspector"
go build -o "$work/plexus" ./cmd/plexus
"$work/plexus" up --dir "$work/data" --listen 127.0.0.1:0 --no-p2p >"$work/up" 2>&1 &
pids+=($!)
wait_for "$work/data/daemon.json"
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$work/data/daemon.json")
strict() {
	mcp-inspector --cli "$@" --method tools/list --strict >/dev/null 2>"$work/strict" && [ ! -s "$work/strict" ] ||
		{ cat "$work/strict"; echo "inspector --strict isn't clean"; exit 1; }
}
strict "$work/plexus" mcp --dir "$work/data"
strict "$url/mcp" --transport http --header "Authorization: Bearer $("$work/plexus" token --dir "$work/data")"
"$work/plexus" space kitchen -d 'I cook' --dir "$work/data" >/dev/null
strict "$url/mcp?plugin_tools=true" --transport http --header "Authorization: Bearer $("$work/plexus" token --dir "$work/data")"
echo "strict: clean over stdio and HTTP"

echo "-- agents"
harness=$(ls "$cache"/node_modules/opencode-linux-*/bin/opencode 2>/dev/null | head -1 || true)
export PLEXUS_OPENCODE="${harness:-$cache/node_modules/.bin/opencode}"
go test -count=1 -run Agent -v ./cmd/plexus
go test -count=1 -run 'TestTwoHarnesses$' -v ./examples
