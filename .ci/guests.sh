#!/usr/bin/env bash
# Guests in other languages: vote in Rust, C and AssemblyScript must end with the state of vote in Go. Needs Go, npm and a Debian base;
# what it installs from npm goes to a cache directory.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:--buildvcs=false}"

missing=()
command -v clang >/dev/null || compgen -G '/usr/bin/clang-[12]?' >/dev/null || missing+=(clang)
command -v wasm-ld >/dev/null || compgen -G '/usr/bin/wasm-ld-[12]?' >/dev/null || missing+=(lld)
[ -d /usr/lib/rustlib/wasm32-unknown-unknown ] || missing+=(rustc libstd-rust-dev-wasm32)
if [ ${#missing[@]} -gt 0 ]; then
	[ "$(id -u)" = 0 ] || { echo "${missing[*]} missing and this is not root: apt-get install ${missing[*]}"; exit 1; }
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

package=assemblyscript@0.28.20
cache="${PLEXUS_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plexus-ci}/as-${package#*@}"
if [ ! -e "$cache/complete" ]; then
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --silent "$package"
	touch "$cache/complete"
fi

# PLEXUS_GUESTS: a missing toolchain fails instead of being skipped.
PLEXUS_GUESTS=1 PLEXUS_ASC="$cache/node_modules/.bin/asc" go test -count=1 -run 'TestGuestsAgree|TestNewProjects|TestSDKs' ./plugins/kit
