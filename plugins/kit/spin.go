package kit

// This file holds the spinner: a guest that does nothing but burn its gas.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plexus/graph"
	"plexus/graph/store"
	"plexus/plugins"
	"plexus/sdk/abi"
)

// spinModule is `plexus_fold` as an endless loop, with the marker and a memory of one page:
//
//	(module (memory (export "memory") 1)
//	  (func (export "plexus_fold") (param i32) (result i32) (loop (br 0)) (i32.const 0))
//	  (func (export "plexus_abi_1")))
const spinModule = "\x00asm\x01\x00\x00\x00" +
	"\x01\x09\x02\x60\x01\x7f\x01\x7f\x60\x00\x00" + // types
	"\x03\x03\x02\x00\x01" + // functions
	"\x05\x03\x01\x00\x01" + // memory
	"\x07\x27\x03\x06memory\x02\x00\x0bplexus_fold\x00\x00\x0cplexus_abi_1\x00\x01" +
	"\x0a\x0e\x02\x09\x00\x03\x40\x0c\x00\x0b\x41\x00\x0b\x02\x00\x0b" // code

// Spinner folds messages with a guest that never ends by itself.
type Spinner struct {
	bench    *plugins.Workbench
	log      *graph.Log
	messages int
}

// NewSpinner makes a Space of so many messages.
func NewSpinner(ctx context.Context, messages int) (*Spinner, error) {
	bench, err := plugins.NewWorkbench(ctx, spinFile(abi.GasCap), plugins.Compiled)
	if err != nil {
		return nil, err
	}
	s := &Spinner{bench: bench, messages: messages}
	if s.log, err = spinLog(ctx, messages); err != nil {
		return nil, errors.Join(err, bench.Close(ctx))
	}
	return s, nil
}

// spinFile is the module with its manifest, which asks for so much gas a fold.
func spinFile(gas int64) []byte {
	manifest := fmt.Sprintf(`{"abi":1,"plugins":[{"name":"spin","version":"1","accepts":["spin"],"limits":{"gas":%d}}]}`, gas)
	return plugins.AppendSection([]byte(spinModule), abi.SectionManifest, []byte(manifest))
}

func spinLog(ctx context.Context, messages int) (*graph.Log, error) {
	s, err := newScene(nil)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		if err := s.say(TraceMessage{ID: fmt.Sprint("m", i), By: "n", Type: "spin", Content: []byte("{}")}); err != nil {
			return nil, err
		}
	}
	log, err := graph.OpenLog(store.Memory(), graph.LogOptions{Now: sceneClock, Rights: s.stage})
	if err != nil {
		return nil, err
	}
	space, err := log.Create(ctx, s.genesis)
	if err == nil {
		err = add(ctx, space, s.entries)
	}
	return log, err
}

// Burn folds all messages, each until its gas is gone, and returns what they burned together. It is called once.
func (s *Spinner) Burn(ctx context.Context) (gas int64, err error) {
	spent := 0
	try, err := s.bench.Try(ctx, s.log, plugins.TryOptions{Observer: func(f plugins.Folded) {
		if f.Trapped && strings.Contains(f.Reason, "gas") {
			spent++
		}
	}})
	if err != nil {
		return 0, err
	}
	if err := try.Settle(ctx); err != nil {
		return 0, errors.Join(err, try.Close())
	}
	if spent != s.messages {
		err = fmt.Errorf("%d of %d messages ran out of gas", spent, s.messages)
	}
	return try.Gas(), errors.Join(err, try.Close())
}

// Close frees what was made.
func (s *Spinner) Close(ctx context.Context) error {
	return errors.Join(s.log.Close(), s.bench.Close(ctx))
}
