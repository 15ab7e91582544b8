import { agentManifestSchema } from '../src/validation/agent.ts'
import { configFileSchema } from '../src/validation/config.ts'
import { conformanceReportSchema } from '../src/validation/conformance.ts'
import { fixturesSchema } from '../src/validation/fixtures.ts'
import { machinePolicySchema } from '../src/validation/machine-policy.ts'
import { manifestSchema } from '../src/validation/manifest.ts'
import { keyRows } from './key-rows.ts'

const HEAD = '| Key | Type | Meaning |\n|---|---|---|\n'

/** docs/reference/manifest.md: every key of bulkhead.json. */
export function manifestPage(): string {
  return `# Manifest: bulkhead.json

Generated from \`packages/contract/src/validation/manifest.ts\`. An unknown key is an error. The JSON Schema for editors is
\`@bulkhead/contract/schema/manifest.schema.json\`. How to write an extension: [publishing](../guides/publishing.md).

${HEAD}${keyRows(manifestSchema, new Set(['tools[].inputSchema', 'tools[].outputSchema', 'configSchema', 'stateSlot.schema', '_meta']))}`
}

/** docs/reference/agent.md: every key of an agent. */
export function agentPage(): string {
  return `# Agent: agents/NAME.json

Generated from \`packages/contract/src/validation/agent.ts\`. The file is \`~/.bulkhead/agents/NAME.json\` for a user and \`.bulkhead/agents/NAME.json\` in a
trusted project; \`defineAgent\` takes the same keys. An unknown key is an error. The JSON Schema for editors is
\`@bulkhead/contract/schema/agent.schema.json\`. How to use it: [agents](../guides/agents.md).

${HEAD}${keyRows(agentManifestSchema, new Set())}`
}

/** docs/reference/configuration.md: every key of config.json. */
export function configurationPage(): string {
  return `# Configuration: config.json

Generated from \`packages/contract/src/validation/config.ts\`. The file is \`~/.bulkhead/config.json\` for a user and \`.bulkhead/config.json\` in a project; \`config\`
of \`createHost\` overrides both. A [machine policy](../guides/machine-policy.md) restricts all of them. All keys are optional. The JSON Schema for editors is \`@bulkhead/contract/schema/config.schema.json\`.
\`bulkhead config list --origin\` shows each value in effect and the file that decides it; \`bulkhead config set KEY VALUE\` checks a value and writes it.

- An unknown key or an invalid value is reported and ignored; \`bulkhead tools\` shows it and what applies instead.
- A restriction that cannot be read applies at its strictest: a switch is off, a rule that is not \`allow\` denies or asks for every call of
  its tool, a policy requires, a budget or duration is the smallest. If \`rules\`, \`roles\`, \`tools\`, \`extensions\`, \`policy\` or the whole file cannot be
  read, tools are disabled. A link that leads nowhere, or a folder in the place of the file, is a file that cannot be read. For \`limits\` the default applies
  ([decision 98](../decisions/0098-unreadable-restrictions-apply-strictly.md)).
- Tools have the names that \`bulkhead tools\` lists. The name of an unknown tool, extension or server is a warning with the nearest name, and so is a name
  that only other agents use, such as \`read_file\`. It applies to what is installed later. The same holds for \`rules\`, \`tools\` and \`roles\` of
  \`openSession\`, in \`host.diagnostics\`. A flag for a role that no session and no token has, and a rule whose pattern is not one of hosts, such as \`net.fetch\` with
  \`api.*\`, are warnings too.
- A rule for an unknown capability, such as \`net\` or \`fs.wrtie\`, is a warning. If it denies or asks, it applies to every capability with that
  prefix; if it allows, it allows nothing.
- Rules and allowlists of the layers are concatenated, maps are merged by key, servers are replaced as a whole, and ceilings apply together.
- A project can tighten anything, and has no say in \`commands\`. What it loosens counts once the project is trusted with that content (\`bulkhead trust\`), and against defaults only:
  a setting that you wrote stays unless the project's is known to be stricter, with a warning, and rules of a project do not undo yours
  ([what a project can change](../guides/approvals.md#what-a-project-can-change)).
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

A file rule applies to the files that a call names, if the tool is a built-in file tool or the command only reads. Any other command, such as \`npm test\`, may
write wherever \`bash\` may, so the rule above denies it. To restrict only the file tools, name them in the rule: \`write\`, \`edit\`, \`apply_patch\`.

${HEAD}${keyRows(configFileSchema, new Set(['limits', 'extensions.<name>.limits', 'policy.ceiling', 'policy.conformance.signers', 'mcp', 'openapi']))}
\`limits\`: [limits](limits.md). \`policy.ceiling\` has the form of \`requires\` in a [manifest](manifest.md), plus \`env\` and \`secrets\` (lists of
names) and \`state\` (a boolean): [what it narrows](../explanation/security.md#powers-and-ceilings). \`policy\` for packages: [packages](../guides/packages.md#policy).
\`mcp\`: [MCP](../guides/mcp.md#tools-of-servers). \`openapi\`: [OpenAPI](../guides/openapi.md). Rules, modes and approvals: [approvals](../guides/approvals.md)
and [policy in code](../guides/hooks.md).
`
}

/** docs/reference/machine-policy.md: every key of policy.json. */
export function machinePolicyPage(): string {
  return `# Machine policy: policy.json

Generated from \`packages/contract/src/validation/machine-policy.ts\`. All keys are optional. How to use it: [machine policy](../guides/machine-policy.md). The
JSON Schema for editors is \`@bulkhead/contract/schema/machine-policy.schema.json\`.

${HEAD}${keyRows(machinePolicySchema, new Set(['policy.ceiling', 'policy.conformance.signers', 'policy.identities', 'watchdogs.commandSafety.patterns']))}
The members of \`policy.ceiling\`, \`policy.identities\` and \`watchdogs.commandSafety.patterns\` are those of the [configuration](configuration.md).
`
}

/** docs/reference/conformance-report.md: every key of the report for programs. */
export function conformanceReportPage(): string {
  return `# Conformance report

Generated from \`packages/contract/src/validation/conformance.ts\`. \`bulkhead conformance TARGET --json\` prints this object, and \`reportOf\` of
\`@bulkhead/conformance\` returns it. The JSON Schema is \`@bulkhead/contract/schema/conformance-report.schema.json\`. Later versions may add members and
never remove one. An id of a requirement keeps its meaning.

${HEAD}${keyRows(conformanceReportSchema, new Set())}`
}

/** docs/reference/fixtures.md: every key of the files in fixtures/. */
export function fixturesPage(): string {
  return `# Fixtures

Generated from \`packages/contract/src/validation/fixtures.ts\`. \`bulkhead conformance\` reads these files from the folder \`fixtures\` of an extension, and copies
\`fixtures/files\` to the workspace of the run. A first word of a key below is the name of a file, without \`.json\`. All files are optional. How to use them:
[conformance](../guides/conformance.md#fixtures).

${HEAD}${keyRows(fixturesSchema, new Set())}`
}
