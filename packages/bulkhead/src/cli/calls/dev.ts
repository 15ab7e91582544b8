import { watch } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { styleText } from 'node:util'
import { unusedPowers } from '@bulkhead/conformance'
import {
  BulkheadError, declaredPower, powerItems, powerPhrases, type CapabilityUse, type ExtensionDescriptor,
  type SecurityMode,
} from '@bulkhead/contract'
import { parseJson } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Packed } from '@bulkhead/loader'
import type { Host } from '../../facade/create-host.ts'
import { defineCommand, UsageError } from '../command.ts'
import { FailureTraces } from '../failure-traces.ts'
import { complete, DEV_COMMANDS } from './dev-completion.ts'
import { offer, readForProject } from '../extension-source.ts'
import {
  canAsk, COMMON_OPTIONS, MODE_OPTION, openHost, SOURCE_OPTIONS, STORE_OPTIONS, terminal,
} from '../host-options.ts'
import { faultText, hint } from '../output.ts'
import { printOutcome } from '../print-outcome.ts'
import { Inspected, startedAtOnce } from './inspected.ts'
import { extensionLines, sourceCount } from '../review.ts'
import { wallsHere, wallsText } from '../walls-here.ts'

export const dev = defineCommand({
  usage: '[DIR]',
  operands: { DIR: { text: 'folder of an extension (default: this folder)', completes: 'folder' } },
  options: {
    ...MODE_OPTION,
    inspect: { type: 'boolean', text: 'open a debugger for the code in DIR, in a process without some of its walls' },
    ...STORE_OPTIONS, ...SOURCE_OPTIONS, ...COMMON_OPTIONS, json: { type: 'boolean' },
  },
  details: `Opens a host with the extension in DIR, and a prompt to call its tools: NAME {"argument": "value"}. Tab
completes names, arguments and fixed values. When a file changes, the extension is built and loaded again. Logs,
progress and what the tools used are printed on standard error, results on standard output. Rules and approvals apply
as for "bulkhead call". Without a terminal, the calls are read from standard input, one in each line. With --inspect, the
code in DIR runs in a process with a debugger on the loopback interface, which shares your network and has no system
call filter. Installed tools run as always.

${Object.entries(DEV_COMMANDS).map(([name, text]) => `  ${name.padEnd(8)}  ${text}`).join('\n')}`,
  exits: ['when you leave', 'if the extension cannot be built at the start'],
  examples: [{ command: 'bulkhead dev ./word-count --mode yolo', text: 'work on a tool, without questions' }],

  async run({ values, positionals: [dir = '.', ...more] }) {
    if (more.length > 0) throw new UsageError('Name one folder after "dev".')
    if (values.json) throw new UsageError('--json cannot be used with "dev". Use "bulkhead call DIR NAME --json".')
    const uses: CapabilityUse[] = []
    const traces = new FailureTraces(dir)
    const build = () => readForProject(dir, values)
    const first = await build()
    const inspected = values.inspect ? new Inspected() : undefined
    await using host = await openHost(values, true, false, {
      onUse: (use) => void uses.push(use), onFailure: traces.listener, inspect: inspected,
    })
    const { mode, workspace = '.' } = values
    const bench = { host, folder: resolve(dir), build, workspace: resolve(workspace), mode, uses, traces, inspected }
    await work(bench, first)
    return 0
  },
})

interface Workbench {
  readonly host: Host
  readonly folder: string
  readonly build: () => Promise<Packed>
  readonly workspace: string
  readonly mode: SecurityMode | undefined
  readonly uses: readonly CapabilityUse[]
  readonly traces: FailureTraces
  readonly inspected: Inspected | undefined
}

