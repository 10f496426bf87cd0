// SPDX-License-Identifier: MIT
// The program that measures golang.org/x/time/rate and go.uber.org/ratelimit; main.go says how.
module weirpeers

go 1.26.0

require (
	go.uber.org/ratelimit v0.3.1
	golang.org/x/time v0.16.0
)

require github.com/benbjohnson/clock v1.3.0 // indirect
