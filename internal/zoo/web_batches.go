package zoo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/rehearse-go/rehearse/faultsim"
)

// Subjects of a store over HTTP that answers for each record.
func webBatches() []Specimen {
	return []Specimen{
		{"http-multi-status-is-a-success", "A status of 207 is below 300, and the records in its body are not looked at.",
			"F058", "batch-retry", onWire(putsRest, readsWhole)},
	}
}

// A line of the store's answer.
type putLine struct {
	ID     string `json:"id"`
	Status int    `json:"status"`
}

// onWire plugs in a program that puts the records through a client of the store.
func onWire(put func(context.Context, store, []record) error, read func([]record, *http.Response) ([]result, error)) faultsim.Adapter {
	a := putting(put)
	a.Subject = func(s *faultsim.Stage) faultsim.Action {
		client := s.Client(faultsim.Route{Tool: "store", Method: http.MethodPost, Hints: []faultsim.HintForm{}, Batch: &faultsim.RouteBatch{Items: idsOf, Answer: multiStatus}})
		call := func(ctx context.Context, batch []record) ([]result, error) {
			body, err := json.Marshal(batch)
			if err != nil {
				return nil, err
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://store.test/records", bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			resp, err := client.Do(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			return read(batch, resp)
		}
		return func(ctx context.Context) (any, error) { return nil, put(ctx, call, records) }
	}
	return a
}

func idsOf(body []byte) (ids []string) {
	var batch []record
	_ = json.Unmarshal(body, &batch)
	for _, r := range batch {
		ids = append(ids, r.ID)
	}
	return ids
}

func multiStatus(w http.ResponseWriter, items []faultsim.ItemStatus) {
	lines := make([]putLine, len(items))
	for i, it := range items {
		lines[i] = putLine(it)
	}
	w.WriteHeader(http.StatusMultiStatus)
	_ = json.NewEncoder(w).Encode(lines)
}

// storeError is the store's word for a status.
func storeError(status int) error {
	switch status {
	case http.StatusOK, http.StatusMultiStatus:
		return nil
	case http.StatusTooManyRequests:
		return errStoreBusy
	case http.StatusServiceUnavailable:
		return errStoreDown
	case http.StatusBadRequest:
		return errTooLarge
	}
	return fmt.Errorf("store: status %d", status)
}

// readsEach reads what became of each record.
func readsEach(_ []record, resp *http.Response) (results []result, err error) {
	if err := storeError(resp.StatusCode); err != nil {
		return nil, err
	}
	var lines []putLine
	if err := json.NewDecoder(resp.Body).Decode(&lines); err != nil {
		return nil, errors.Join(errors.New("store: unreadable"), err)
	}
	for _, l := range lines {
		results = append(results, result{ID: l.ID, Err: storeError(l.Status)})
	}
	return results, nil
}

// readsWhole goes by the status of the answer.
func readsWhole(batch []record, resp *http.Response) ([]result, error) {
	if err := storeError(resp.StatusCode); err != nil {
		return nil, err
	}
	return make([]result, len(batch)), nil
}
