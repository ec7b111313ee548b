// Drives go-mssqldb against the embedded server and prints one JSON line per check.
//
// The endpoint comes from BULKWIRE_HOST, BULKWIRE_PORT, BULKWIRE_USER, BULKWIRE_PASSWORD and BULKWIRE_CERTIFICATE (a PEM
// file), the table of every type from BULKWIRE_CELLS (JSON, printed by cells.py). Arguments name the checks to run; without
// one all of them run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// A check proves one thing about the client and the server together.
type check struct {
	name string
	run  func(ctx context.Context, env *environment) error
}

// cannot is the outcome of what this client does not offer; its text says why.
type cannot string

func (reason cannot) Error() string { return string(reason) }

var checks = slices.Concat(loginChecks, queryChecks, errorChecks, transactionChecks, bulkChecks)

func main() {
	env, err := readEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := json.NewEncoder(os.Stdout)
	if len(os.Args) > 1 {
		checks = append(checks, namedChecks...)
	}
	for _, check := range checks {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], check.name) {
			continue
		}
		outcome, detail := run(check, env)
		if err := out.Encode(map[string]string{"check": check.name, "outcome": outcome, "detail": detail}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}

func run(check check, env *environment) (outcome, detail string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := check.run(ctx, env)
	var reason cannot
	switch {
	case err == nil:
		return "passed", ""
	case errors.As(err, &reason):
		return "cannot", reason.Error()
	default:
		return "failed", err.Error()
	}
}
