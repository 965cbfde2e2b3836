// Package mcptools is the tool layer of an MCP server for agentmux: the tools as data, and the one pipeline that
// all of them run through. A [Surface] is the tools of one generation of agentmux: nine for 0.8, six for 0.5.
//
// A tool's file holds what is particular to that tool: its parameters, its checks, its request, what its
// answer and its log records show. The pipeline has the rest: schemas, strict decoding that names what
// is wrong, the order of work (arguments, start-up, association, configuration, relay), log records,
// the relay call, error mapping, structured content, recovery from panics.
//
// The package reads no file and no environment variable. A [Config] brings what it needs, and [New]
// makes an MCP server of it.
package mcptools
