// Command conformance serves the fixtures that MCP's official conformance suite asks for, on the very handler stack the
// daemon serves /mcp with: what passes here is what clients meet. It is built with -tags conformance, for .ci/mcp.sh
// alone, and is no part of plexus.
package main
