import { messageOf } from '@bulkhead/contract'
import { CORE_VERSION } from '../version.ts'
import { answering } from './answer.ts'
import type { Command } from './command.ts'
import { UsageError } from './usage-error.ts'

/** Each is loaded when it is wanted: help and wrong usage answer at once. */
const COMMANDS: ReadonlyMap<string, { readonly summary: string; load(): Promise<Command> }> = new Map([
  ['tools', { summary: 'lists the tools of this folder, where they come from and what they may do', load: async () => (await import('./tools.ts')).tools }],
  ['explain', { summary: 'says what would become of a call, who decides it, and what would change that', load: async () => (await import('./explain.ts')).explain }],
  ['approvals', { summary: 'lists and revokes what people approved of for longer than one call', load: async () => (await import('./approvals.ts')).approvals }],
  ['audit', { summary: 'shows what was decided and done, and proves that nobody changed it since', load: async () => (await import('./audit.ts')).audit }],
  ['trust', { summary: 'says whether the tools and settings that a project brings may be used', load: async () => (await import('./trust.ts')).trust }],
  ['call', { summary: 'calls one tool and prints its outcome', load: async () => (await import('./call.ts')).call }],
  ['reload', { summary: 'tries out what a running host would take over: proves, starts and stops each extension', load: async () => (await import('./reload.ts')).reload }],
  ['install', { summary: 'installs a folder, a tarball or an npm package, after showing what it is and may do', load: async () => (await import('./install.ts')).install }],
  ['uninstall', { summary: 'takes an installed extension away', load: async () => (await import('./uninstall.ts')).uninstall }],
  ['update', { summary: 'brings what came from a registry up to date, and says what each update changes', load: async () => (await import('./update.ts')).update }],
  ['outdated', { summary: 'lists what a registry has later versions of', load: async () => (await import('./outdated.ts')).outdated }],
  ['verify', { summary: 'proves a folder, a tarball, or everything that is installed', load: async () => (await import('./verify.ts')).verify }],
  ['trust-root', { summary: 'shows, refreshes or replaces the authorities that signatures are compared with', load: async () => (await import('./trust-root.ts')).trustRoot }],
  ['pack', { summary: 'makes a package of a folder, with its integrity file', load: async () => (await import('./pack.ts')).pack }],
])

/** Returns the exit code. Contract: whatever is refused is told, and never thrown. */
export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help())
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${CORE_VERSION}\n`)
    return 0
  }
  let usage = help()
  try {
    const command = await COMMANDS.get(name)?.load()
    if (!command) throw new UsageError(`There is no command "${name}".`)
    usage = command.usage
    if (rest.includes('--help') || rest.includes('-h')) {
      process.stdout.write(`${command.usage}\n\n${command.details}${command.details.includes('Exit code') ? '' : `\n\n${EXIT_CODES}`}\n`)
      return 0
    }
    return await answering(rest.includes('--json'), () => command.run(rest))
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n\n${usage}\n`)
      return 2
    }
    process.stderr.write(`InternalError ${messageOf(error)}\n`)
    return 1
  }
}

const EXIT_CODES = 'Exit code: 0 when done, 1 when it was refused or failed, 2 for wrong usage.'

function help(): string {
  const width = Math.max(...[...COMMANDS.keys()].map(({ length }) => length))
  const lines = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
  const more = `bulkhead COMMAND --help tells more; --json prints what a script can read.\n${EXIT_CODES}`
  return `bulkhead ${CORE_VERSION}: a host for agent tools\n\nCommands\n${lines.join('\n')}\n\n${more}\n`
}
