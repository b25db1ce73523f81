//go:build linux && (amd64 || arm64)

package plugins

// This file holds guest memory that is reset by the page: the image after _initialize is mapped privately, the kernel says which pages
// are no longer the file's, and only those are copied back. A page that was written once stays so; now and then those that are written no more are
// given back. Where the kernel can't say, all of it is copied.

import (
	"bytes"
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
	sweepEvery  = 32 // resets between two looks for pages that are written no more: a look costs as much as a few copies
)

// pages tells which pages of this process were written.
type pages struct {
	file   *os.File // /proc/self/pagemap
	fd     uintptr  // file's
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
	resets  int
	told    int // pages the kernel has told of
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
	m.pages.file, m.pages.fd = f, f.Fd()
	if m.private = m.knows(im); !m.private {
		copy(m.buf, im.memory)
	}
}

// knows tries whether the kernel tells of written pages, and of no others: an emulator may tell of another process' memory.
func (m *guestMemory) knows(im *image) bool {
	last := len(im.memory) - 1
	written := im.memory[last] + 1
	m.private = true
	for range 2 { // the second time the page isn't the file's any more, but clean
		m.buf[last], m.told = written, 0
		if !m.restore(im) || m.told != 1 || m.buf[last] != im.memory[last] {
			return false
		}
	}
	return true
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
	return m.read(base, im)
}

// scan asks the kernel for the stretches that are no longer the file's.
func (m *guestMemory) scan(base uint64, im *image) bool {
	end := base + uint64(len(im.memory))
	m.resets++
	sweep := m.resets%sweepEvery == 0
	for at := base; at < end; {
		a := scanArgs{
			start: at, end: end, vec: uint64(uintptr(unsafe.Pointer(&m.regions[0]))), vecLen: maxRegions,
			inverted: pageFile, mask: pageFile, anyOf: pagePresent | pageSwapped, ret: pageFile,
		}
		a.size = uint64(unsafe.Sizeof(a))
		// Raw: it is over in microseconds, and the scheduler needn't know.
		n, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, m.pages.fd, scanIoctl, uintptr(unsafe.Pointer(&a)))
		if errno != 0 || a.walkEnd <= at {
			return false
		}
		for _, r := range m.regions[:n] {
			m.back(int(r.start-base), int(r.end-base), im, sweep)
		}
		at = a.walkEnd
	}
	return true
}

// back makes a stretch of pages what the image has. With sweep, a page that is so already was written by none of late: it is given back to the
// mapping, and isn't told of again before it is written.
func (m *guestMemory) back(from, to int, im *image, sweep bool) {
	m.told += (to - from) / pageSize
	if !sweep {
		copy(m.buf[from:to], im.memory[from:to])
		return
	}
	for at := from; at < to; at += pageSize {
		page := m.buf[at : at+pageSize]
		if bytes.Equal(page, im.memory[at:at+pageSize]) {
			_ = syscall.Madvise(page, syscall.MADV_DONTNEED) // where it can't be given back it stays
			continue
		}
		copy(page, im.memory[at:])
	}
}

// read looks at every page's entry: bit 63 and 62 say present or swapped, 61 that it is the file's.
func (m *guestMemory) read(base uint64, im *image) bool {
	p, n := &m.pages, len(im.memory)/pageSize
	if p.buf == nil {
		p.buf = make([]byte, 8*n)
	}
	if _, err := p.file.ReadAt(p.buf, int64(base/pageSize*8)); err != nil {
		return false
	}
	for i := range n {
		if top := p.buf[8*i+7]; top&0xc0 != 0 && top&0x20 == 0 {
			m.back(i*pageSize, (i+1)*pageSize, im, false)
		}
	}
	return true
}
