import type { PromptSource, ServedHost, ServeOptions, Serving, TokenClient } from '@bulkhead/bridges/mcp'
import type { SecurityMode, ToolDefinition } from '@bulkhead/contract'
import { toolsSelectedBy } from '@bulkhead/contract/dialects'
import { messageOf } from '@bulkhead/kit/error-message'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import type { SessionOptions } from '@bulkhead/host'
import type { Host } from '../../facade/create-host.ts'
import { kitFolder } from '../../facade/folders.ts'
import { CORE_VERSION } from '../../facade/version.ts'
import { type Command, defineSubcommand, ENDING_SIGNALS, commaSeparated, UsageError } from '../command.ts'
import { add, ADD_DETAILS, remove } from './mcp-add.ts'
import { LISTEN_OPTIONS, listenFault, listenOptions, type ListenOptions } from './mcp-listen.ts'
import { login, LOGIN_DETAILS, logout } from './mcp-login.ts'
import { token, TOKEN_DETAILS } from './mcp-token.ts'
import { diagnosticText, hint } from '../output.ts'
import { FOLDER_OPTIONS, headlessOf, MODE_OPTION, openHost, STORE_OPTIONS, WAIT_OPTION } from '../host-options.ts'
import { newToken, TokenBook, tokenFile } from '../token-book.ts'
import { wallsHere, wallsText } from '../walls-here.ts'

const serve = defineSubcommand({
  text: 'serve the tools of this host',
  usage: '[--http [--port] [--host] [--cert --key] [--insecure] [--token-file]]',
  options: {
    ...LISTEN_OPTIONS,
    ...MODE_OPTION,
    tools: {
      type: 'string', value: 'NAME,…', completes: 'tool',
      text: 'offer only these tools: names, their first parts ("web"), or patterns ("git*") (default: all)',
    },
    all: {
      type: 'boolean', text: 'list all tools, even more than twenty (by default, a client finds them with tool_search)',
    },
    ...WAIT_OPTION, ...STORE_OPTIONS, ...FOLDER_OPTIONS, json: { type: 'boolean' },
  },
  async run({ values }) {
    if (values.json) throw new UsageError('--json cannot be used with "mcp": standard output carries the protocol.')
    const { mode } = values
    const headless = headlessOf(values)
    const listening = await listenOptions(values)
    const tools = values.tools === undefined ? undefined : commaSeparated(values.tools)

    const host = await openHost(values, true, true)
    try {
      for (const found of host.diagnostics) process.stderr.write(diagnosticText(found, process.stderr))
      const known = new Set(host.tools().map(({ name }) => name))
      for (const entry of (tools ?? []).filter((one) => toolsSelectedBy(one, known).length === 0)) {
        const meant = meantNames(entry.replaceAll('*', ''), known)
        process.stderr.write(
          `mcp: there is no tool "${visibleText(entry)}" yet; it is offered once it is available.${meant}\n`,
        )
      }
      const policy = { ...(mode === undefined ? {} : { mode }), ...(tools === undefined ? {} : { tools }), ...headless }
      const { createKitPrompts } = await import('@bulkhead/tools-bundled')
      const prompts = [createKitPrompts(kitFolder(values.home))]
      await serveUntilGone(host, policy, values.all === true, listening && { ...listening, home: values.home }, prompts)
    } finally {
      await host.close()
    }
    leave()
    return 0
  },
})

export const mcp: Command = {
  subcommands: { '': serve, add, remove, login, logout, token },
  operands: { NAME: { text: 'name of a server under "mcp" in the configuration, or of a token' } },
  details: `Speaks the Model Context Protocol on standard input and output until the client disconnects. In the
configuration of the client, use the command "bulkhead" with the argument "mcp". The same rules apply as for "bulkhead
call". If a call requires approval, the client asks the user. If the client does not support that, the call is denied
with a message that says how to allow it, or with --wait waits until someone answers elsewhere. Changes on disk are loaded while it runs. Client errors and disabled
extensions are printed on standard error. There is no authentication: the process that starts the command may use the
tools. Besides tools a client gets resources (skills and long results) and prompts (kits, also those in "kits" of the
home).

With --http it serves Streamable HTTP at /mcp until it is stopped. The address is printed once, on standard error. Every
request must carry the header "Authorization: Bearer TOKEN", and may come from this machine only, unless you pass
--host. Each client gets its own session, also from several of these processes on one home behind a load balancer, if
all accept the same token. The token is the one that you give, or one of "mcp token". Without either, a
new one is printed with each start.

${TOKEN_DETAILS}

${ADD_DETAILS}

${LOGIN_DETAILS}`,
  exits: ['when the client has disconnected, or the server was stopped', 'if the host could not start'],
  examples: [
    { command: 'bulkhead mcp --workspace ~/src/shop', text: 'serve the tools of one project' },
    { command: 'bulkhead mcp --mode allowlist --tools read,grep,glob', text: 'three tools, and no questions' },
    { command: "bulkhead mcp --tools 'web,git*'", text: 'web_fetch, web_search, and every tool that begins with git' },
    { command: 'bulkhead mcp --http --port 9000', text: 'serve over HTTP, to this machine only' },
    { command: 'bulkhead mcp token add editor --role reviewer', text: 'a token for one client over HTTP' },
    {
      command: 'bulkhead mcp add notes --read ~/notes -- npx -y @acme/notes-server',
      text: 'add a local server, and let it read one folder',
    },
    { command: 'bulkhead mcp login harbour', text: 'sign in to a remote server of the configuration' },
  ],
}

