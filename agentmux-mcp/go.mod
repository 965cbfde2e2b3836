module github.com/agentmux/agentmux-go/agentmux-mcp

go 1.26.0

require (
	github.com/agentmux/agentmux-go/mcptools v0.1.0
	github.com/agentmux/agentmux-go/relayclient v0.1.0
	github.com/agentmux/agentmux-go/wire v0.1.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/pelletier/go-toml/v2 v2.4.3
	github.com/urfave/cli/v2 v2.27.7
	golang.org/x/term v0.48.0
)
