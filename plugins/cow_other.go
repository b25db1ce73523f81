//go:build !linux || !(amd64 || arm64)

package plugins

// This file stands in where memory can't be reset by the page: it is copied whole.

import (
	"os"

	"github.com/tetratelabs/wazero/experimental"
)

type guestMemory struct{ experimental.LinearMemory }

func newGuestMemory(uint64) *guestMemory { return nil }

func imageFile([]byte) *os.File { return nil }

func (*guestMemory) adopt(*image) {}

func (*guestMemory) restore(*image) bool { return false }
