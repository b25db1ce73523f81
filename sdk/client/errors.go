package client

// This file holds the error every call returns, and the questions a caller asks of it.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The codes of errors: the daemon's (protocol.md, names of errors), and CodeUnreachable, which is the client's own.
const (
	CodeNotFound     = "not_found"
	CodeInvalid      = "invalid_input"
	CodeForbidden    = "forbidden"
	CodeUnauthorized = "unauthorized"
	CodeConflict     = "conflict"
	CodeTooLarge     = "too_large"
	CodeUnavailable  = "unavailable"
	CodeTimeout      = "timeout"
	CodeRateLimited  = "rate_limited"
	CodeInternal     = "internal"
	CodeUnreachable  = "unreachable"
)

// Error is a call that failed. Detail is for a person, Code for a program, Hint says what to do next.
type Error struct {
	Status int    // HTTP status; 0 where no answer came
	Code   string // one of the Code constants
	Detail string
	Hint   string

	RetryAfter time.Duration // when to come again, where the daemon said so; else 0

	cause error
}

// Error is the detail.
func (e *Error) Error() string { return e.Detail }

// Unwrap returns what lies beneath a connection that failed.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, &Error{Code: …}) compare codes.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Status == 0 && t.Detail == ""
}

// IsCode reports whether err is an *Error of that code.
func IsCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// IsUnreachable reports whether no daemon answered, or the connection was lost before it did.
func IsUnreachable(err error) bool { return IsCode(err, CodeUnreachable) }

// IsNotFound reports whether what was asked for isn't here.
func IsNotFound(err error) bool { return IsCode(err, CodeNotFound) }

// IsInvalid reports whether the input breaks a rule and always will.
func IsInvalid(err error) bool { return IsCode(err, CodeInvalid) || IsCode(err, CodeTooLarge) }

// IsConflict reports whether something else is true already.
func IsConflict(err error) bool { return IsCode(err, CodeConflict) }

// IsAuth reports whether the caller isn't known, or isn't permitted.
func IsAuth(err error) bool { return IsCode(err, CodeUnauthorized) || IsCode(err, CodeForbidden) }

// problem reads an error's answer: an RFC 9457 body, {"detail": "…"} alone, or plain text.
func problem(resp *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	var p Problem
	if err := json.Unmarshal(raw, &p); err != nil {
		p = Problem{Detail: strings.TrimSpace(string(raw))}
	}
	e := &Error{Status: resp.StatusCode, Code: p.Code, Detail: p.Detail, Hint: p.Hint}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	if e.Code == "" {
		e.Code = codeOf(resp.StatusCode)
	}
	if e.Detail == "" {
		e.Detail = fmt.Sprintf("the daemon answered %s", resp.Status)
	}
	return e
}

func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return CodeUnauthorized
	case http.StatusForbidden:
		return CodeForbidden
	case http.StatusNotFound:
		return CodeNotFound
	case http.StatusConflict:
		return CodeConflict
	case http.StatusRequestEntityTooLarge:
		return CodeTooLarge
	case http.StatusTooManyRequests:
		return CodeRateLimited
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return CodeUnavailable
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return CodeTimeout
	}
	if status/100 == 4 {
		return CodeInvalid
	}
	return CodeInternal
}
