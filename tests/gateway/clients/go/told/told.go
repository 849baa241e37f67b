// Package told reads how to reach a virtual cluster, and which names to use there.
package told

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
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
	Quiet     string
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

// Keeps is true where the program shall be a member of a group until its input ends, and no more.
func Keeps() bool { return len(os.Args) > 2 && os.Args[2] == "keep" }

// Kept says that the member has committed, and waits for the end.
func Kept() {
	fmt.Println("kept")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		panic(err)
	}
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
