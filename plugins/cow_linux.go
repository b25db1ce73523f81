//go:build linux && (amd64 || arm64)

package plugins

// This file holds guest memory that is reset by the page: the image after _initialize is mapped privately, the kernel says which pages
// were written since, and only those are copied back. Where the kernel can't say, all of it is.

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/tetratelabs/wazero/experimental"
)

const (
	pageSize    = 4096
	maxRegions  = 256
	noReserve   = 0x4000     // MAP_NORESERVE
	scanIoctl   = 0xc0606610 // PAGEMAP_SCAN, Linux 6.7
	pageFile    = 1 << 2
	pagePresent = 1 << 3
	pageSwapped = 1 << 4
)

// pages tells which pages of this process were written.
type pages struct {
	file   *os.File // /proc/self/pagemap
	noScan bool     // the kernel is too old for the ioctl: read the whole stretch
	buf    []byte
}

// scanArgs is struct pm_scan_arg.
type scanArgs struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages, inverted, mask, anyOf, ret uint64
}

type region struct{ start, end, categories uint64 }

// guestMemory is a wazero linear memory at one address for life.
type guestMemory struct {
	buf     []byte // as much as it may ever have
	private bool   // the image is mapped over its beginning
	pages   pages
	regions [maxRegions]region
}

func newGuestMemory(most uint64) *guestMemory {
	buf, err := syscall.Mmap(-1, 0, int(max(most, pageSize)), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|noReserve)
	if err != nil {
		return nil
	}
	return &guestMemory{buf: buf}
}

// Reallocate grows in place; nil says no.
func (m *guestMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.buf)) {
		return nil
	}
	return m.buf[:size:len(m.buf)]
}

// Free unmaps.
func (m *guestMemory) Free() {
	if m.buf == nil {
		return
	}
	_ = syscall.Munmap(m.buf) // it was mapped; there is nothing to do about an error
	m.buf = nil
	if m.pages.file != nil {
		_ = m.pages.file.Close()
	}
}

var _ experimental.LinearMemory = (*guestMemory)(nil)

// imageFile keeps an image where it can be mapped from.
func imageFile(image []byte) *os.File {
	number := map[string]uintptr{"amd64": 319, "arm64": 279}[runtime.GOARCH]
	name := []byte("plexus-guest\x00")
	const closeOnExec = 1
	fd, _, errno := syscall.Syscall(number, uintptr(unsafe.Pointer(&name[0])), closeOnExec, 0)
	if errno != 0 {
		return nil
	}
	f := os.NewFile(fd, "plexus-guest")
	if _, err := f.Write(image); err != nil {
		_ = f.Close()
		return nil
	}
	return f
}

// adopt maps the image over the memory's beginning, which holds the same bytes already.
func (m *guestMemory) adopt(im *image) {
	if im.file == nil || len(im.memory) == 0 || len(im.memory)%pageSize != 0 {
		return
	}
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return
	}
	const fixed = 0x10 // MAP_FIXED
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(unsafe.Pointer(&m.buf[0])), uintptr(len(im.memory)),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|fixed, im.file.Fd(), 0)
	if errno != 0 {
		_ = f.Close()
		copy(m.buf, im.memory) // a failed MAP_FIXED may have unmapped nothing or all; the copy finds out which
		return
	}
	m.private, m.pages.file = true, f
}

// restore puts the written pages back; false: it can't tell which they are.
func (m *guestMemory) restore(im *image) bool {
	if !m.private {
		return false
	}
	base := uint64(uintptr(unsafe.Pointer(&m.buf[0])))
	if !m.pages.noScan && m.scan(base, im) {
		return true
	}
	m.pages.noScan = true
	return m.pages.read(base, m.buf, im)
}

// scan asks the kernel for the stretches that are no longer the file's.
func (m *guestMemory) scan(base uint64, im *image) bool {
	end := base + uint64(len(im.memory))
	for at := base; at < end; {
		a := scanArgs{
			start: at, end: end, vec: uint64(uintptr(unsafe.Pointer(&m.regions[0]))), vecLen: maxRegions,
			inverted: pageFile, mask: pageFile, anyOf: pagePresent | pageSwapped, ret: pageFile,
		}
		a.size = uint64(unsafe.Sizeof(a))
		n, _, errno := syscall.Syscall(syscall.SYS_IOCTL, m.pages.file.Fd(), scanIoctl, uintptr(unsafe.Pointer(&a)))
		if errno != 0 || a.walkEnd <= at {
			return false
		}
		for _, r := range m.regions[:n] {
			copy(m.buf[r.start-base:r.end-base], im.memory[r.start-base:])
		}
		at = a.walkEnd
	}
	return true
}

// read looks at every page's entry: bit 63 and 62 say present or swapped, 61 that it is the file's.
func (p *pages) read(base uint64, buf []byte, im *image) bool {
	n := len(im.memory) / pageSize
	if p.buf == nil {
		p.buf = make([]byte, 8*n)
	}
	if _, err := p.file.ReadAt(p.buf, int64(base/pageSize*8)); err != nil {
		return false
	}
	for i := range n {
		if top := p.buf[8*i+7]; top&0xc0 != 0 && top&0x20 == 0 {
			copy(buf[i*pageSize:(i+1)*pageSize], im.memory[i*pageSize:])
		}
	}
	return true
}
