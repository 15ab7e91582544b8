import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { isAbsolute } from 'node:path'
import type { Readable } from 'node:stream'
import type { CompartmentLimits, CompartmentUse } from '@bulkhead/contract'
import { BulkheadError, DEFAULT_LIMITS } from '@bulkhead/contract'
import { inheritableDescriptors, isInheritable, resourceShortage } from '@bulkhead/broker'
import { treeUse } from '@bulkhead/kit/process-tree'
import type { OsLayers } from '../os/os-layer.ts'
import { continueHull, killHull, processEnd, spawnHull } from '../os/spawn-hull.ts'
import type { CompiledScript, EndReport, HullAssignment, HullHandover, HullReport, HullStart } from '../wire/protocol.ts'
import { socketTransport } from '../wire/transport.ts'
import type { EmptyHull, Hull, HullExit, HullShape, StartHull } from './hull.ts'
import { exitOf, termsOf, threadOptions } from './hull.ts'
import type { Image } from './image.ts'

const FLAGS = [
  // No file, no network, no process; only the one worker thread.
  '--permission', '--allow-worker',
  // No inspector by signal, no old memory in new buffers, no environment in crash reports.
  '--disable-sigusr1', '--zero-fill-buffers', '--report-exclude-env',
  '--no-warnings', '--input-type=commonjs',
  // With less, its thread would collect garbage while it starts.
  '--min-semi-space-size=4',
]

/** Enough of the output to recognise a lack of memory. */
const DIAGNOSTIC_CHARS = 4_096
/** V8's messages when the heap is full, and when the system refuses memory. */
const OUT_OF_HEAP = /heap out of memory|Fatal JavaScript/i
const OUT_OF_MEMORY = /allocation failed|out of memory/i

/**
 * Starts child processes. One signal ends everything in one. With `onListening` their threads open a debugger, and its
 * address is passed on.
 */
export function processStarter(image: Image, layers: OsLayers, onListening?: (address: string) => void): StartHull {
  const { hull, boot } = image
  const inspects = onListening !== undefined
  const handovers = new Handovers(image.author, inspects)
  let masked: readonly number[] | undefined
  return (shape, spare) => {
    refuseUnknownNode(process.execPath)
    masked = (masked ?? inheritableDescriptors()).filter(isInheritable)
    const options = { ...threadOptions(shape, inspects), stdin: false, stdout: true, stderr: true }
    const start: HullStart = { boot, options }
    const child = spawnHull(process.execPath, [...FLAGS, '--eval', hull, JSON.stringify(start)], layers, shape, masked)
    const streams = streamsOf(child)
    if (onListening !== undefined) findAddress(streams.stderr, onListening)
    // With the limits in one write if it is assigned at once: it may end when it has the script, and a failed write would
    // discard the report of its end.
    streams.control.cork()
    streams.control.write(handovers.of(image.script, spare))
    process.nextTick(() => streams.control.uncork())
    return new ProcessHull(child, streams, shape)
  }
}

/** The first line to a child process. Building it takes two milliseconds, so it is kept for each script. */
class Handovers {
  readonly #author: string
  readonly #inspects: boolean
  readonly #lines = new Map<boolean, Buffer>()
  #script: CompiledScript | undefined

  constructor(author: string, inspects: boolean) {
    this.#author = author
    this.#inspects = inspects
  }

  of(script: CompiledScript, spare: boolean): Buffer {
    if (script !== this.#script) this.#lines.clear()
    this.#script = script
    const line = this.#lines.get(spare) ?? this.#line(script, spare)
    this.#lines.set(spare, line)
    return line
  }

  #line({ text, cache }: CompiledScript, spare: boolean): Buffer {
    const cacheBase64 = Buffer.from(cache).toString('base64')
    const handover: HullHandover = { author: this.#author, script: text, cacheBase64, spare, inspects: this.#inspects }
    return Buffer.from(`${JSON.stringify(handover)}\n`)
  }
}

/** A bare name could find another Node, with other rights. */
function refuseUnknownNode(path: string): void {
  if (isAbsolute(path)) return
  throw new BulkheadError(
    'CompartmentStartFailed',
    'Cannot locate the Node executable because /proc is not mounted. Mount it, or start Node by its full path.',
  )
}

class ProcessHull implements EmptyHull {
  readonly ready: Promise<boolean>
  readonly exited: Promise<HullExit>
  readonly #child: ChildProcess
  readonly #streams: HullStreams
  readonly #shape: HullShape
  #limits: CompartmentLimits
  #killed = false

