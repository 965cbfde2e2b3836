// Agentmux-mcp is an MCP server on standard input and output that connects a coding agent with an agentmux
// relay.
package main

import (
	"os"

	"github.com/agentmux/agentmux-go/agentmux-mcp/command"
)

func main() { os.Exit(command.Main()) }
