package double

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/rehearse-go/rehearse/trace"
)

// KeyHeader is where an idempotency key is by common practice
// (draft-ietf-httpapi-idempotency-key-header).
const KeyHeader = "Idempotency-Key"

// A Request is what a server received: a copy that nobody changes.
type Request struct {
	Method string
	Host   string // of the URL, in lower case
	Path   string // "/" where the URL has none
	Query  string // as it was sent, without the question mark
	Header http.Header
	Body   []byte // every byte that came; nil: the request had no body
	Key    string // the idempotency key; empty: none

	// Args is what is compared between attempts: an object of method, host,
	// path, query and body without the key and what is volatile. A JSON or
	// form body is an object in it, another text a string. It becomes canonical
	// where it is recorded.
	Args json.RawMessage
}

// Capture reads the request and its whole body, closes the body, and changes
// nothing else of it, as http.RoundTripper demands. The error is the one with
// which net/http's transport would refuse the request: the body cannot be
// read, or is not as long as its ContentLength says, which is how a body that
// was spent by an earlier attempt shows.
//
// The key is that of the header, else that of the field.
func Capture(req *http.Request, f Fields) (*Request, error) {
	r := &Request{
		Method: req.Method, Host: strings.ToLower(req.URL.Host), Path: req.URL.Path,
		Query: req.URL.RawQuery, Key: req.Header.Get(KeyHeader),
	}
	switch {
	case f.Borrow:
		r.Header = req.Header
	case len(req.Header) > 0:
		r.Header = req.Header.Clone()
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Path == "" {
		r.Path = "/"
	}
	err := r.readBody(req)
	args, key := f.Take(r.args())
	r.Args = args
	if r.Key == "" {
		r.Key = key
	}
	return r, err
}

func (r *Request) readBody(req *http.Request) error {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	if req.ContentLength <= 0 { // a stream, which may never end by itself
		stop := context.AfterFunc(req.Context(), func() { req.Body.Close() })
		defer stop()
	}
	var b bytes.Buffer
	_, err := b.ReadFrom(req.Body)
	req.Body.Close()
	r.Body = b.Bytes()
	if r.Body == nil {
		r.Body = []byte{} // there was a body, and it was empty
	}
	if err == nil && req.ContentLength > 0 && int64(len(r.Body)) != req.ContentLength {
		err = fmt.Errorf("http: ContentLength=%d with Body length %d", req.ContentLength, len(r.Body))
	}
	if err != nil && req.Context().Err() != nil {
		err = context.Cause(req.Context())
	}
	return err
}

// args is the request as one JSON object, its keys in canonical order.
func (r *Request) args() json.RawMessage {
	b := make([]byte, 0, 96+len(r.Body)+len(r.Query)+len(r.Path))
	b = append(b, '{')
	if len(r.Body) > 0 {
		b = append(b, `"body":`...)
		b = append(b, r.bodyArgs()...)
		b = append(b, ',')
	}
	b = appendField(b, "host", r.Host)
	b = append(b, ',')
	b = appendField(b, "method", r.Method)
	b = append(b, ',')
	b = appendField(b, "path", r.Path)
	if r.Query != "" {
		b = append(b, `,"query":`...)
		b = append(b, formArgs(r.Query)...)
	}
	return append(b, '}')
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	b = append(b, `":`...)
	if plain(value) {
		b = append(b, '"')
		b = append(b, value...)
		return append(b, '"')
	}
	return append(b, trace.Marshal(value)...)
}

// plain tells whether a JSON string needs no escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (r *Request) bodyArgs() json.RawMessage {
	if json.Valid(r.Body) {
		return r.Body
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	text := r.Body
	switch {
	case kind == "application/x-www-form-urlencoded":
		return formArgs(string(text))
	case strings.HasPrefix(kind, "multipart/") && params["boundary"] != "":
		// The boundary is drawn afresh for every attempt.
		text = bytes.ReplaceAll(text, []byte(params["boundary"]), []byte("boundary"))
	}
	if !utf8.Valid(text) {
		return trace.Marshal("base64:" + base64.StdEncoding.EncodeToString(text))
	}
	return trace.Marshal(string(text))
}

// formArgs is a query as an object: a name with one value has it as a string,
// one with several as a list.
func formArgs(query string) json.RawMessage {
	values, err := url.ParseQuery(query)
	if err != nil {
		return trace.Marshal(query)
	}
	object := make(map[string]any, len(values))
	for name, v := range values {
		if len(v) == 1 {
			object[name] = v[0]
		} else {
			object[name] = v
		}
	}
	return trace.Marshal(object)
}
