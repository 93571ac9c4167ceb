package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"
)

// BodyLimit is the size in bytes up to which a body is recorded by
// [Recorder.Transport]. Of a longer one, and of one that is neither JSON nor
// UTF-8 text, only size and digest are.
const BodyLimit = 64 << 10

// Transport returns next as a transport whose round trips r writes down, each
// as a call of tool. Nil is [http.DefaultTransport]. An empty tool stands for
// the request's method, host and path: "POST api.example.com/v1/payments".
//
// Requests and responses pass unchanged. Arguments are method, host, path,
// query and body of the request; a body is read before it is sent, so it is
// not for requests that stream. No header is recorded but that of [Recorder.Credential]. The idempotency key
// is the header Idempotency-Key, else the field [Recorder.Key] of a JSON body.
// Their paths for [Recorder.Keep] are "method", "host", [KeepPath], "query.page",
// "body.city"; those of a response's body begin with its own fields.
//
// The class follows from the status as [ClassifyStatus] has it, the hint from
// the headers as [ParseRetryAfter] has it. The answer comes when the body of
// the response ends, is closed or fails: until then the caller has no answer.
// A redirect that an [http.Client] follows is a call of its own.
func (r *Recorder) Transport(tool string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{r, tool, next}
}

type transport struct {
	r    *Recorder
	tool string
	next http.RoundTripper
}

// RoundTrip keeps the contract of http.RoundTripper: it leaves the request as
// it is, apart from consuming and closing its body.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil {
		return t.next.RoundTrip(req) // which knows what to say of it: no tool can be reached
	}
	body, err := readBody(req)
	if err != nil {
		return nil, err // the tool has not been reached: there is no call to record
	}
	p := t.r.Call(req.Context(), t.r.httpCall(t.tool, req, body))
	returned := false
	defer func() {
		if !returned {
			p.Answer(Outcome{Class: Unknown}, nil, errEnded)
		}
	}()
	resp, err := t.next.RoundTrip(withBody(req, body))
	returned = true
	switch {
	case err != nil:
		p.Answer(t.r.classify(err), nil, err)
		return resp, err
	case resp == nil:
		p.Answer(Outcome{Class: Unknown}, nil, errNoResponse)
		return nil, nil
	}
	return t.r.answerLater(p, resp), nil
}

var errNoResponse = errors.New("the transport returned neither a response nor an error")

// readBody reads and closes the request's body; nil: it has none.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
}

// withBody returns a copy of the request that holds body again. ContentLength
// and GetBody stay as they were.
func withBody(req *http.Request, body []byte) *http.Request {
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	again := req.WithContext(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return again
}

// A request is what is recorded of an HTTP request.
type request struct {
	Method string          `json:"method"`
	Host   string          `json:"host"`
	Path   string          `json:"path"`
	Query  any             `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

func (r *Recorder) httpCall(tool string, req *http.Request, body []byte) Call {
	args := request{Method: req.Method, Host: req.URL.Host, Path: req.URL.EscapedPath(), Query: queryOf(req.URL)}
	if args.Method == "" {
		args.Method = http.MethodGet
	}
	if tool == "" {
		tool = args.Method + " " + args.Host + r.pathText(args.Path)
	}
	canon, key := takeKey(Canonical(body), r.Key)
	canon, cred := takeKey(canon, r.Credential)
	args.Body = bodyValue(canon, body)
	if header := strings.Trim(req.Header.Get("Idempotency-Key"), `"`); header != "" {
		key = header // a structured field is in quotes, and most clients leave them out
	}
	if header := Bearer(req.Header, r.Credential); header != "" {
		cred = header
	}
	return Call{Tool: tool, Args: Marshal(args), Key: key, Credential: cred}
}

// Bearer is the credential in the header of that name, without the scheme in
// front of it (RFC 9110 section 11.4); empty: there is none.
func Bearer(h http.Header, name string) string {
	if name == "" {
		return ""
	}
	value := h.Get(name)
	if _, token, ok := strings.Cut(value, " "); ok {
		return token
	}
	return value
}

// pathText is the path as a tool's name shows it: paths hold names of people
// and accounts.
func (r *Recorder) pathText(path string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if hidden := r.hideText(KeepPath, path); hidden != path {
		return "/" + hidden
	}
	return path
}

// queryOf is the query as an object: a text where a name stands once, else the
// list of its texts. A query that cannot be read is a text as a whole.
func queryOf(u *url.URL) any {
	values, err := url.ParseQuery(u.RawQuery)
	switch {
	case u.RawQuery == "":
		return nil
	case err != nil:
		return u.RawQuery
	}
	query := make(map[string]any, len(values))
	for name, all := range values {
		query[name] = all
		if len(all) == 1 {
			query[name] = all[0]
		}
	}
	return query
}

// bodyValue is what is recorded of a body, given its canonical form.
func bodyValue(canon json.RawMessage, body []byte) json.RawMessage {
	if len(canon) > BodyLimit || !utf8.Valid(body) {
		return quoteJSON(fmt.Sprintf("(%d bytes, sha256 %x)", len(body), sha256.Sum256(body)))
	}
	return canon
}

// answerLater returns a copy of the response whose body records the answer
// when it ends.
func (r *Recorder) answerLater(p Pending, resp *http.Response) *http.Response {
	o := classifyResponse(resp, hintOf(resp.Header, r.wall()))
	if resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		p.Answer(o, nil, nil)
		return resp
	}
	again := *resp
	again.Body = &answerBody{ReadCloser: resp.Body, r: r, p: p, outcome: o}
	return &again
}

// An answerBody notes what the caller reads of a response's body.
type answerBody struct {
	io.ReadCloser
	r       *Recorder
	p       Pending
	outcome Outcome

	mu   sync.Mutex // a body may be closed while it is read
	done bool
	size int
	read []byte // up to one byte more than BodyLimit
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(p[:n])
	switch {
	case err == io.EOF:
		b.end(b.outcome, nil)
	case err != nil:
		b.end(b.broken(err), err)
	}
	return n, err
}

func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(b.outcome, nil)
	return err
}

func (b *answerBody) note(p []byte) {
	b.size += len(p)
	room := BodyLimit + 1 - len(b.read)
	b.read = append(b.read, p[:min(len(p), room)]...)
}

// end records the answer, once.
func (b *answerBody) end(o Outcome, err error) {
	if b.done {
		return
	}
	b.done = true
	b.p.Answer(o, b.result(), err)
	b.read = nil
}

func (b *answerBody) result() json.RawMessage {
	if b.size > BodyLimit || !utf8.Valid(b.read) {
		return quoteJSON(fmt.Sprintf("(%d bytes, the first %d with sha256 %x)", b.size, len(b.read), sha256.Sum256(b.read)))
	}
	return Canonical(b.read)
}

// broken is the outcome of a body that fails: what the status promised has not
// come. An error that says nothing of itself means that what came is unreadable.
func (b *answerBody) broken(err error) Outcome {
	o := b.r.classify(err)
	if o.Class == Unknown || o.Class == OK {
		o.Class = Malformed
	}
	if o.Code == "" {
		o.Code = b.outcome.Code
	}
	if o.Hint == 0 {
		o.Hint, o.Slack = b.outcome.Hint, b.outcome.Slack
	}
	return o
}
