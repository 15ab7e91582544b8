import { CORE_VERSION } from '../facade/version.ts'
import { UsageError, type Command } from './command.ts'

// Import nothing else of the workspace here: --help and --version must start fast.

/** Earlier names of commands. */
const ALIASES: ReadonlyMap<string, string> = new Map([['check', 'conformance']])

type Row = readonly [name: string, summary: string, load: () => Promise<Command>]

const ROWS: readonly Row[] = [
  ['tools', 'List the tools of this folder, their origin and their permissions',
    async () => (await import('./calls/tools.ts')).tools],
  ['agents', 'List the agents that a session can be opened for',
    async () => (await import('./calls/agents.ts')).agents],
  ['doctor', 'Check this machine, your files and this folder, and show how to fix what is wrong',
    async () => (await import('./system/doctor.ts')).doctor],
  ['config', 'Show and change settings, and show which file decides each of them',
    async () => (await import('./system/config.ts')).config],
  ['explain', 'Show whether a call would be allowed, which rule decides, and how to change it',
    async () => (await import('./calls/call.ts')).explain],
  ['policy', 'Check, test, lint and change the rules about calls',
    async () => (await import('./policy/policy.ts')).policy],
  ['learn', 'Run a command that uses tools, and propose the smallest policy under which they need no approval',
    async () => (await import('./policy/learn.ts')).learn],
  ['approvals', 'List, show and revoke stored approvals',
    async () => (await import('./policy/approvals.ts')).approvals],
  ['waiting', 'List and answer what waits for a person, in every process on the store',
    async () => (await import('./policy/waiting.ts')).waiting],
  ['passkey', 'Add, list and remove the passkeys that rules may demand',
    async () => (await import('./policy/passkey.ts')).passkey],
  ['audit', 'Show, verify, export and archive the audit log',
    async () => (await import('./policy/audit.ts')).audit],
  ['store', 'Show, update and copy the store of approvals, state and the audit',
    async () => (await import('./system/store.ts')).store],
  ['ps', 'List the hosts on the store, with their sessions, calls and open questions',
    async () => (await import('./system/ps.ts')).ps],
  ['workers', 'List the workers on the store, with what they have and do',
    async () => (await import('./system/workers.ts')).workers],
  ['worker', 'Serve calls of other machines on this one, and choose whom to trust',
    async () => (await import('./system/worker.ts')).worker],
  ['inspect', 'Serve a page that shows what waits, calls, tools, rules and health',
    async () => (await import('./servers/inspect.ts')).inspect],
  ['freeze', 'Stop every host on the store from starting calls',
    async () => (await import('./system/freeze.ts')).freeze],
  ['thaw', 'Let the hosts on the store start calls again',
    async () => (await import('./system/freeze.ts')).thaw],
  ['undo', 'List the files that tools changed, and put them back',
    async () => (await import('./calls/undo.ts')).undo],
  ['record', 'List and remove recorded sessions',
    async () => (await import('./calls/record.ts')).record],
  ['replay', 'Show a recorded session, or make its calls again and report the first difference',
    async () => (await import('./calls/replay.ts')).replay],
  ['trust', 'Review the tools and settings of a project, then trust or decline them',
    async () => (await import('./policy/trust.ts')).trust],
  ['call', 'Call one tool and print the result',
    async () => (await import('./calls/call.ts')).call],
  ['mcp', 'Serve the tools of this folder to an MCP client',
    async () => (await import('./servers/mcp.ts')).mcp],
  ['reload', 'Test whether each extension loads, starts and stops',
    async () => (await import('./packages/reload.ts')).reload],
  ['install', 'Install a folder, a tarball or an npm package, after a review',
    async () => (await import('./packages/install.ts')).install],
  ['uninstall', 'Uninstall an extension',
    async () => (await import('./packages/install.ts')).uninstall],
  ['update', 'Update extensions from a registry, and show what each update changes',
    async () => (await import('./packages/update.ts')).update],
  ['outdated', 'List extensions with a newer version in the registry',
    async () => (await import('./packages/update.ts')).outdated],
  ['verify', 'Verify the integrity of a folder, a tarball, or all installed extensions',
    async () => (await import('./packages/verify.ts')).verify],
  ['trust-root', 'Show, refresh or replace the trust root for signatures',
    async () => (await import('./packages/trust-root.ts')).trustRoot],
  ['new', 'Create a new extension: a manifest and a module',
    async () => (await import('./publish/new.ts')).newExtension],
  ['dev', 'Work on an extension: call its tools, reload it on change, and see what it uses',
    async () => (await import('./calls/dev.ts')).dev],
  ['conformance', 'Check an extension against the conformance requirements',
    async () => (await import('./publish/conformance.ts')).conformance],
  ['diff', 'Compare two versions of an extension, and check that the version number shows the changes',
    async () => (await import('./publish/diff.ts')).diff],
  ['pack', 'Pack a folder into a tarball with an integrity file',
    async () => (await import('./publish/pack.ts')).pack],
  ['sign', 'Sign an extension with the identity of a CI job or a person',
    async () => (await import('./publish/sign.ts')).sign],
  ['publish', 'Pack an extension and publish it to a registry, or show what would be published',
    async () => (await import('./publish/publish.ts')).publish],
  ['completion', 'Print a completion script for bash, zsh or fish',
    async () => (await import('./system/completion.ts')).completionOf(COMMANDS)],
]

