package plugins

// This file holds the guest's WASI: enough for language runtimes to start, and nothing by which two machines could differ. The
// clock stands at the message's time, randomness is drawn from its ID, there are no files, arguments or
// environment; standard output is the log; exit is a trap; all else answers "not supported".

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	wasiName  = "wasi_snapshot_preview1"
	wasiBadf  = 8
	wasiNosys = 52
	maxVector = 64 // buffers of one fd_write
)

type wasiFunction struct {
	params   []api.ValueType
	noreturn bool
	run      func(i *instance, m api.Memory, s []uint64) uint32
}

// wasiFunctions are all of preview 1: what isn't supported must exist to be linked.
var wasiFunctions = map[string]wasiFunction{
	"args_get":                {params: i32s(2), run: zero},
	"args_sizes_get":          {params: i32s(2), run: twoZeros},
	"environ_get":             {params: i32s(2), run: zero},
	"environ_sizes_get":       {params: i32s(2), run: twoZeros},
	"clock_res_get":           {params: i32s(2), run: clockRes},
	"clock_time_get":          {params: []api.ValueType{pI32, pI64, pI32}, run: clockTime},
	"fd_advise":               {params: []api.ValueType{pI32, pI64, pI64, pI32}},
	"fd_allocate":             {params: []api.ValueType{pI32, pI64, pI64}},
	"fd_close":                {params: i32s(1)},
	"fd_datasync":             {params: i32s(1)},
	"fd_fdstat_get":           {params: i32s(2), run: fdstat},
	"fd_fdstat_set_flags":     {params: i32s(2)},
	"fd_fdstat_set_rights":    {params: []api.ValueType{pI32, pI64, pI64}},
	"fd_filestat_get":         {params: i32s(2)},
	"fd_filestat_set_size":    {params: []api.ValueType{pI32, pI64}},
	"fd_filestat_set_times":   {params: []api.ValueType{pI32, pI64, pI64, pI32}},
	"fd_pread":                {params: []api.ValueType{pI32, pI32, pI32, pI64, pI32}},
	"fd_prestat_get":          {params: i32s(2), run: badf},
	"fd_prestat_dir_name":     {params: i32s(3), run: badf},
	"fd_pwrite":               {params: []api.ValueType{pI32, pI32, pI32, pI64, pI32}},
	"fd_read":                 {params: i32s(4), run: badf},
	"fd_readdir":              {params: []api.ValueType{pI32, pI32, pI32, pI64, pI32}},
	"fd_renumber":             {params: i32s(2)},
	"fd_seek":                 {params: []api.ValueType{pI32, pI64, pI32, pI32}},
	"fd_sync":                 {params: i32s(1)},
	"fd_tell":                 {params: i32s(2)},
	"fd_write":                {params: i32s(4), run: fdWrite},
	"path_create_directory":   {params: i32s(3)},
	"path_filestat_get":       {params: i32s(5)},
	"path_filestat_set_times": {params: []api.ValueType{pI32, pI32, pI32, pI32, pI64, pI64, pI32}},
	"path_link":               {params: i32s(7)},
	"path_open":               {params: []api.ValueType{pI32, pI32, pI32, pI32, pI32, pI64, pI64, pI32, pI32}},
	"path_readlink":           {params: i32s(6)},
	"path_remove_directory":   {params: i32s(3)},
	"path_rename":             {params: i32s(6)},
	"path_symlink":            {params: i32s(5)},
	"path_unlink_file":        {params: i32s(3)},
	"poll_oneoff":             {params: i32s(4), run: pollOneoff},
	"proc_exit":               {params: i32s(1), noreturn: true, run: procExit},
	"proc_raise":              {params: i32s(1)},
	"random_get":              {params: i32s(2), run: randomGet},
	"sched_yield":             {run: zero},
	"sock_accept":             {params: i32s(3)},
	"sock_recv":               {params: i32s(6)},
	"sock_send":               {params: i32s(5)},
	"sock_shutdown":           {params: i32s(2)},
}

