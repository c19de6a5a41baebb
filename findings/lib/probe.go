// SPDX-License-Identifier: Apache-2.0
// What the programs of the findings on Go modules share (go.sh): a claim for each behaviour that the script's first
// lines tell, and the end that says whether all of them still hold.
package main

import (
	"fmt"
	"os"
)

var so = true // as it was seen then

func claim(still bool, what string) {
	if !still {
		fmt.Println("  not so any more:", what)
	}
	so = so && still
}

func end() {
	if !so {
		os.Exit(1)
	}
}
