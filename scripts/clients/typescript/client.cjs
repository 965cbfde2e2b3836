// An MCP client made with the official TypeScript SDK.
//
// Usage: node client.cjs 1|2 SERVER [ARG...]
//
// Connects to SERVER with that major version of the SDK, makes the calls on standard input (a JSON array) all at once,
// and prints what came of them.
"use strict";

const fs = require("node:fs");

const sdks = {
  1: () => ({
    ...require("@modelcontextprotocol/sdk/client"),
    ...require("@modelcontextprotocol/sdk/client/stdio.js"),
    ...require("@modelcontextprotocol/sdk/validation/ajv"),
  }),
  2: () => ({
    ...require("@modelcontextprotocol/client"),
    ...require("@modelcontextprotocol/client/stdio"),
    ...require("@modelcontextprotocol/client/validators/ajv"),
  }),
};

async function outcome(client, call) {
  let result;
  try {
    // The SDK checks an answer against the tool's output schema.
    result = await client.callTool({ name: call.tool, arguments: call.arguments });
  } catch (error) {
    if (error.data === undefined) throw error; // not the server's
    return { error: { code: error.code, data: error.data } };
  }
  return { [result.isError ? "refusal" : "answer"]: result.structuredContent };
}

async function main(version, command, ...args) {
  const { Client, StdioClientTransport, AjvJsonSchemaValidator } = sdks[version]();
  const calls = JSON.parse(fs.readFileSync(0, "utf8"));
  const client = new Client({ name: "client", version: "1" }, { versionNegotiation: { mode: "auto" } });
  client.onerror = (error) => console.error(error);
  const transport = new StdioClientTransport({ command, args });
  let revision;
  transport.setProtocolVersion = (negotiated) => (revision = negotiated);
  await client.connect(transport);
  const { tools } = await client.listTools();
  const validator = new AjvJsonSchemaValidator();
  for (const tool of tools) {
    validator.getValidator(tool.inputSchema);
    validator.getValidator(tool.outputSchema);
  }
  const report = {
    revision,
    server: client.getServerVersion().name,
    tools: tools.map((tool) => tool.name),
    outcomes: await Promise.all(calls.map((call) => outcome(client, call))),
  };
  await client.close();
  console.log(JSON.stringify(report));
}

main(...process.argv.slice(2));
