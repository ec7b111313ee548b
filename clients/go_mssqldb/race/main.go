// Command race is go-mssqldb's contestant of the client benchmark (docs/clients-benchmark.md, "A contestant").
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
)

const driverModule = "github.com/microsoft/go-mssqldb"

// garbagePercent makes the collector rarer than by default: the rows of the source are alive for the benchmark's sake alone, and
// the client would be charged for marking them.
const garbagePercent = 400

// arguments say what to move, from where, where to.
type arguments struct {
	host, port, user, password, database, encrypt, table, source string
	rows, batchRows                                              int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	debug.SetGCPercent(garbagePercent)
	if len(os.Args) < 2 {
		return errors.New("wanted: load|read --table ...")
	}
	args, err := parse(os.Args[2:])
	if err != nil {
		return err
	}
	var report *report
	switch os.Args[1] {
	case "load":
		report, err = load(context.Background(), args)
	case "read":
		report, err = read(context.Background(), args)
	default:
		err = fmt.Errorf("load or read, not %s", os.Args[1])
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

func parse(words []string) (*arguments, error) {
	args := &arguments{password: os.Getenv("RACE_PASSWORD")}
	flags := flag.NewFlagSet("race", flag.ContinueOnError)
	flags.StringVar(&args.host, "host", "127.0.0.1", "")
	flags.StringVar(&args.port, "port", "1433", "")
	flags.StringVar(&args.user, "user", "sa", "")
	flags.StringVar(&args.database, "database", "master", "")
	flags.StringVar(&args.encrypt, "encrypt", "off", "")
	flags.StringVar(&args.table, "table", "", "")
	flags.StringVar(&args.source, "source", "", "")
	flags.IntVar(&args.rows, "rows", 0, "")
	flags.IntVar(&args.batchRows, "batch-rows", 0, "")
	return args, flags.Parse(words)
}

// url asks for the largest packets that the connection carries: TLS keeps to records of 16 KiB.
func (args *arguments) url() string {
	encrypt, packetSize := "disable", 32767
	if args.encrypt == "on" {
		encrypt, packetSize = "true", 16383
	}
	query := url.Values{
		"database":               {args.database},
		"encrypt":                {encrypt},
		"TrustServerCertificate": {"true"},
		"packet size":            {strconv.Itoa(packetSize)},
	}
	address := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword(args.user, args.password),
		Host:     net.JoinHostPort(args.host, args.port),
		RawQuery: query.Encode(),
	}
	return address.String()
}

// client is the driver's name and the version that this program was built with.
func client() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == driverModule {
				return "go-mssqldb " + module.Version[1:]
			}
		}
	}
	return "go-mssqldb"
}
