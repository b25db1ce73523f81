package arch

// This file is the law. A new package needs a line here and an ADR.

// rule is what one package may do. Tests are held to less: they may import any of ours and anything from outside.
type rule struct {
	ours    []string // packages of ours it may import; "dir/..." is everything below dir
	outside []string // modules (or parts of one) it may import
	goes    bool     // may start goroutines
}

// law holds one line per package; "dir/..." is every package below dir without a line of its own.
var law = map[string]rule{
	"graph": {
		outside: []string{
			"github.com/fxamacker/cbor/v2",
			"github.com/ipfs/go-cid",
			"github.com/ipld/go-car/v2", // export and import
			"github.com/mr-tron/base58",
			"github.com/multiformats/go-multihash",
			"github.com/oasisprotocol/curve25519-voi",
			"golang.org/x/text/unicode/norm",
		},
	},
	"graph/store":     {ours: []string{"graph"}, outside: []string{"github.com/cockroachdb/pebble/v2"}},
	"graph/reconcile": {ours: []string{"graph"}},
	"graph/access":    {ours: []string{"graph"}, outside: []string{"github.com/oasisprotocol/curve25519-voi"}}, // enrolments are signed
	"p2p": {
		ours: []string{"graph", "graph/reconcile", "graph/access"},
		outside: []string{
			"github.com/fxamacker/cbor/v2", // frames
			"github.com/ipfs/go-cid",
			"github.com/ipfs/go-block-format",
			"github.com/ipfs/go-datastore",
			"github.com/libp2p",
			"github.com/multiformats",
			"golang.org/x/sync/errgroup",
			"golang.org/x/time/rate",
		},
		goes: true,
	},
	"plugins": {
		ours: []string{"graph", "sdk/abi", "plugins/internal/..."},
		outside: []string{
			"github.com/tetratelabs/wazero",
			"github.com/oasisprotocol/curve25519-voi", // ed25519_verify judges as entries are judged
		},
		goes: true, // a pass reads ahead, in a goroutine that ends with it (adr 006)
	},
	"plugins/internal/meter": {}, // the rewriter: a pure function of bytes
	"plugins/internal/build": {ours: []string{"plugins/internal/meter", "sdk/abi"}},
	"plugins/internal/pack":  {ours: []string{"plugins/kit"}},                                                    // for go generate
	"plugins/internal/model": {ours: []string{"sdk/abi", "sdk/plugin"}, outside: []string{"pgregory.net/rapid"}}, // the patterns once more, for their tests
	"plugins/kit": { // the author's workshop: guests over logs of its making (adr 008)
		ours: []string{"graph", "graph/store", "plugins", "plugins/internal/build", "plugins/vote", "sdk", "sdk/abi", "sdk/plugin"},
	},
	"plugins/vote/guest": {ours: []string{"plugins/vote", "sdk/plugin"}},
	"plugins/bundle":     {ours: []string{"plugins/...", "sdk/plugin"}}, // the guests in one file
	"plugins/...":        {ours: []string{"sdk/plugin", "sdk/abi"}},     // the first-party guests, built for wasm
	"node/api": {
		ours: []string{"graph", "sdk/client", "web"},
		outside: []string{
			"github.com/danielgtaylor/huma/v2",
			"github.com/modelcontextprotocol/go-sdk",
			"github.com/prometheus/client_golang",
			"github.com/santhosh-tekuri/jsonschema/v6",
			"golang.org/x/time/rate",
		},
	},
	"node/api/servicetest": {ours: []string{"graph", "node/api", "sdk/client"}, goes: true},                           // the contract of api.Service as a test
	"node/api/conformance": {ours: []string{"node/api"}, outside: []string{"github.com/modelcontextprotocol/go-sdk"}}, // built with a tag, for CI alone
	"node": {
		ours:    []string{"graph", "graph/store", "graph/reconcile", "graph/access", "p2p", "plugins", "plugins/kit", "node/api", "sdk/abi", "sdk/client"},
		outside: []string{"golang.org/x/sync/errgroup", "github.com/prometheus/client_golang", "github.com/santhosh-tekuri/jsonschema/v6"},
		goes:    true,
	},
	"docs/conformance": {}, // the suite's files, for the binary to carry
	"cmd/plexus": {
		ours:    []string{"docs/conformance", "graph", "node", "node/api", "plugins/kit", "sdk/client"}, // graph for its sentinels: exit codes
		outside: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/modelcontextprotocol/go-sdk", "golang.org/x/sys"},
		goes:    true,
	},
	"sdk":          {}, // the guest SDKs as files, for scaffolding
	"sdk/abi":      {},
	"sdk/plugin":   {ours: []string{"sdk/abi"}},
	"sdk/client":   {ours: []string{"sdk/abi"}},
	"examples":     {}, // its tests, which run them
	"examples/...": {ours: []string{"sdk/...", "examples/internal/..."}},
	"examples/internal/fleet": { // daemons as processes, and an MCP client
		ours:    []string{"sdk/client"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"examples/edge-fleet": { // whole nodes in a simulated world
		ours: []string{"internal/sim", "node", "p2p", "sdk/client"},
		goes: true,
	},
	"examples/shop":          {ours: []string{"examples/internal/fleet", "sdk/client"}, goes: true}, // a web server beside the daemons
	"examples/two-harnesses": {ours: []string{"examples/internal/fleet", "internal/scripted", "sdk/client"}},
	"internal/scripted":      {goes: true}, // a model's stand-in, and the harness it drives
	"web":                    {},           // the page's files, embedded
	"internal/arch":          {},
	"internal/sim":           {ours: []string{"graph", "graph/store", "graph/access", "p2p"}, outside: []string{"github.com/marcopolo/simnet", "github.com/libp2p", "github.com/multiformats"}, goes: true},
}
