// Runs the README's Go over the cases that snippets.py wrote beside it.
package receiver

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
)

func TestEveryCase(t *testing.T) {
	var cases []struct {
		Name, Secret string
		Headers      map[string]string
		Body         []byte
		Accepted     bool
	}
	text, err := os.ReadFile("cases.json")
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, sent := range cases {
		header := http.Header{}
		for name, value := range sent.Headers {
			header.Set(name, value)
		}
		if given := Verify(sent.Secret, header, sent.Body); given != sent.Accepted {
			t.Errorf("%s: %v instead of %v", sent.Name, given, sent.Accepted)
		}
	}
}