async function work(bench: Workbench, first: Packed): Promise<void> {
  const { host, folder, build, workspace, mode, uses, traces, inspected } = bench
  let { extension } = first
  const prompt = new Prompt((line) => complete(line, extension.manifest.tools))
  prompt.say([...sourceCount(first), ...extensionLines(extension)].join('\n'))
  inspected?.tell((text) => prompt.say(text))
  const offered = () => offer(host, inspected === undefined ? extension : startedAtOnce(extension))
  await offered()
  let isOver = false
  // Not awaited: trying them takes about a second. A tool with a debugger does not have all of them.
  if (inspected === undefined) void wallsHere(host).then((walls) => isOver || prompt.say(wallsText(walls)))
  prompt.say(hint('Call a tool: NAME {"argument": "value"}. Enter .help for more.'))

  let building: Promise<void> = Promise.resolve()
  const reload = (): Promise<void> => {
    building = building.then(async () => {
      const built = await build()
      if (built.extension.digests.package === extension.digests.package) return
      extension = built.extension
      await offered()
      prompt.say(`Reloaded ${extension.id} ${extension.version}.`)
    }).catch((error: unknown) => prompt.say(faultText(BulkheadError.from(error)).trimEnd()))
    return building
  }
  const stopWatching = watchFolder(folder, () => void reload())
  const off = host.on((event) => {
    if (event.type === 'ExtensionLog' && event.extensionId === extension.id) {
      prompt.say(`${event.level}: ${visibleText(event.text)}`)
    }
    if (event.type === 'ToolInvocationProgress') prompt.say(visibleText(event.text))
  }, ['ExtensionLog', 'ToolInvocationProgress'])
  const interactor = terminal()
  const session = await host.openSession({ ...(mode && { mode }), ...(interactor && { interactor }) })
  const answers = {
    '.tools': () => prompt.say(toolsText(extension)),
    '.powers': () => prompt.say(powersText(extension, uses, workspace)),
    '.reload': reload,
    '.help': () => prompt.say(Object.entries(DEV_COMMANDS).map(([name, text]) => `${name}  ${text}`).join('\n')),
  }
  let calls = 0
  for await (const line of prompt.lines()) {
    const [, name = '', text = ''] = /^(\S*)\s*(.*)$/s.exec(line.trim()) ?? []
    if (name === '.exit') break
    if (name === '') continue
    await building
    if (Object.hasOwn(answers, name)) {
      await answers[name as keyof typeof answers]()
      continue
    }
    const parsed = parseJson(text === '' ? '{}' : text)
    const isKnown = extension.manifest.tools.some((tool) => tool.name === name)
    if (!isKnown) prompt.say(`There is no tool "${visibleText(name)}". Enter .tools for a list.`)
    else if (!parsed.ok) prompt.say(visibleText(`The arguments: ${parsed.fault.message}.`))
    else {
      const call = { id: `dev-${++calls}`, name, arguments: parsed.value }
      printOutcome(await interruptible((signal) => session.call(call, { signal, ...inspected?.patience })), false, traces)
      prompt.say(powersText(extension, uses, workspace, name))
    }
  }
  isOver = true
  off()
  stopWatching()
  await building
  await session.close()
}

/** Ctrl-C cancels a running call, and not the command. */
async function interruptible<Value>(run: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const interrupt = new AbortController()
  const onInterrupt = () => interrupt.abort()
  process.once('SIGINT', onInterrupt)
  try {
    return await run(interrupt.signal)
  } finally {
    process.off('SIGINT', onInterrupt)
  }
}

const QUIET_MS = 100
/** Nothing that is packed, or that packing writes. */
const UNPACKED = /(?:^|[/\\])(?:node_modules|\.[^/\\]*)(?:[/\\]|$)|^bulkhead\.integrity\.json|\.tgz$/

/** Calls back once after a burst of changes, until the returned function is called. */
function watchFolder(folder: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const watcher = watch(folder, { recursive: true, ignore: (name) => UNPACKED.test(name) }, () => {
    clearTimeout(timer)
    timer = setTimeout(onChange, QUIET_MS)
  })
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}

/** Lines from a person or a pipe, and messages between them. */
class Prompt {
  readonly #complete: (line: string) => [string[], string]
  #open: Interface | undefined
  #history: string[] = []

  constructor(completer: (line: string) => [string[], string]) {
    this.#complete = completer
  }

  /** Prints above the line that is being typed. */
  say(text: string): void {
    if (text === '') return
    if (this.#open !== undefined) process.stderr.write('\r\u001B[K')
    process.stderr.write(`${text}\n`)
    this.#open?.prompt(true)
  }

  async* lines(): AsyncGenerator<string> {
    if (!canAsk()) {
      // An open interface would keep the process alive.
      using piped = createInterface({ input: process.stdin })
      yield* piped
      return
    }
    for (;;) {
      const line = await this.#read()
      if (line === undefined) return
      yield line
    }
  }

  /** One interface for each line: a call may ask questions at the same terminal. */
  async #read(): Promise<string | undefined> {
    const { promise, resolve: done } = Promise.withResolvers<string | undefined>()
    const opened = createInterface({
      input: process.stdin, output: process.stderr, completer: this.#complete, history: this.#history,
    })
    opened.on('history', (history) => { this.#history = history })
    opened.once('close', () => done(undefined))
    this.#open = opened
    opened.question('> ', done)
    const line = await promise
    this.#open = undefined
    opened.close()
    return line
  }
}

const toolsText = ({ manifest: { tools } }: ExtensionDescriptor): string =>
  tools.map(({ name, description, inputSchema }) =>
    `${styleText('bold', name)}  ${visibleText(description)}\n  ${visibleText(JSON.stringify(inputSchema))}`).join('\n')

/** What the tools used so far, and what they declare and did not use yet. */
function powersText(
  extension: ExtensionDescriptor, uses: readonly CapabilityUse[], workspace: string, only?: string,
): string {
  const unused = unusedPowers({ extension, workspace, recorder: { uses } })
  return extension.manifest.tools.filter(({ name }) => only === undefined || name === only).flatMap(({ name }) => {
    const used = new Set(uses.filter(({ tool }) => tool === name).map(({ part, subject }) => `${part} ${subject}`))
    const rest = powerPhrases(powerItems(declaredPower(unused.tools.get(name) ?? {})), 'does')
    return [
      `${name} used: ${[...used].map((use) => visibleText(use)).join(', ') || 'nothing'}`,
      ...(rest.length === 0 ? [] : [`${name} declares and did not use yet: ${rest.join(', ')}`]),
    ]
  }).join('\n')
}
