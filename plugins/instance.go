package plugins

// This file holds the instance: one guest with its memory, called again and again, and reset before each call.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"plexus/plugins/internal/meter"
	"plexus/sdk/abi"
)

// image is what every instance of a file looks like after _initialize: the same everywhere, since nothing it sees differs.
type image struct {
	memory  []byte
	globals []uint64
	file    *os.File // the memory once more, to be mapped from; nil where that can't be done
}

// instance belongs to one caller at a time.
type instance struct {
	file    *file
	image   *image
	module  api.Module
	memory  api.Memory
	own     *guestMemory // behind memory; nil: it is the engine's
	gas     api.MutableGlobal
	depth   api.MutableGlobal
	globals []api.MutableGlobal
	exports map[string]api.Function
	stack   [1]uint64
	ctx     callContext // handed to the engine, again and again
	call    *call       // the one in hand
	spoilt  bool        // can't be reset
}

// callContext carries the instance to the host functions; wazero hands it on as it is.
type callContext struct {
	context.Context
	inst *instance
}

type instanceKey struct{}

// Value answers with the instance where the engine has wrapped the context.
func (c *callContext) Value(key any) any {
	if key == (instanceKey{}) {
		return c.inst
	}
	return c.Context.Value(key)
}

func instanceOf(ctx context.Context) *instance {
	if c, ok := ctx.(*callContext); ok {
		return c.inst
	}
	return ctx.Value(instanceKey{}).(*instance)
}

// instantiate makes an instance and runs _initialize within its gas. An error is the file's fault, alike everywhere.
func (f *file) instantiate(ctx context.Context) (*instance, error) {
	inst := &instance{file: f, exports: map[string]api.Function{}, call: &call{kind: callInit, gasLeft: initGas}}
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	ictx := &callContext{inst.withMemory(ctx), inst}
	m, err := f.engine.rt.InstantiateModule(ictx, f.code, c)
	if err != nil {
		return nil, fmt.Errorf("instantiate plugin file: %s", reason(err))
	}
	inst.module, inst.memory = m, m.Memory()
	inst.gas = m.ExportedGlobal(meter.GasGlobal).(api.MutableGlobal)
	inst.depth = m.ExportedGlobal(meter.DepthGlobal).(api.MutableGlobal)
	for _, name := range f.meter.Globals {
		inst.globals = append(inst.globals, m.ExportedGlobal(name).(api.MutableGlobal))
	}
	for _, name := range []string{abi.ExportFold, abi.ExportView, abi.ExportCommand, abi.ExportReact} {
		if fn := m.ExportedFunction(name); fn != nil {
			inst.exports[name] = fn
		}
	}
	if fn := m.ExportedFunction(abi.ExportInit); fn != nil {
		inst.arm(inst.call)
		if _, err := fn.Call(ictx); err != nil {
			return nil, fmt.Errorf("%s of plugin file: %s %q", abi.ExportInit, reason(err), strings.Join(inst.call.logs, ""))
		}
	}
	inst.call = nil
	f.imageMu.Lock()
	defer f.imageMu.Unlock()
	if f.image == nil {
		f.image = inst.takeImage()
	}
	inst.image = f.image
	if inst.own != nil && !f.noPages {
		inst.own.adopt(f.image)
	}
	return inst, nil
}

// withMemory has the engine take a memory of ours, where this system has one.
func (i *instance) withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
		if i.own = newGuestMemory(most); i.own != nil {
			return i.own
		}
		return new(heapMemory)
	}))
}

// heapMemory is a memory of Go's heap, for where ours can't be had.
type heapMemory struct{ buf []byte }

// Reallocate grows the memory, by a copy where it must.
func (h *heapMemory) Reallocate(size uint64) []byte {
	if size > uint64(cap(h.buf)) {
		h.buf = append(make([]byte, 0, size+size/4), h.buf...)
	}
	h.buf = h.buf[:size]
	return h.buf
}

// Free leaves it to the collector.
func (h *heapMemory) Free() { h.buf = nil }

func (i *instance) takeImage() *image {
	im := &image{}
	if b, ok := i.memory.Read(0, i.memory.Size()); ok {
		im.memory = append([]byte(nil), b...)
		im.file = imageFile(im.memory)
	}
	for _, g := range i.globals {
		im.globals = append(im.globals, g.Get())
	}
	return im
}

