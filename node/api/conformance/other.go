//go:build !conformance

package main

// This file keeps the package whole in a build without the tag.

import "fmt"

func main() { fmt.Println("build with -tags conformance; see .ci/mcp.sh") }
