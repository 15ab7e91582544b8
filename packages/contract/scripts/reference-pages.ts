import { configFileSchema } from '../src/config.ts'
import { manifestSchema } from '../src/manifest.ts'
import { keyRows } from './key-rows.ts'

const HEAD = '| Key | Form | Meaning |\n|---|---|---|\n'

/** docs/reference/manifest.md: every key of bulkhead.json. */
export function manifestPage(): string {
  return `# The manifest: bulkhead.json

Every key, written from \`packages/contract/src/manifest.ts\` by \`pnpm generate\`. An unknown key is refused. For editors the same is a
JSON Schema, \`@bulkhead/contract/schema/manifest.schema.json\`. How to write an extension: [publishing.md](../guides/publishing.md).

${HEAD}${keyRows(manifestSchema, new Set(['tools[].inputSchema', 'tools[].outputSchema', 'configSchema', 'stateSlot.schema', '_meta']))}`
}

/** docs/reference/configuration.md: every key of config.json. */
export function configurationPage(): string {
  return `# Configuration: config.json

Every key, written from \`packages/contract/src/config.ts\` by \`pnpm generate\`. The file lies in \`~/.bulkhead/\` for a user and in
\`.bulkhead/\` of a project; what an embedder passes as \`config\` of \`createHost\` goes over both. All keys are optional. For editors the
same is a JSON Schema, \`@bulkhead/contract/schema/config.schema.json\`.

- A key that is unknown, or a value that is wrong, is reported with its place and left out by itself; \`bulkhead tools\` shows it, and
  what holds meanwhile.
- What forbids or bounds and cannot be read holds at its strictest: a switch is off, a rule that does not say \`allow\` denies or asks
  whatever its tool does, a policy requires, a budget or a term is the smallest. Where \`rules\`, \`roles\`, \`tools\`, \`extensions\`, \`policy\` or
  the file cannot be read as a whole, tools are off. Of \`limits\` the default holds
  ([decision 98](../decisions/0098-what-forbids-and-cannot-be-read-forbids-more.md)).
- A tool is named as \`bulkhead tools\` lists it. A name of a tool, an extension or a server that nothing here has is a warning with the
  nearest name; it stays in force for what is installed later. A name that only other agents have for a tool, such as \`read_file\`, is a
  warning too. So it is with \`rules\`, \`tools\` and \`roles\` of \`openSession\`, in \`host.diagnostics\` while the session is open.
- A rule for a capability that does not exist, such as \`net\` or \`fs.wrtie\`, is a warning. If it denies or asks, it applies to every
  capability that begins like it; if it allows, it allows nothing.
- Lists of rules and allowlists of the layers add up, maps merge by key, servers and ceilings are replaced whole.
- A project can tighten anything; what it loosens counts once it is trusted with that very content (\`bulkhead trust\`).
- Secrets are named, never written here.

\`\`\`json
{
  "mode": "allowlist",
  "allowlist": ["write:src", "bash:ps", "web_fetch:developer.mozilla.org"],
  "rules": [{ "permission": "fs.write", "pattern": "secrets/**", "action": "deny" }],
  "extensions": { "weather": { "config": { "units": "metric" }, "limits": { "memoryMb": 256 } } },
  "policy": { "signature": { "project": "require" } }
}
\`\`\`

A rule on files judges a call of a built-in file tool, and a command that is known to only read, by the files it names. Any other command, such as
\`npm test\`, may write wherever \`bash\` may, so this rule refuses it. To forbid only the file tools, name these: \`write\`, \`edit\`.

${HEAD}${keyRows(configFileSchema, new Set(['limits', 'extensions.<name>.limits', 'policy.ceiling', 'mcp', 'openapi']))}
\`limits\` are listed in [limits.md](limits.md); \`policy.ceiling\` has the form of \`requires\` in a [manifest](manifest.md), with
\`env\` and \`secrets\` (lists of names) and \`state\` (true or false) besides: [what it narrows](../explanation/security.md#one-power-compared-everywhere). What a policy of
packages means: [packages.md](../guides/packages.md); what rules, modes and approvals mean: [approvals.md](../guides/approvals.md) and [hooks.md](../guides/hooks.md).
`
}
