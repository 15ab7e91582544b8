import type { ServedHost } from '@bulkhead/bridges/mcp'
import type { SecurityMode, ToolDefinition } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { visibleText } from '@bulkhead/kit/text'
import { CORE_VERSION } from '../facade/version.ts'
import { readMode } from './call-options.ts'
import { type Command, ENDING_SIGNALS, UsageError } from './command.ts'
import { diagnosticText } from './diagnostic-text.ts'
import { COMMON_DETAILS, COMMON_OPTIONS, openHost, readOptions, STORE_DETAILS, STORE_OPTIONS } from './host-options.ts'

export const mcp: Command = {
  usage: 'bulkhead mcp [--mode ask|allowlist|yolo] [--tools NAME,…] [--all] [--no-store] [--workspace DIR] [--home DIR] [--trust-project]',
  details: `  --mode MODE       what happens to a call that needs a person's word (default: from the configuration, else ask)
  --tools NAME,…    offer these tools only (default: all)
  --all             list every tool also where there are more than twenty, which a client finds with tool_search otherwise
${STORE_DETAILS}
${COMMON_DETAILS.replace(/^ {2}--json.*\n/, '')}

Speaks the Model Context Protocol on standard input and output, until the client closes its end. Name it in the client's
configuration as the command "bulkhead" with the argument "mcp". Every call goes through the guard as "bulkhead call" does: where
the client can ask a person, a call that needs a person's word is shown there; where it cannot, it is refused with what would
allow it. Changes on disk are picked up while it runs. Faults of the client and disabled extensions are printed on standard
error. There is no sign-in: the process that starts the command may use the tools.

Exit code: 0 when the client has gone, 1 when the host could not be opened, 2 for wrong usage.`,

  async run(args) {
    const { values, positionals } = readOptions(args, { ...COMMON_OPTIONS, ...STORE_OPTIONS, mode: { type: 'string' }, tools: { type: 'string' }, all: { type: 'boolean' } })
    if (positionals.length > 0) throw new UsageError(`"mcp" takes no further words, but got "${positionals.join(' ')}".`)
    if (values.json) throw new UsageError('"mcp" has nothing to print: standard output is the protocol.')
    const mode = readMode(values.mode)
    const tools = values.tools?.split(',').map((name) => name.trim()).filter((name) => name !== '')

    const host = await openHost(values, true, true)
    try {
      for (const found of host.diagnostics) process.stderr.write(diagnosticText(found, process.stderr))
      for (const name of tools ?? []) if (!host.tool(name)) process.stderr.write(`mcp: there is no tool "${visibleText(name)}" now; it is offered when it comes\n`)
      void host.tryWalls()
      await serveUntilGone(host, { ...(mode === undefined ? {} : { mode }), ...(tools === undefined ? {} : { tools }) }, values.all === true)
    } finally {
      await host.close()
    }
    leave()
    return 0
  },
}

interface Policy {
  readonly mode?: SecurityMode
  readonly tools?: readonly string[]
}

async function serveUntilGone(host: Awaited<ReturnType<typeof openHost>>, policy: Policy, all: boolean): Promise<void> {
  const { serveTools } = await import('@bulkhead/bridges/mcp')
  // A message that waits to leave listens to the stream.
  process.stdout.setMaxListeners(0)
  // Nobody runs sub-agents here; a client has its own.
  const isOfUse = ({ name }: ToolDefinition) => name !== 'task' || host.tool(name)?.layer !== 'bundled'
  const served: ServedHost = {
    offeredTools: (session) => (all ? session.tools() : host.offeredTools(session)).filter(isOfUse),
    on: (listener, types) => host.on(listener, types),
  }
  const serving = await serveTools(served, {
    info: { name: 'bulkhead', title: 'Bulkhead', version: CORE_VERSION },
    openSession: (interactor) => host.openSession({ ...policy, interactor }),
    onFault: faultReporter(),
  })
  if (process.stdin.isTTY) process.stderr.write('Waiting for an MCP client on standard input; Ctrl-D ends it.\n')
  const stop = () => void serving.close()
  for (const signal of ENDING_SIGNALS) process.once(signal, stop)
  await serving.closed
  for (const signal of ENDING_SIGNALS) process.off(signal, stop)
}

const MAX_FAULTS = 50
const MAX_FAULT_CHARS = 500

/** A client that does everything wrong fills no log. */
function faultReporter(): (error: Error) => void {
  let told = 0
  return (error) => {
    told += 1
    if (told < MAX_FAULTS) process.stderr.write(`mcp: ${visibleText(messageOf(error)).slice(0, MAX_FAULT_CHARS)}\n`)
    if (told === MAX_FAULTS) process.stderr.write('mcp: Further warnings of this kind are suppressed.\n')
  }
}

const LEAVE_MS = 2_000

/** What a client still sends, and what it does not read, would keep the process. */
function leave(): void {
  process.stdin.destroy()
  setTimeout(() => process.exit(), LEAVE_MS).unref()
}
