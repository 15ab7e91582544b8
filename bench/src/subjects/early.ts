import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text as readAll } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { findDeno } from '../loads/deno.ts'
import { NOTES, openPublished, type Published } from '../loads/published.ts'
import { ascending, quantile } from '../harness/statistics.ts'
import { defineSubject, type Runner, type Side } from '../harness/subject.ts'

const peer = (name: string): string => fileURLToPath(new URL(`../peers/${name}.mjs`, import.meta.url))

/** How many calls a fresh process makes. */
const CALLS = 60
const ARGS = { path: 'notes.md' }

/** What a fresh process measured. */
interface Measured {
  readonly text: unknown
  /** From the start of the process. */
  readonly startedMs: number
  /** From `createHost`, or from `connect`. */
  readonly firstMs: number
  readonly micros: readonly number[]
  /** The first call of a second session. */
  readonly laterMs?: number
}

/** Starts a process that writes `first` and later what it measured. */
async function measured(args: readonly string[], cwd: string): Promise<Measured> {
  const begin = performance.now()
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  let startedMs = NaN
  child.stdout.once('data', () => void (startedMs = performance.now() - begin))
  const [output] = await Promise.all([readAll(child.stdout), once(child, 'close')])
  const [first, line = ''] = output.split('\n')
  if (first !== 'first') throw new Error(`The process wrote ${JSON.stringify(output)}.`)
  return { ...JSON.parse(line) as Omit<Measured, 'startedMs'>, startedMs }
}

const median = (values: readonly number[]): number => quantile(ascending(values), 0.5)

/** A side whose processes are started for each measurement. */
function fresh<const Name extends string>(
  name: Name, once_: (published: Published, calls: number) => Promise<Measured>,
  first: (one: Measured) => number = ({ startedMs }) => startedMs, callsBefore = 1,
) {
  return {
    name,
    answer: () => NOTES,
    start: async (): Promise<Runner> => {
      const published = await openPublished()
      let text: unknown
      const measure = async (calls: number): Promise<Measured> => {
        const one = await once_(published, calls)
        text = one.text
        return one
      }
      await measure(1)
      return {
        run: async () => text,
        firstMs: async () => first(await measure(callsBefore)),
        earlyMicros: async () => median((await measure(CALLS)).micros.slice(1)),
        stop: () => published.remove(),
      }
    },
  } as const satisfies Side<Name>
}

const bulkheadOf = (tool: string) => ({ library, home, workspace }: Published, calls: number): Promise<Measured> =>
  measured([peer('early-bulkhead'), library, home, workspace, String(calls), tool], workspace)
const bulkhead = bulkheadOf('read_notes')

const sdk = ({ workspace }: Published, calls: number): Promise<Measured> =>
  measured([peer('early-sdk-client'), peer('early-sdk-server'), workspace, String(calls)], workspace)

/** Without a client of its own: lines of JSON over standard input and output. */
async function deno({ workspace }: Published, calls: number): Promise<Measured> {
  const program = await findDeno()
  const begin = performance.now()
  const child = spawn(program, ['run', '--no-config', '--allow-read=.', peer('early-deno')], { cwd: workspace, stdio: ['pipe', 'pipe', 'inherit'] })
  const micros: number[] = []
  let startedMs = NaN
  let text: unknown
  for (let call = 0; call < calls; call++) {
    const before = performance.now()
    child.stdin.write(`${JSON.stringify(ARGS)}\n`)
    const [line] = await once(child.stdout, 'data') as [Buffer]
    micros.push((performance.now() - before) * 1000)
    text = (JSON.parse(line.toString()) as { readonly text: unknown }).text
    if (call === 0) startedMs = performance.now() - begin
  }
  child.stdin.end()
  await once(child, 'close')
  return { text, startedMs, firstMs: startedMs, micros }
}

