package plugins

// This file holds what is known of a file before it runs.

import (
	"context"

	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// Description is what Examine found.
type Description struct {
	File     string // CID
	Manifest abi.Manifest
	Imports  []string // "module.function", in the file's order
	Sections map[string][]byte
}

// Examine checks a file as AddFile does, without keeping it. Errors are ErrInvalid or ErrTooLarge and say what is wrong with the file.
func Examine(ctx context.Context, wasm []byte) (Description, error) {
	r, m, err := examine(ctx, wasm)
	if err != nil {
		return Description{}, err
	}
	d := Description{File: fileCID(wasm), Manifest: m, Sections: map[string][]byte{}}
	for _, i := range r.Imports {
		d.Imports = append(d.Imports, i.Module+"."+i.Name)
	}
	err = meter.Custom(wasm, func(name string, data []byte) error {
		d.Sections[name] = data
		return nil
	})
	return d, err
}
