package plugins

// This file holds the fold in native Go, which guests are measured against: everything around it is the host's own.

import "context"

// Keys is the state as a Reducer has it. A value that was got stays the state's and isn't changed; one that was set is the state's from then on.
type Keys interface {
	Get(key string) (value []byte, ok bool)
	Set(key string, value []byte)
	Delete(key string)
	Next(prefix, after string) (key string, ok bool)
}

// Reducer takes one message in, in native Go; input is what plexus_fold gets. A text refuses the message.
type Reducer func(k Keys, input []byte) (refusal string)

// runner is what folds: an instance of a guest, or a Reducer.
type runner interface {
	run(ctx context.Context, export string, c *call) (outcome, error)
}

// run folds; an error of the store's ends it.
func (r Reducer) run(_ context.Context, _ string, c *call) (out outcome, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case trapError:
			out = outcome{string(e), true}
		case hostError:
			err = e.err
		default:
			panic(e)
		}
	}()
	return outcome{reason: cutReason(r(keys{c.state}, c.input))}, nil
}

// keys is a call's state as Keys.
type keys struct{ state stateAccess }

func (k keys) Get(key string) ([]byte, bool) {
	v, ok, err := k.state.get(key)
	must(err)
	return v, ok
}

func (k keys) Set(key string, value []byte) { must(k.state.set(key, value)) }

func (k keys) Delete(key string) { must(k.state.del(key)) }

func (k keys) Next(prefix, after string) (string, bool) {
	key, ok, err := k.state.next(prefix, after)
	must(err)
	return key, ok
}