// reset makes the instance what it was after _initialize; false: it can't be, make a new one.
func (i *instance) reset() bool {
	im := i.image
	if i.spoilt || i.file.meter.Stateful || int(i.memory.Size()) != len(im.memory) {
		return false
	}
	if i.own == nil || !i.own.restore(im) {
		i.memory.Write(0, im.memory)
	}
	for n, g := range i.globals {
		g.Set(im.globals[n])
	}
	return true
}

func (i *instance) close(ctx context.Context) {
	i.spoilt = true
	_ = i.module.Close(ctx) // frees memory; there is nothing to do about an error
}

// arm sets gas and depth for a call.
func (i *instance) arm(c *call) {
	first := min(c.gasLeft, refillGas)
	c.gasLeft -= first
	i.gas.Set(uint64(first))
	i.depth.Set(uint64(abi.Depth))
	i.call = c
}

// outcome is how a call ended. The zero outcome is well.
type outcome struct {
	reason  string // "": well
	trapped bool   // by a trap, gas or a limit; else the guest said no itself
}

// run calls an export on a freshly reset instance. An error is the host's (the store failed), never the guest's.
func (i *instance) run(ctx context.Context, export string, c *call) (outcome, error) {
	fn := i.exports[export]
	if fn == nil {
		return outcome{"the plugin file doesn't export " + export, true}, nil
	}
	budget := c.gasLeft
	i.arm(c)
	i.stack[0] = uint64(len(c.input))
	i.ctx = callContext{ctx, i}
	err := fn.CallWithStack(&i.ctx, i.stack[:])
	c.gasUsed = budget - c.gasLeft - int64(i.gas.Get())
	i.call = nil
	if err != nil {
		return i.failed(err)
	}
	switch code := uint32(i.stack[0]); {
	case code == abi.CodeOK:
		return outcome{}, nil
	case code == abi.CodeRefused && len(c.outputs) == 1 && utf8.Valid(c.outputs[0]) && len(c.outputs[0]) > 0:
		return outcome{reason: cutReason(string(c.outputs[0]))}, nil
	default:
		return outcome{reason: refusal{code: code}.Error()}, nil
	}
}

func (i *instance) failed(err error) (outcome, error) {
	var host hostError
	if errors.As(err, &host) {
		return outcome{}, host.err
	}
	var no refusal
	if errors.As(err, &no) {
		return outcome{reason: no.Error()}, nil
	}
	why := reason(err)
	i.spoilt = i.spoilt || why == engineOverflow
	return outcome{why, true}, nil
}

// trapError is how a host function ends a call: its text is the reason, the same on every replica.
type trapError string

// Error returns the reason.
func (t trapError) Error() string { return string(t) }

// The reasons of ours.
const (
	trapGas   trapError = "out of gas"
	trapDepth trapError = "calls nested too deep"

	engineOverflow = "stack overflow" // the engine's own; its stack has grown to hundreds of megabytes
)

// reason names a trap without addresses or stack.
func reason(err error) string {
	var own trapError
	if errors.As(err, &own) {
		return string(own)
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = strings.TrimSuffix(text, " (recovered by wazero)")
	return strings.TrimPrefix(text, "wasm error: ")
}

// meterModule is the rewriter's import: more gas, or the end.
func meterModule(ctx context.Context, rt wazero.Runtime) error {
	_, err := rt.NewHostModuleBuilder(meter.Prefix).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(refill), nil, nil).Export(meter.Refill).Instantiate(ctx)
	return err
}

func refill(ctx context.Context, m api.Module, _ []uint64) {
	i := instanceOf(ctx)
	if i.module == nil { // the start function, before instantiate could look the globals up
		i.gas = m.ExportedGlobal(meter.GasGlobal).(api.MutableGlobal)
		i.depth = m.ExportedGlobal(meter.DepthGlobal).(api.MutableGlobal)
	}
	if int32(i.depth.Get()) < 0 {
		panic(trapDepth)
	}
	i.refill(int64(i.gas.Get()))
}

// refill puts gas in until it isn't negative, or ends the call.
func (i *instance) refill(gas int64) {
	for gas < 0 {
		if i.call.gasLeft == 0 {
			i.gas.Set(uint64(gas))
			panic(trapGas)
		}
		more := min(i.call.gasLeft, refillGas)
		i.call.gasLeft -= more
		gas += more
	}
	i.gas.Set(uint64(gas))
}

// charge takes gas for a host call's work.
func (i *instance) charge(gas int64) {
	left := int64(i.gas.Get()) - gas
	if left < 0 {
		i.refill(left)
		return
	}
	i.gas.Set(uint64(left))
}
