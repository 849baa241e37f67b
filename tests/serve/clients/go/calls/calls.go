// Package calls reports calls, a line for each: whether it passed, its family, its name, and what
// was wrong.
package calls

import (
	"fmt"
	"reflect"
	"strings"
)

// Call makes a call and compares what it returns; of an error its text is what it returns.
func Call(family, name string, expected any, body func() (any, error)) {
	found, err := body()
	if err != nil {
		found = err.Error()
	}
	if text, ok := found.(string); ok && err != nil {
		if wanted, same := expected.(string); same && wanted != "" && strings.Contains(text, wanted) {
			fmt.Printf("ok\t%s\t%s\n", family, name)
			return
		}
	} else if reflect.DeepEqual(found, expected) {
		fmt.Printf("ok\t%s\t%s\n", family, name)
		return
	}
	said := strings.Join(strings.Fields(fmt.Sprint(found)), " ")
	fmt.Printf("failed\t%s\t%s\t%s, not %v\n", family, name, said, expected)
}

// Done is for calls that return an error or nothing.
func Done(err error) (any, error) { return nil, err }
