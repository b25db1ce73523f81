#!/usr/bin/env bash
# Another processor: what guests make of messages, for how much gas, must be the same on arm64 as here. Runs the test built for arm64 under
# qemu's user emulation; where that can't be had, says so and leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"

skip() { echo "skipped: $1"; exit 0; }
[ "$(go env GOARCH)" = amd64 ] || skip "this machine isn't amd64"
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
if [ -z "$emulator" ]; then
	[ "$(id -u)" = 0 ] || skip "no qemu-aarch64 and not root: apt-get install qemu-user-static"
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends qemu-user-static >/dev/null; } || skip "qemu-user-static can't be installed"
	emulator=$(command -v qemu-aarch64-static)
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export PLEXUS_MACHINES="$dir"
go test -count=1 -run 'TestMachinesAgree' ./plugins/kit
for pkg in kit engines; do
	path=./plugins/kit
	[ $pkg = kit ] || path=./plugins
	GOARCH=arm64 go test -c -o "$dir/$pkg.test" "$path"
done
(cd plugins/kit && "$emulator" "$dir/kit.test" -test.run 'TestMachinesAgree')
(cd plugins && "$emulator" "$dir/engines.test" -test.run 'TestNaNsAreCanonical|TestRestore')
diff "$dir/amd64.txt" "$dir/arm64.txt" || { echo "arm64 folds otherwise than amd64"; exit 1; }
wc -l <"$dir/arm64.txt" | xargs -I{} echo "{} plugins fold alike on amd64 and arm64"
