import { COMMANDS } from '../src/cli/main.ts'

const INTRODUCTION = `# Command line

Generated from \`packages/bulkhead/src/cli\`. \`bulkhead COMMAND --help\` prints the same. Options follow the command.

- Exit codes: 0 success, 1 refused or failed, 2 wrong usage.
- Every command except \`mcp\` has \`--json\`, also for errors.
- \`call\`, \`explain\` and \`mcp\` keep approvals, state and the audit in \`~/.bulkhead/bulkhead.db\`, or in \`--home DIR\`. \`--no-store\` works without it.
- Without a terminal, calls that need approval are denied. A project's own tools are used after \`bulkhead trust\`, or with \`--trust-project\`.
- Compiled code is cached in the user's cache folder (\`~/.cache/bulkhead\` on Linux). You can delete it at any time.
`

/** docs/reference/cli.md: the help of every command, in the order of the table. */
export async function cliPage(): Promise<string> {
  const sections = await Promise.all([...COMMANDS].map(async ([name, { summary, load }]) => {
    const { usage, details } = await load()
    return `\n## bulkhead ${name}\n\n${sentence(summary)}\n\n\`\`\`text\n${usage}\n\n${details.trimEnd()}\n\`\`\`\n`
  }))
  return INTRODUCTION + sections.join('')
}

const sentence = (text: string): string => text[0]!.toUpperCase() + text.slice(1) + (text.endsWith('.') ? '' : '.')