func wasiModule(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(wasiName)
	for name, f := range wasiFunctions {
		results := hostI32
		if f.noreturn {
			results = none
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, s []uint64) {
			i := instanceOf(ctx)
			errno := uint32(wasiNosys)
			if i.module != nil {
				i.charge(gasHostCall)
			}
			if f.run != nil {
				errno = f.run(i, m.Memory(), s)
			}
			if len(results) > 0 {
				s[0] = uint64(errno)
			}
		}), f.params, results).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// put writes guest memory; out of bounds is a trap.
func put(m api.Memory, p uint64, b []byte) {
	if !m.Write(uint32(p), b) {
		panic(trapError("a WASI call was given memory out of bounds"))
	}
}

func zero(*instance, api.Memory, []uint64) uint32 { return 0 }
func badf(*instance, api.Memory, []uint64) uint32 { return wasiBadf }

func twoZeros(_ *instance, m api.Memory, s []uint64) uint32 {
	put(m, s[0], make([]byte, 4))
	put(m, s[1], make([]byte, 4))
	return 0
}

func clockRes(_ *instance, m api.Memory, s []uint64) uint32 {
	put(m, s[1], binary.LittleEndian.AppendUint64(nil, 1000))
	return 0
}

// clockTime doesn't move within a call.
func clockTime(i *instance, m api.Memory, s []uint64) uint32 {
	micros := max(i.call.time, 1) // Go's runtime takes zero for a broken clock
	put(m, s[2], binary.LittleEndian.AppendUint64(nil, uint64(micros)*1000))
	return 0
}

// fdstat says that standard output and error are character devices.
func fdstat(_ *instance, m api.Memory, s []uint64) uint32 {
	if fd := uint32(s[0]); fd > 2 {
		return wasiBadf
	}
	b := make([]byte, 24)
	b[0] = 2
	put(m, s[1], b)
	return 0
}

func fdWrite(i *instance, m api.Memory, s []uint64) uint32 {
	if fd := uint32(s[0]); fd != 1 && fd != 2 {
		return wasiBadf
	}
	if uint32(s[2]) > maxVector {
		panic(trapError(fmt.Sprintf("fd_write of more than %d buffers", maxVector)))
	}
	total := uint32(0)
	for n := range uint32(s[2]) {
		v, ok := m.Read(uint32(s[1])+8*n, 8)
		if !ok {
			panic(trapError("a WASI call was given memory out of bounds"))
		}
		p, size := binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:])
		b, ok := m.Read(p, size)
		if !ok {
			panic(trapError("a WASI call was given memory out of bounds"))
		}
		if i.module != nil {
			i.charge(int64(size) / bytesPerGas)
		}
		i.call.log(b)
		total += size
	}
	put(m, s[3], binary.LittleEndian.AppendUint32(nil, total))
	return 0
}

// pollOneoff lets every wait for the clock end at once; there is nothing else to wait for. Go's runtime sleeps before it prints a panic.
func pollOneoff(_ *instance, m api.Memory, s []uint64) uint32 {
	n := uint32(s[2])
	if n == 0 || n > maxVector {
		return wasiNosys
	}
	for k := range n {
		sub, ok := m.Read(uint32(s[0])+48*k, 48)
		if !ok {
			panic(trapError("a WASI call was given memory out of bounds"))
		}
		if sub[8] != 0 {
			return wasiNosys
		}
		event := make([]byte, 32)
		copy(event, sub[:8])
		put(m, uint64(uint32(s[1])+32*k), event)
	}
	put(m, s[3], binary.LittleEndian.AppendUint32(nil, n))
	return 0
}

func procExit(_ *instance, _ api.Memory, s []uint64) uint32 {
	panic(trapError(fmt.Sprintf("exited with code %d", uint32(s[0]))))
}

// randomGet is splitmix64 from the call's seed: the same on every replica.
func randomGet(i *instance, m api.Memory, s []uint64) uint32 {
	n := uint32(s[1])
	if i.module != nil {
		i.charge(int64(n))
	}
	if n > m.Size() {
		panic(trapError("a WASI call was given memory out of bounds"))
	}
	b := make([]byte, 0, n+8)
	for uint32(len(b)) < n {
		i.call.seed += 0x9e3779b97f4a7c15
		z := i.call.seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b = binary.LittleEndian.AppendUint64(b, z^z>>31)
	}
	put(m, s[0], b[:n])
	return 0
}
