module github.com/agentmux/agentmux-go/relayclient

go 1.26.0

require (
	github.com/agentmux/agentmux-go/wire v0.1.0
	golang.org/x/sys v0.50.0
)
