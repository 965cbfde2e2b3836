module github.com/agentmux/agentmux-go/scripts

go 1.26.0

require (
	github.com/agentmux/agentmux-go/agentmux-mcp v0.1.0
	github.com/agentmux/agentmux-go/mcptools v0.1.0
	github.com/agentmux/agentmux-go/relayclient v0.1.0
	github.com/agentmux/agentmux-go/wire v0.1.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
)

require golang.org/x/tools v0.42.0 // indirect

require (
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/pelletier/go-toml/v2 v2.4.3 // indirect
	github.com/rogpeppe/go-internal v1.16.0
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/urfave/cli/v2 v2.27.7 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.35.0 // indirect
	golang.org/x/sync v0.20.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/term v0.48.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)