/** All commands. Each module is imported on first use. */
export const COMMANDS: ReadonlyMap<string, { readonly summary: string; readonly load: () => Promise<Command> }> =
  new Map(ROWS.map(([name, summary, load]) => [name, { summary, load }]))

/**
 * Runs one command and returns the exit code. `beforeLoading` is called before the module of a command is imported.
 * Never throws: errors are printed.
 */
export async function main(argv: readonly string[], beforeLoading?: () => void): Promise<number> {
  const [name, ...rest] = argv[0] === 'help' && argv.length > 1 ? [...argv.slice(1), '--help'] : argv
  if (name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help())
    return 0
  }
  if (name === '--version' || name === '-v') {
    process.stdout.write(`${CORE_VERSION}\n`)
    return 0
  }
  let [called, command]: [name: string, command?: Command] = ['']
  try {
    if (name === undefined || name.startsWith('-')) {
      beforeLoading?.()
      command = (await import('./system/overview.ts')).overview
      return await run('', command, argv).catch((error: unknown) => { throw beforeCommand(error, argv) })
    }
    called = ALIASES.get(name) ?? name
    const entry = COMMANDS.get(called)
    if (!entry) {
      const { meantNames } = await import('@bulkhead/kit/text')
      throw new UsageError(`There is no command "${name}".${meantNames(name, COMMANDS.keys())}`)
    }
    beforeLoading?.()
    command = await entry.load()
    if (rest.includes('--help') || rest.includes('-h')) {
      const { commandHelp, EVERY_COMMAND, usageOf } = await import('./help.ts')
      const parts = [usageOf(called, command), `${entry.summary}.`, commandHelp(command), EVERY_COMMAND]
      process.stdout.write(`${parts.join('\n\n')}\n`)
      return 0
    }
    return await run(called, command, rest)
  } catch (error) {
    if (error instanceof UsageError) {
      const usage = command === undefined
        ? 'Run bulkhead --help for the list of commands.' : (await import('./help.ts')).usageOf(called, command)
      if (argv.includes('--json')) await printUsageFault(error.message, usage)
      else {
        // The message may repeat arguments, which a page or a script may have supplied.
        const { visibleText } = await import('@bulkhead/kit/text')
        const message = visibleText(error.message, { keepLines: true })
        process.stderr.write(argv.includes('--quiet') ? `${message}\n` : `${message}\n\n${usage}\n`)
      }
      return 2
    }
    // A module is missing, perhaps the one that formats errors.
    process.stderr.write(`InternalError ${String(error)}\n`)
    return 1
  }
}

async function run(name: string, command: Command, args: readonly string[]): Promise<number> {
  const [{ readOptions }, { answering }] = await Promise.all([import('./read-options.ts'), import('./output.ts')])
  const { action, given } = readOptions(name, args, command)
  if (given.values['no-color']) {
    delete process.env['FORCE_COLOR']
    process.env['NO_COLOR'] = '1'
  }
  const json = given.values['json'] === true
  return answering({ json, quiet: given.values.quiet === true }, () => action.run(given))
}

/** An option of a command is unknown without it. */
function beforeCommand(error: unknown, argv: readonly string[]): unknown {
  if (!(error instanceof UsageError) || !argv.some((word) => COMMANDS.has(word))) return error
  return new UsageError(`Put options after the command: bulkhead COMMAND ${argv[0]}.`)
}

async function printUsageFault(message: string, usage: string): Promise<void> {
  const [{ printJson }, { ERRORS }] = await Promise.all([import('./output.ts'), import('@bulkhead/contract')])
  printJson({ error: { code: 'UsageInvalid', message, cure: ERRORS.UsageInvalid.cure, data: { usage } } })
}

const MORE = `Run bulkhead COMMAND --help for its options and examples.
Add --json for machine-readable output, --quiet for no progress and no hints, --no-color for no colors.
Exit code: 0 on success, 1 if the command was refused or failed, 2 for wrong usage.`

function help(): string {
  const width = Math.max(...[...COMMANDS.keys()].map(({ length }) => length))
  const lines = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
  return `bulkhead ${CORE_VERSION}: a host for agent tools\n\nCommands\n${lines.join('\n')}\n\n${MORE}\n`
}
