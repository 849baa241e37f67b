// Package told reads how to reach a virtual cluster, and which names to use there.
package told

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
)

// Member is the program's first argument, as member.py writes it.
type Member struct {
	Servers   []string
	User      string
	Password  string
	Authority string
	In        string
	Out       string
	Prefix    string
	Physical  string
	Pattern   string
	Topics    []string
	Gateway   bool
}

// Read parses the first argument.
func Read() Member {
	var found Member
	if err := json.Unmarshal([]byte(os.Args[1]), &found); err != nil {
		panic(err)
	}
	return found
}

// TLS trusts the member's authority alone.
func (m Member) TLS() *tls.Config {
	text, err := os.ReadFile(m.Authority)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: pool}
}

// Partitions of In and of Out.
const (
	InPartitions  = 4
	OutPartitions = 2
	All           = InPartitions + OutPartitions
)
