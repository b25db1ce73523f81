// Pack builds a guest with Go's own toolchain and appends manifest, skills and schemas as custom sections.
//
//	pack -o FILE MAIN PATTERN...
package main

// This file holds the command; package plugins has what it does, so that the test that source and binary agree does the same.

import (
	"context"
	"flag"
	"fmt"
	"os"

	"plexus/plugins/kit"
)

func main() {
	out := flag.String("o", "", "file to write")
	flag.Parse()
	if *out == "" || flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: pack -o FILE MAIN PATTERN...")
		os.Exit(2)
	}
	wasm, err := kit.Bundle(context.Background(), flag.Arg(0), flag.Args()[1:])
	if err == nil {
		err = os.WriteFile(*out, wasm, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}
