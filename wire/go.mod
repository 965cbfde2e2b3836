module github.com/agentmux/agentmux-go/wire

go 1.26.0
