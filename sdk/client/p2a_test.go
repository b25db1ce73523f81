package client_test

// This file tests the receiver's side of callbacks: against the vector of Standard Webhooks' own library, and against that library.

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"plexus/sdk/client"
)

const vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// vector is the one of the library's tests.
func vector() (http.Header, []byte, time.Time) {
	h := http.Header{}
	h.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	return h, []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0)
}

func TestVerifyWebhook(t *testing.T) {
	const other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	for _, c := range []struct {
		name    string
		change  func(http.Header)
		body    string
		off     time.Duration
		secrets []string
		says    string // "": it is genuine
	}{
		{name: "the vector"},
		{name: "at the tolerance's end", off: client.WebhookTolerance},
		{name: "at its beginning", off: -client.WebhookTolerance},
		{name: "too old", off: client.WebhookTolerance + 1, says: "off"},
		{name: "too new", off: -client.WebhookTolerance - 1, says: "off"},
		{name: "the newer of two secrets", secrets: []string{other, vectorSecret}},
		{name: "a secret without its prefix", secrets: []string{strings.TrimPrefix(vectorSecret, "whsec_")}},
		{name: "another secret", secrets: []string{other}, says: "no signature"},
		{name: "no secret", secrets: []string{}, says: "no signature"},
		{name: "a secret that is none", secrets: []string{"whsec_%"}, says: "base64"},
		{name: "an empty secret", secrets: []string{"whsec_"}, says: "base64"},
		{name: "another body", body: `{"test": 2432232315}`, says: "no signature"},
		{name: "another id", change: func(h http.Header) { h.Set("webhook-id", "msg_x") }, says: "no signature"},
		{name: "another time", change: func(h http.Header) { h.Set("webhook-timestamp", "1614265331") }, says: "no signature"},
		{name: "no id", change: func(h http.Header) { h.Del("webhook-id") }, says: "required"},
		{name: "no time", change: func(h http.Header) { h.Del("webhook-timestamp") }, says: "required"},
		{name: "no signature", change: func(h http.Header) { h.Del("webhook-signature") }, says: "required"},
		{name: "a time that is none", change: func(h http.Header) { h.Set("webhook-timestamp", "now") }, says: "seconds"},
		{name: "one good signature of three", change: func(h http.Header) {
			h.Set("webhook-signature", "v1a,AAAA v1,AAAA "+h.Get("webhook-signature"))
		}},
		{name: "another version", change: func(h http.Header) {
			h.Set("webhook-signature", "v2"+strings.TrimPrefix(h.Get("webhook-signature"), "v1"))
		}, says: "no signature"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, body, now := vector()
			if c.change != nil {
				c.change(h)
			}
			if c.body != "" {
				body = []byte(c.body)
			}
			if c.secrets == nil {
				c.secrets = []string{vectorSecret}
			}
			ev, err := client.VerifyWebhook(h, body, now.Add(c.off), c.secrets...)
			switch {
			case c.says == "" && (err != nil || ev.ID != "msg_p5jXN8AQM9LWM0D4loKWxJek"):
				t.Errorf("%+v, %v", ev, err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestVerifyWebhookTakesWhatTheLibrarySigns(t *testing.T) {
	wh, err := standardwebhooks.NewWebhook(vectorSecret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, body := range []string{`{"type":"task.completed","timestamp":"t","data":{"id":"x","status":"completed"}}`, `{}`} {
		sig, err := wh.Sign("evt_1", now, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set("webhook-id", "evt_1")
		h.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		h.Set("webhook-signature", sig)
		ev, err := client.VerifyWebhook(h, []byte(body), now, vectorSecret)
		if err != nil || ev.ID != "evt_1" || len(body) > 2 && (ev.Type != "task.completed" || ev.Data.ID != "x") {
			t.Errorf("%s: %+v, %v", body, ev, err)
		}
		if _, err := client.VerifyWebhook(h, []byte(body+" "), now, vectorSecret); !client.IsAuth(err) {
			t.Errorf("another body: %v", err)
		}
	}
	// Signed, but no event.
	sig, err := wh.Sign("evt_1", now, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Webhook-Id": {"evt_1"}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {sig}}
	if _, err := client.VerifyWebhook(h, []byte("x"), now, vectorSecret); !client.IsInvalid(err) {
		t.Errorf("no event: %v", err)
	}
}

func FuzzVerifyWebhook(f *testing.F) {
	h, body, _ := vector()
	f.Add(h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature"), body)
	f.Add("", "-1", " , v1,", []byte("{"))
	f.Fuzz(func(t *testing.T, id, stamp, sig string, body []byte) {
		h := http.Header{}
		h.Set("webhook-id", id)
		h.Set("webhook-timestamp", stamp)
		h.Set("webhook-signature", sig)
		_, err := client.VerifyWebhook(h, body, time.Unix(1614265330, 0), vectorSecret)
		if err != nil {
			return
		}
		wh, _ := standardwebhooks.NewWebhook(vectorSecret)
		if err := wh.VerifyIgnoringTimestamp(body, h); err != nil {
			t.Errorf("we take what the library refuses: %v", err)
		}
	})
}