/** `bulkhead call`, until its result is printed. */
async function command({ program, home, workspace }: Published): Promise<Measured> {
  const begin = performance.now()
  const args = ['call', 'read_notes', '--args', JSON.stringify(ARGS), '--mode', 'yolo', '--home', home, '--workspace', workspace]
  const child = spawn(process.execPath, [program, ...args], { cwd: workspace, stdio: ['ignore', 'pipe', 'ignore'] })
  let startedMs = NaN
  child.stdout.once('data', () => void (startedMs = performance.now() - begin))
  const [output] = await Promise.all([readAll(child.stdout), once(child, 'close')])
  const { text } = JSON.parse(output) as { readonly text: unknown }
  return { text, startedMs, firstMs: startedMs, micros: [] }
}

/** A server over standard input and output, with a client that is loaded already. */
async function served(args: readonly string[], workspace: string): Promise<Measured> {
  const begin = performance.now()
  const client = new Client({ name: 'bench', version: '1.0.0' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [...args], cwd: workspace, stderr: 'ignore' }))
  const result = await client.callTool({ name: 'read_notes', arguments: ARGS })
  const startedMs = performance.now() - begin
  await client.close()
  const { text } = (result.structuredContent ?? {}) as { readonly text?: unknown }
  return { text, startedMs, firstMs: startedMs, micros: [] }
}

export const firstAnswer = defineSubject({
  title: 'The first answer of a third-party tool that reads a small file',
  compares: 'A fresh process for each, from its start to the first answer: a client and a server of the official SDK, '
    + 'Deno with lines of JSON, and the published packages with a used home. "from createHost" leaves out the import. '
    + 'The two servers have a client that is loaded already.',
  sides: [
    fresh('MCP SDK over stdio', sdk),
    fresh('Deno with JSON lines', deno),
    fresh('bulkhead', bulkhead),
    fresh('bulkhead from createHost', bulkhead, ({ firstMs }) => firstMs),
    fresh('bulkhead call', command),
    fresh('MCP SDK server', ({ workspace }) => served([peer('early-sdk-server')], workspace)),
    fresh('bulkhead mcp', ({ program, home, workspace }) =>
      served([program, 'mcp', '--workspace', workspace, '--home', home, '--mode', 'yolo'], workspace)),
  ],
  modes: [{ kind: 'first' }],
  rounds: 14,
  ratios: [
    { side: 'bulkhead from createHost', measure: 'first', against: 'MCP SDK over stdio', is: '≤', ratio: 0.8 },
    { side: 'bulkhead call', measure: 'first', against: 'MCP SDK over stdio', is: '≤', ratio: 1 },
    { side: 'bulkhead', measure: 'first', against: 'MCP SDK over stdio' },
    { side: 'bulkhead', measure: 'first', against: 'Deno with JSON lines' },
    { side: 'bulkhead mcp', measure: 'first', against: 'MCP SDK server' },
  ],
})

export const earlyCalls = defineSubject({
  title: 'Calls 2 to 60 of a fresh process, each reading a small file',
  compares: 'A third-party tool in a process that reads through the broker, against a server of the official SDK and '
    + 'Deno, which read the file themselves. The median of each process.',
  sides: [fresh('MCP SDK over stdio', sdk), fresh('Deno with JSON lines', deno), fresh('bulkhead', bulkhead)],
  modes: [{ kind: 'early' }],
  rounds: 18,
  ratios: [
    { side: 'bulkhead', measure: 'early', against: 'MCP SDK over stdio', is: '≤', ratio: 1.5 },
    { side: 'bulkhead', measure: 'early', against: 'Deno with JSON lines' },
  ],
})

const MOST_READ_MS = 3
const SESSION_CALLS = 10

/** The time that it may take. */
const limit = {
  name: '3 ms',
  answer: () => undefined,
  start: async (): Promise<Runner> => ({ run: async () => undefined, firstMs: async () => MOST_READ_MS, stop: async () => undefined }),
} as const satisfies Side

export const firstRead = defineSubject({
  title: 'The first `read` of a session',
  compares: 'A bundled tool in the second session of a fresh process, whose first session made ten calls, against 3 ms.',
  sides: [limit, fresh('first read', bulkheadOf('read'), ({ laterMs }) => laterMs!, SESSION_CALLS)],
  modes: [{ kind: 'first' }],
  rounds: 12,
  ratios: [{ side: 'first read', measure: 'first', against: '3 ms', is: '≤', ratio: 1 }],
})
