package plugins

// This file holds rewritten modules on disk, beside the compiled code: rewriting one anew takes a quarter of a later start. A file of this cache is
//
//	SHA-256 of what follows ‖ length of the header, 4 bytes ‖ header, JSON ‖ module
//
// and whatever isn't is as good as absent. It is trusted as compiled code is: whoever can write there owns the data directory.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// rewrite is meter.Rewrite for a file, by way of the cache.
func (e *engine) rewrite(cid string, wasm []byte, m abi.Manifest) (*meter.Result, error) {
	limits := meterLimits(m, e.unmetered)
	if e.dir == "" || e.unmetered {
		return meter.Rewrite(wasm, limits)
	}
	path := filepath.Join(e.dir, fmt.Sprintf("metered-%d.%d-%d-%d-%d-%s", meter.Schedule, meter.Revision, limits.MemoryPages, limits.TableSize, limits.Depth, cid))
	if b, err := os.ReadFile(path); err == nil {
		if r, ok := readMetered(b); ok {
			return r, nil
		}
	}
	r, err := meter.Rewrite(wasm, limits)
	if err != nil {
		return nil, err
	}
	if b, err := appendMetered(r); err == nil {
		_ = writeWhole(path, b) // without it, the next start takes longer
	}
	return r, nil
}

// appendMetered writes a file of the cache.
func appendMetered(r *meter.Result) ([]byte, error) {
	head := *r
	head.Module = nil
	header, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	b := make([]byte, sha256.Size, sha256.Size+4+len(header)+len(r.Module))
	b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
	b = append(append(b, header...), r.Module...)
	sum := sha256.Sum256(b[sha256.Size:])
	copy(b, sum[:])
	return b, nil
}

// readMetered reads one; ok is false for what is damaged.
func readMetered(b []byte) (r *meter.Result, ok bool) {
	if len(b) < sha256.Size+4 {
		return nil, false
	}
	sum := sha256.Sum256(b[sha256.Size:])
	if !bytes.Equal(sum[:], b[:sha256.Size]) {
		return nil, false
	}
	b = b[sha256.Size:]
	n := binary.BigEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return nil, false
	}
	r = &meter.Result{}
	if json.Unmarshal(b[:n], r) != nil {
		return nil, false
	}
	r.Module = b[n:]
	return r, true
}

// writeWhole writes a file that is whole or absent.
func writeWhole(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
