package client

// This file holds the receiver's side of a callback: is it from the node, fresh, and whole? It follows Standard Webhooks
// (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md).

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// WebhookTolerance is how far a webhook's timestamp may be from the receiver's clock, either way: an attempt older than that is a replay.
const WebhookTolerance = 5 * time.Minute

// TaskEvent is the body of a callback. It may come more than once: ID is the same each time.
type TaskEvent struct {
	ID        string `json:"-"`         // the webhook-id header: do nothing for one that was seen before
	Type      string `json:"type"`      // as Callback.Event
	Timestamp string `json:"timestamp"` // when it happened
	Data      Task   `json:"data"`
}

// VerifyWebhook checks a callback's headers and body (its bytes as they came) against one of the secrets (whsec_…; several while one is being
// replaced), at time now, and reads it. An error is a reason to answer 401 and to believe nothing of the body.
func VerifyWebhook(h http.Header, body []byte, now time.Time, secrets ...string) (TaskEvent, error) {
	ev := TaskEvent{ID: h.Get("webhook-id")}
	stamp := h.Get("webhook-timestamp")
	given := strings.Fields(h.Get("webhook-signature"))
	if ev.ID == "" || stamp == "" || len(given) == 0 {
		return ev, notGenuine("the headers webhook-id, webhook-timestamp and webhook-signature are required")
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return ev, notGenuine("webhook-timestamp is no number of seconds")
	}
	if off := now.Sub(time.Unix(at, 0)); off > WebhookTolerance || off < -WebhookTolerance {
		return ev, notGenuine("webhook-timestamp is more than " + WebhookTolerance.String() + " off: an old attempt, or a wrong clock")
	}
	good := false
	for _, secret := range secrets {
		want, err := signWebhook(secret, ev.ID, stamp, body)
		if err != nil {
			return ev, err
		}
		for _, sig := range given {
			good = good || hmac.Equal([]byte(sig), []byte(want))
		}
	}
	if !good {
		return ev, notGenuine("no signature of webhook-signature fits")
	}
	if err := json.Unmarshal(body, &ev); err != nil {
		return ev, &Error{Code: CodeInvalid, Detail: "the webhook's body is no event: " + err.Error(), cause: err}
	}
	return ev, nil
}

func notGenuine(detail string) error {
	return &Error{Code: CodeUnauthorized, Detail: detail, Hint: "compare the secret with the one plexus caller add printed, and give the body's bytes as they came"}
}

// signWebhook is `v1,` and the base64 of HMAC-SHA256 over id.timestamp.body, keyed by the bytes that the secret's base64 says.
func signWebhook(secret, id, stamp string, body []byte) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return "", &Error{Code: CodeInvalid, Detail: "a webhook secret is whsec_ and base64", Hint: "take the one plexus caller add printed"}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
