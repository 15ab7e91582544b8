import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { isAbsolute } from 'node:path'
import type { Readable } from 'node:stream'
import type { CompartmentLimits } from '@bulkhead/contract'
import { BulkheadError, DEFAULT_LIMITS } from '@bulkhead/contract'
import { inheritableDescriptors, isInheritable, resourceShortage } from '@bulkhead/broker'
import type { EndReport, HullAssignment, HullHandover, HullReport, HullStart } from '../wire/hull-protocol.ts'
import { socketTransport } from '../wire/socket-transport.ts'
import type { CompiledScript } from '../wire/worker-start.ts'
import type { EmptyHull, Hull, HullExit, HullShape, StartHull } from './hull.ts'
import { exitOf, termsOf, threadOptions } from './hull.ts'
import type { Image } from './image.ts'
import type { OsLayers } from '../os/hull-command.ts'
import { processEnd } from '../os/process-end.ts'
import { continueHull, killHull, spawnHull } from '../os/spawn-hull.ts'

const FLAGS = [
  // No file, no network, no process; only the one worker thread.
  '--permission', '--allow-worker',
  // A signal must not open the inspector, fresh buffers must not show old memory, a crash report must not show variables.
  '--disable-sigusr1', '--zero-fill-buffers', '--report-exclude-env',
  '--no-warnings', '--input-type=commonjs',
  // In less its thread would have to collect garbage while it starts.
  '--min-semi-space-size=4',
]

/** Enough of what a dying process says to tell a lack of memory from other ends. */
const DIAGNOSTIC_CHARS = 4_096
/** In the words of V8: of what only its heap lacked, and of what the system refused. */
const OUT_OF_HEAP = /heap out of memory|Fatal JavaScript/i
const OUT_OF_MEMORY = /allocation failed|out of memory/i

/** Child processes: whatever happens in one, ending it takes one signal. */
export function processStarter(image: Image, layers: OsLayers): StartHull {
  const { hull, boot } = image
  const handovers = new Handovers(image.author)
  let masked: readonly number[] | undefined
  return (shape, spare) => {
    refuseUnknownNode(process.execPath)
    masked = (masked ?? inheritableDescriptors()).filter(isInheritable)
    const options = { ...threadOptions(shape), stdin: false, stdout: true, stderr: true }
    const start: HullStart = { boot, options }
    const child = spawnHull(process.execPath, [...FLAGS, '--eval', hull, JSON.stringify(start)], layers, shape, masked)
    const streams = streamsOf(child)
    streams.control.write(handovers.of(image.script, spare))
    return new ProcessHull(child, streams, shape)
  }
}

/** The first line to a hull. To write it takes two milliseconds, and it is the same for all that run the same script. */
class Handovers {
  readonly #author: string
  readonly #lines = new Map<boolean, Buffer>()
  #script: CompiledScript | undefined

  constructor(author: string) {
    this.#author = author
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
    return Buffer.from(`${JSON.stringify({ author: this.#author, script: text, cacheBase64, spare } satisfies HullHandover)}\n`)
  }
}

