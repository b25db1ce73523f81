// Command shop plays a shop whose web backend asks agents for work: over plain HTTP, with a caller's token, called back by signed webhooks.
package main

import (
	"context"
	"strings"

	"plexus/examples/internal/fleet"
	"plexus/sdk/client"
)

func main() {
	fleet.Main("Shop: a web backend that is no agent has a warehouse's agent pack orders, and is called back.", play)
}

// story is what the acts share.
type story struct {
	*fleet.Stage
	counter, warehouse *fleet.Daemon
	packer             *fleet.Node
	space              string
	shop               *backend
}

func play(ctx context.Context, s *fleet.Stage) {
	t := &story{Stage: s}
	t.open(ctx)
	t.callback(ctx)
	t.refuse(ctx)
	t.offline(ctx)
	t.cancel(ctx)
}

func (t *story) open(ctx context.Context) {
	t.Act("1. A machine at the counter, one in the warehouse, and the shop's web backend")
	t.Flags = []string{"--callback-net", "127.0.0.0/8"} // webhooks go to the Internet alone, unless somebody says so
	machines := t.Network(ctx, "counter", "storage")
	t.counter, t.warehouse = machines[0], machines[1]
	owner := t.counter.Node(ctx, "owner", "human")
	t.packer = t.warehouse.Node(ctx, "packer", "agent")
	owner.Enter(ctx, "orders", "I sell")
	t.space = t.packer.Enter(ctx, "orders", "I pack")
	t.Same(ctx, t.space, "task", "capability")
	t.packer.Do(ctx, t.space, "capability", "declare", fleet.Map{
		"type": "pack", "name": "Packing",
		"input_schema":  fleet.Map{"type": "object", "required": []string{"order"}, "properties": fleet.Map{"order": fleet.Map{"type": "integer", "minimum": 1}}},
		"output_schema": fleet.Map{"type": "object", "required": []string{"parcel"}},
	})
	t.Tell("packer", "an agent on storage, declares that it packs: {order: a number} in, {parcel} out")
	t.Same(ctx, t.space, "capability")
	made, err := t.counter.Admin.AddCaller(ctx, client.CallerCreate{Name: "shop", Spaces: []string{t.space}, Types: []string{"pack"}, RatePerMin: 600})
	t.Fatal(err, "make a caller")
	t.Tell("owner", "plexus caller add shop --space orders --type pack: a token and a webhook secret, shown this once")
	t.shop, err = open(t.counter.Admin.URL, made)
	t.Fatal(err, "open the shop")
	t.Finally(func() { _ = t.shop.close() })
	t.Tell("shop", "a web server that knows HTTP, its token, and nothing of Spaces or Nodes")
}

// callback has one order packed, with a receiver that is too busy at first.
func (t *story) callback(ctx context.Context) {
	t.Act("2. An order, and a signed webhook that comes until it is taken")
	task, err := t.shop.order(ctx, `{"order": 17}`, client.ModeCallback, "order-17")
	t.Fatal(err, "order 17")
	t.Tell("shop", "POST /p2a/tasks {order: 17}, mode callback: answered at once, %s", task.Status)
	again, err := t.shop.order(ctx, `{"order": 17}`, client.ModeCallback, "order-17")
	t.Fatal(err, "order 17 again")
	t.Check(again.ID == task.ID, "asked again with the same Idempotency-Key, it is the same task")
	t.shop.busy(1)
	t.Tell("shop", "is too busy to answer the first time it is called")
	t.pack(ctx, task.ID, "P-17")
	event, err := t.shop.told(ctx)
	t.Fatal(err, "order 17")
	t.Check(event.Type == "task.completed" && event.Data.ID == task.ID && strings.Contains(string(event.Data.Result), "P-17"),
		"webhook %s, signature verified: %s", event.Type, event.Data.Result)
	var state client.Task
	t.Until(ctx, "the delivery is noted", func() bool {
		state, err = t.shop.Tasks.Poll(ctx, task.ID)
		t.Fatal(err, "poll order 17")
		return len(state.Callbacks) == 1 && state.Callbacks[0].State == client.CallbackDelivered
	})
	t.Check(state.Callbacks[0].Attempts == 2 && state.Callbacks[0].ID == event.ID, "it was tried twice, both times with the same webhook-id: who keeps the IDs does nothing twice")
	t.Check(state.ResultFits != nil && *state.ResultFits, "the result fits what the packer declared")
}

func (t *story) refuse(ctx context.Context) {
	t.Act("3. What isn't taken")
	_, err := t.shop.order(ctx, `{"order": "seventeen"}`, client.ModeAsync, "")
	t.Check(client.IsInvalid(err), "a payload that the packer can't take is refused before anybody sees it: %v", err)
	_, err = t.shop.Tasks.Submit(ctx, client.TaskRequest{TaskType: "fire_the_boss"})
	t.Check(client.IsCode(err, client.CodeForbidden), "a kind of task that the token isn't for: %v", err)
	status, err := t.shop.forge(ctx)
	t.Fatal(err, "forge a webhook")
	t.Check(status == 401, "a webhook that nobody signed: the shop answers %d", status)
}

// offline has the shop go on selling while the warehouse is out of reach.
func (t *story) offline(ctx context.Context) {
	t.Act("4. The warehouse's link is down, and the shop goes on selling")
	t.warehouse.Offline(ctx, true)
	t.Tell("storage", "is cut off")
	task, err := t.shop.order(ctx, `{"order": 18}`, client.ModeHybrid, "order-18")
	t.Fatal(err, "order 18")
	t.Check(task.Status == "pending", "POST /p2a/tasks {order: 18}, mode hybrid: not done within its second, %s; it will be called back", task.Status)
	t.warehouse.Offline(ctx, false)
	t.Tell("storage", "is back")
	t.pack(ctx, task.ID, "P-18")
	event, err := t.shop.told(ctx)
	t.Fatal(err, "order 18")
	t.Check(event.Type == "task.completed" && event.Data.ID == task.ID, "webhook %s: %s", event.Type, event.Data.Result)
}

func (t *story) cancel(ctx context.Context) {
	t.Act("5. Called off")
	task, err := t.shop.order(ctx, `{"order": 19}`, client.ModeAsync, "order-19")
	t.Fatal(err, "order 19")
	gone, err := t.shop.Tasks.Cancel(ctx, task.ID, "the customer changed her mind")
	t.Fatal(err, "cancel order 19")
	t.Check(gone.Final, "order 19 is called off before anybody took it: %s", gone.Status)
	page, err := t.shop.Tasks.Tasks(ctx, client.TaskQuery{})
	t.Fatal(err, "list the tasks")
	t.Check(len(page.Tasks) == 3, "GET /p2a/tasks lists the shop's %d orders", len(page.Tasks))
	t.Same(ctx, t.space, "task", "capability")
}

// pack is the agent's part: it finds the task in its inbox, takes it, and hands in the parcel.
func (t *story) pack(ctx context.Context, task, parcel string) {
	t.Until(ctx, "the packer has it in its inbox", func() bool {
		for _, m := range t.packer.Inbox(ctx) {
			if m.ID == task {
				return true
			}
		}
		return false
	})
	for _, step := range []string{"confirm", "start"} {
		t.packer.Do(ctx, t.space, "task", step, fleet.Map{"task": task})
	}
	t.packer.Do(ctx, t.space, "task", "complete", fleet.Map{"task": task, "result": fleet.Map{"parcel": parcel}})
	t.Tell("packer", "finds it in its inbox, takes it, packs it: parcel %s", parcel)
}
