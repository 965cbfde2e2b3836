module github.com/agentmux/agentmux-go/scripts

go 1.26.0

require (
	github.com/agentmux/agentmux-go/agentmux-mcp v0.1.0
	github.com/agentmux/agentmux-go/mcptools v0.1.0
	github.com/agentmux/agentmux-go/relayclient v0.1.0
	github.com/agentmux/agentmux-go/wire v0.1.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/rogpeppe/go-internal v1.16.0
)