interface Policy extends Pick<SessionOptions, 'headless'> {
  readonly mode?: SecurityMode
  readonly tools?: readonly string[]
}

const WAITING = 'Waiting for an MCP client on standard input. Press Ctrl-D to stop.\n'

async function serveUntilGone(
  host: Awaited<ReturnType<typeof openHost>>, policy: Policy, all: boolean, listening: Listening | undefined,
  prompts: readonly PromptSource[],
): Promise<void> {
  // The bundled `task` tool needs an agent runner, which an MCP client has on its own side.
  const isRunner = (tool: ToolDefinition) => tool.name === 'task' && host.tool(tool.name)?.layer === 'bundled'
  // The list is read with every call, and describing a tool is slow. A definition never changes.
  const known = new WeakMap<ToolDefinition, boolean>()
  const isOfUse = (tool: ToolDefinition) => !known.getOrInsertComputed(tool, isRunner)
  const served: ServedHost = {
    offeredTools: (session) => (all ? session.tools() : host.offeredTools(session)).filter(isOfUse),
    on: (listener, types) => host.on(listener, types),
    replicas: host.replicas,
  }
  const onFault = faultReporter()
  host.on((event) => {
    if (event.type === 'ServerStartFailed') onFault(new Error(event.message))
  }, ['ServerStartFailed'])
  const options: ServeOptions = {
    info: { name: 'bulkhead', title: 'Bulkhead', version: CORE_VERSION },
    openSession: (interactor, client) => host.openSession({
      ...policy, interactor, ...principalOf(client), ...(client?.role !== undefined && { role: client.role }),
    }),
    resumeSession: (id, interactor, client) => host.resumeSession(id, { interactor, ...principalOf(client) }),
    prompts,
    onFault,
  }
  const serving = await (listening ? serveOverHttp(served, options, listening) : serveOverStdio(served, options))
  void host.tryWalls()
  // A client that starts this has no use for it, and each start would try them all.
  if (listening || process.stdin.isTTY) void sayWalls(host)
  const stop = () => void serving.close()
  for (const signal of ENDING_SIGNALS) process.once(signal, stop)
  await serving.closed
  for (const signal of ENDING_SIGNALS) process.off(signal, stop)
}

/** A token that was given or made for this start has a number, and no name. */
const principalOf = (client: TokenClient | undefined): Pick<SessionOptions, 'principal'> =>
  client?.revoked ? { principal: { id: client.name } } : {}

/** Not awaited: trying the walls takes longer than starting to serve. */
async function sayWalls(host: Pick<Host, 'walls'>): Promise<void> {
  process.stderr.write(`${wallsText(await wallsHere(host))}\n`)
}

async function serveOverStdio(host: ServedHost, options: ServeOptions): Promise<Serving> {
  const { serveTools } = await import('@bulkhead/bridges/mcp')
  // Each pending message adds a `drain` listener.
  process.stdout.setMaxListeners(0)
  const serving = await serveTools(host, options)
  if (process.stdin.isTTY) process.stderr.write(hint(WAITING))
  return serving
}

interface Listening extends ListenOptions {
  readonly home: string | undefined
}

async function serveOverHttp(host: ServedHost, options: ServeOptions, listening: Listening): Promise<Serving> {
  const { serveToolsOverHttp } = await import('@bulkhead/bridges/mcp')
  const { token: given, home, ...place } = listening
  const book = new TokenBook(tokenFile(home), (error) => options.onFault?.(error))
  const { names } = book
  const made = given === undefined && names.length === 0 ? newToken() : undefined
  const tokens = [given, made].filter((one) => one !== undefined)
  const serving = await serveToolsOverHttp(host, {
    ...options, ...place, tokens, verify: (presented) => book.clientOf(presented),
  }).catch((error: unknown) => {
    throw listenFault(error, place)
  })
  void serving.closed.then(book.watch())
  const known = [...(given === undefined ? [] : ['the given token']), ...names].join(', ')
  process.stderr.write(`Serving MCP at ${serving.url}\nAuthorization: Bearer ${made ?? `TOKEN (${known})`}\n`)
  return serving
}

const MAX_FAULTS = 50
const MAX_FAULT_CHARS = 500

/** Limits the output, so that a faulty client cannot flood the log. */
function faultReporter(): (error: Error) => void {
  let reported = 0
  return (error) => {
    reported += 1
    if (reported < MAX_FAULTS) process.stderr.write(`mcp: ${visibleText(messageOf(error)).slice(0, MAX_FAULT_CHARS)}\n`)
    if (reported === MAX_FAULTS) process.stderr.write('mcp: Further warnings of this kind are suppressed.\n')
  }
}

const LEAVE_MS = 2_000

/** Open pipes to a client would keep the process alive. */
function leave(): void {
  process.stdin.destroy()
  setTimeout(() => process.exit(), LEAVE_MS).unref()
}
