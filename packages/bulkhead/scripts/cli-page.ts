import type { Command } from '../src/cli/command.ts'
import { commandHelp, exitsOf, usageOf } from '../src/cli/help.ts'
import { COMMANDS } from '../src/cli/main.ts'

const INTRODUCTION = `# Command line

Generated from \`packages/bulkhead/src/cli\`. \`bulkhead COMMAND --help\` prints the same. Options follow the command.

- Every command except \`mcp\` and \`completion\` has \`--json\`, also for errors. \`--quiet\` prints no progress and no hints; results, warnings and errors stay.
- \`--no-color\`, \`NO_COLOR=1\`, or output that is not a terminal: no colors.
- \`bulkhead\` alone shows what is in this folder and what to do next. \`source <(bulkhead completion bash)\` completes commands; zsh and fish work too.
- \`call\`, \`explain\` and \`mcp\` keep approvals, state and the audit in \`~/.bulkhead/bulkhead.db\`, or in \`--home DIR\`. \`--no-store\` works without it.
- Without a terminal, calls that need approval are denied. A project's own tools are used after \`bulkhead trust\`, or with \`--trust-project\`.
- Compiled code is cached in the user's cache folder (\`~/.cache/bulkhead\` on Linux). You can delete it at any time.
`

/** docs/reference/cli.md: exit codes, and the help of every command, in the order of the table. */
export async function cliPage(): Promise<string> {
  const loaded = await Promise.all(
    [...COMMANDS].map(async ([name, { summary, load }]) => ({ name, summary, command: await load() })),
  )
  const sections = loaded.map(({ name, summary, command }) =>
    `\n## bulkhead ${name}\n\n${summary}.\n\n\`\`\`text\n${usageOf(name, command)}\n\n${commandHelp(command)}\n\`\`\`\n`)
  return INTRODUCTION + exitCodes(loaded) + sections.join('')
}

function exitCodes(commands: readonly { readonly name: string; readonly command: Command }[]): string {
  const rows = commands.map(({ name, command }) => `| \`${name}\` | ${exitsOf(command).join(' | ')} |`)
  return `\n## Exit codes\n\nEvery command exits with 2 for wrong usage. Nothing was done then.\n\n| command | 0 | 1 |\n|---|---|---|\n${rows.join('\n')}\n`
}