/** By a bare name another Node could be found, with other rights. */
function refuseUnknownNode(path: string): void {
  if (isAbsolute(path)) return
  throw new BulkheadError(
    'CompartmentStartFailed',
    'No process can be started: where Node is, is not known without /proc. Mount it, or start Node by its full path.',
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
    // How a killed process hangs up; its end says more.
    for (const stream of [streams.control, streams.channel]) stream.on('error', () => undefined)
    const words = lastWords(child, streams, () => ready.resolve(true))
    this.exited = words.then((last) => {
      ready.resolve(false)
      return this.#exit(last)
    })
    for (const held of this.#held) held.unref()
  }

  /** What keeps the host alive, unless it is told not to. */
  get #held(): readonly (ChildProcess | Socket)[] {
    return [this.#child, ...Object.values(this.#streams)]
  }

  /** Its own watch can be told to allow less than the system does, not more. */
  fits({ heapMb, memoryMb }: HullShape): boolean {
    return heapMb === this.#shape.heapMb && memoryMb <= this.#shape.memoryMb
  }

  assign(limits: CompartmentLimits): Hull {
    const { control, channel } = this.#streams
    const { memoryMb, cpuMs, messageBytes } = limits
    this.#limits = limits
    for (const held of this.#held) held.ref()
    // It may have waited for hours, and whoever needs it now has no time to find out that it was stopped meanwhile.
    continueHull(this.#child)
    control.write(`${JSON.stringify({ memoryMb, cpuMs } satisfies HullAssignment)}\n`)
    const transport = socketTransport(channel, { maxFrameBytes: messageBytes, readOnlyWhenDrained: true, restsAfterLong: true })
    transport.send(JSON.stringify(termsOf(limits)))
    return {
      transport,
      ready: this.ready,
      exited: this.exited,
      kill: () => this.kill(),
    }
  }

  kill(): void {
    this.#killed = true
    // Whoever waits for its end sees it.
    for (const held of this.#held) held.ref()
    killHull(this.#child)
  }

  #exit({ report, ended, said }: LastWords): HullExit {
    if (report !== undefined) return exitOf(report, this.#limits)
    if (this.#killed) return { kind: 'killed' }
    if (OUT_OF_HEAP.test(said)) return { kind: 'memory', limit: 'heapMb', text: 'more heap than it may' }
    if (OUT_OF_MEMORY.test(said)) return { kind: 'memory', limit: 'memoryMb', text: 'more than the system gives it' }
    return { kind: 'crashed', text: `its process ended with ${ended}${said === '' ? '' : `: ${said.slice(0, 500)}`}` }
  }
}

interface HullStreams {
  readonly stdout: Socket
  readonly stderr: Socket
  readonly control: Socket
  readonly channel: Socket
}

function streamsOf(child: ChildProcess): HullStreams {
  // When no descriptor is left there are no streams at all, whatever the types say.
  const [, stdout, stderr, control, channel] = (child.stdio ?? []) as unknown as readonly (Socket | undefined)[]
  if (stdout && stderr && control && channel) return { stdout, stderr, control, channel }
  // Without a listener the failure would end the host.
  child.once('error', () => undefined)
  throw resourceShortage('No process could be started for the compartment', 'the host has no descriptors left')
}

interface LastWords {
  readonly report: EndReport | undefined
  readonly ended: string
  readonly said: string
}

const READY_LINE = `${JSON.stringify({ type: 'ready' } satisfies HullReport)}\n`

/** Settles once nothing of the process is left and all it said has been read. Contract: never rejects. */
async function lastWords(child: ChildProcess, streams: HullStreams, ready: () => void): Promise<LastWords> {
  const said = [collect(streams.stdout), collect(streams.stderr)]
  const reports = collect(streams.control, (text) => text.startsWith(READY_LINE) && ready())
  const ended = await new Promise<string>((resolve) => {
    // A channel that is not being read would never end.
    child.once('exit', () => streams.channel.resume())
    child.once('close', (code, signal) => resolve(processEnd(code, signal)))
    child.once('error', (error) => resolve(`an error: ${error.message}`))
  })
  return { report: firstReport(reports()), ended, said: said.map((text) => text()).join('\n').trim() }
}

/** Reads a stream to its end and keeps the beginning: the rest is thrown away, never gathered. */
function collect(stream: Readable, heard?: (text: string) => void): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    if (text.length >= DIAGNOSTIC_CHARS) return
    text += chunk.slice(0, DIAGNOSTIC_CHARS - text.length)
    heard?.(text)
  })
  return () => text
}

/** The main thread of a hull is ours, but shares a process with a stranger, so what it says is read with care. */
function firstReport(text: string): EndReport | undefined {
  try {
    const line = (text.startsWith(READY_LINE) ? text.slice(READY_LINE.length) : text).split('\n', 1)[0] ?? ''
    const { type, code, message, usedMb, usedMs } = JSON.parse(line) as Record<string, unknown>
    if (type === 'memory') return { type, usedMb: Number(usedMb) }
    if (type === 'cpu') return { type, usedMs: Number(usedMs) }
    if (type === 'exit') return { type, code: Number(code) }
    if (type === 'error') {
      return { type, ...(typeof code === 'string' && { code }), ...(typeof message === 'string' && { message }) }
    }
  } catch {
    // It ended without a word, or in the middle of one.
  }
  return undefined
}