  constructor(child: ChildProcess, streams: HullStreams, shape: HullShape) {
    const ready = Promise.withResolvers<boolean>()
    this.#shape = shape
    this.ready = ready.promise
    this.#child = child
    this.#streams = streams
    this.#limits = { ...DEFAULT_LIMITS, ...shape }
    // A killed process resets its connections; its exit is reported below.
    for (const stream of [streams.control, streams.channel]) stream.on('error', () => undefined)
    const report = exitReport(child, streams, () => ready.resolve(true))
    this.exited = report.then((last) => {
      ready.resolve(false)
      return this.#exit(last)
    })
    for (const held of this.#held) held.unref()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** The handles that keep the host alive. */
  get #held(): readonly (ChildProcess | Socket)[] {
    return [this.#child, ...Object.values(this.#streams)]
  }

  /** A lower memory limit can be set later, a higher one cannot. */
  fits({ heapMb, memoryMb }: HullShape): boolean {
    return heapMb === this.#shape.heapMb && memoryMb <= this.#shape.memoryMb
  }

  assign(limits: CompartmentLimits): Hull {
    const { control, channel } = this.#streams
    const { memoryMb, cpuMs, messageBytes } = limits
    this.#limits = limits
    for (const held of this.#held) held.ref()
    // A spare may have been stopped (SIGSTOP) while it waited.
    continueHull(this.#child)
    control.write(`${JSON.stringify({ memoryMb, cpuMs } satisfies HullAssignment)}\n`)
    const options = { maxFrameBytes: messageBytes, readOnlyWhenDrained: true, pausesAfterLong: true }
    const transport = socketTransport(channel, options)
    transport.send(JSON.stringify(termsOf(limits)))
    return {
      transport,
      ready: this.ready,
      exited: this.exited,
      use: () => this.#use(),
      kill: () => this.kill(),
    }
  }

  kill(): void {
    this.#killed = true
    // Keeps the host alive until the end.
    for (const held of this.#held) held.ref()
    killHull(this.#child)
  }

  async #use(): Promise<CompartmentUse | undefined> {
    const { pid, exitCode } = this.#child
    const use = pid === undefined || exitCode !== null ? undefined : await treeUse(pid)
    return use && { pid: pid!, ...use }
  }

  #exit({ report, ended, output }: ExitReport): HullExit {
    if (report !== undefined) return exitOf(report, this.#limits)
    if (this.#killed) return { kind: 'killed' }
    if (OUT_OF_HEAP.test(output)) return { kind: 'memory', limit: 'heapMb', text: 'more heap than its limit' }
    if (OUT_OF_MEMORY.test(output)) return { kind: 'memory', limit: 'memoryMb', text: 'more than the system gives it' }
    const printed = output === '' ? '' : `: ${output.slice(0, 500)}`
    return { kind: 'crashed', text: `its process ended with ${ended}${printed}` }
  }
}

interface HullStreams {
  readonly stdout: Socket
  readonly stderr: Socket
  readonly control: Socket
  readonly channel: Socket
}

function streamsOf(child: ChildProcess): HullStreams {
  // Without free descriptors there are no streams, contrary to the types.
  const [, stdout, stderr, control, channel] = (child.stdio ?? []) as unknown as readonly (Socket | undefined)[]
  if (stdout && stderr && control && channel) return { stdout, stderr, control, channel }
  // An unhandled 'error' event would end the host.
  child.once('error', () => undefined)
  throw resourceShortage('No process could be started for the compartment', 'the host has no descriptors left')
}

interface ExitReport {
  readonly report: EndReport | undefined
  readonly ended: string
  readonly output: string
}

const READY_LINE = `${JSON.stringify({ type: 'ready' } satisfies HullReport)}\n`

/** Settles when nothing of the process is left and all its output was read. Contract: never rejects. */
async function exitReport(child: ChildProcess, streams: HullStreams, ready: () => void): Promise<ExitReport> {
  const output = [collect(streams.stdout), collect(streams.stderr)]
  const reports = collect(streams.control, (text) => text.startsWith(READY_LINE) && ready())
  const ended = await new Promise<string>((resolve) => {
    // A channel that is paused would never end.
    child.once('exit', () => streams.channel.resume())
    child.once('close', (code, signal) => resolve(processEnd(code, signal)))
    child.once('error', (error) => resolve(`an error: ${error.message}`))
  })
  return { report: firstReport(reports()), ended, output: output.map((text) => text()).join('\n').trim() }
}

const ADDRESS = /^Debugger listening on (ws:\/\/127\.0\.0\.1:\d+\/[\w-]+)$/m

/** The address of a debugger that Node writes. It comes before all code of an extension. */
function findAddress(stderr: Readable, onListening: (address: string) => void): void {
  let text = ''
  const look = (chunk: string | Buffer): void => {
    text += String(chunk)
    const address = ADDRESS.exec(text)?.[1]
    if (address === undefined && text.length < DIAGNOSTIC_CHARS) return
    stderr.off('data', look)
    if (address !== undefined) onListening(address)
  }
  stderr.on('data', look)
}

/** Reads a stream to its end, and keeps only the beginning. */
function collect(stream: Readable, onText?: (text: string) => void): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    if (text.length >= DIAGNOSTIC_CHARS) return
    text += chunk.slice(0, DIAGNOSTIC_CHARS - text.length)
    onText?.(text)
  })
  return () => text
}

/** The main thread shares its process with untrusted code, so its report is checked. */
function firstReport(text: string): EndReport | undefined {
  try {
    const line = (text.startsWith(READY_LINE) ? text.slice(READY_LINE.length) : text).split('\n', 1)[0] ?? ''
    const { type, code, message, stack, usedMb, usedMs } = JSON.parse(line) as Record<string, unknown>
    if (type === 'memory') return { type, usedMb: Number(usedMb) }
    if (type === 'cpu') return { type, usedMs: Number(usedMs) }
    if (type === 'exit') return { type, code: Number(code) }
    if (type === 'error') {
      return {
        type, ...(typeof code === 'string' && { code }), ...(typeof message === 'string' && { message }),
        ...(typeof stack === 'string' && { stack }),
      }
    }
  } catch {
    // It ended without a report, or within one.
  }
  return undefined
}
