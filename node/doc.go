// Package node is what a running node consists of: the store, the Log, the keys it holds, who may, its peers, its
// plugins and its HTTP server, wired together and kept alive. The rules of messages are graph's, who may is
// graph/access', the wire shapes are node/api's; here stand IOA's three operations on behalf of the Nodes this host holds.
//
// Three rules hold:
//
//   - Open gets resources and starts nothing; Run owns every goroutine and returns after the last; Close is safe twice.
//   - Whatever is written with a message (an idempotency key, a token) rides in its transaction.
//   - A host speaks for the Nodes whose keys it has, and for no others.
package node
