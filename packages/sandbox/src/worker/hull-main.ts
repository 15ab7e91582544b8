// The main thread of a child process, passed as source text, so it needs no file. It starts the worker that runs an
// extension, watches its limits, and kills the process when the worker or the host ends, or a limit is exceeded.
import { read, readSync, writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { monotonicMs } from '../wire/clock.ts'
import { errorReport } from '../wire/errors.ts'
import type { HullAssignment, HullHandover, HullReport, HullStart, WorkerStart } from '../wire/protocol.ts'

const CONTROL_FD = 3
const CHUNK_BYTES = 65_536
const LINE_BYTES = 1_024
const POLL_MS = 50
const CPU_WINDOW_MS = 10_000
const MB = 1024 * 1024
const KB = 1024

const die = (): void => void process.kill(process.pid, 'SIGKILL')

const { boot, options } = JSON.parse(process.argv[1]!) as HullStart
const worker = new Worker(boot, { ...options, eval: true, workerData: { inHull: true } satisfies Partial<WorkerStart> })

/** Blocks; the worker starts meanwhile. */
function firstLine(): { readonly line: string; readonly rest: string } {
  const chunks: Buffer[] = []
  for (;;) {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    const length = readSync(CONTROL_FD, chunk)
    if (length === 0) die()
    const end = chunk.subarray(0, length).indexOf('\n')
    chunks.push(chunk.subarray(0, end < 0 ? length : end))
    if (end >= 0) return { line: Buffer.concat(chunks).toString(), rest: chunk.toString('utf8', end + 1, length) }
  }
}

const { line, rest } = firstLine()
const { author, script, cacheBase64, spare, inspects } = JSON.parse(line) as HullHandover
const compiled = { text: script, cache: Buffer.from(cacheBase64, 'base64') }
worker.postMessage({ script: compiled, author, spare, inspects, inHull: true } satisfies WorkerStart)

const report = (what: HullReport): void => void writeSync(CONTROL_FD, `${JSON.stringify(what)}\n`)
const reportAndDie = (what: HullReport): void => {
  try {
    report(what)
  } finally {
    die()
  }
}

worker.once('message', () => report({ type: 'ready' }))
worker.on('error', (error: unknown) => reportAndDie(errorReport(error)))
worker.on('exit', (code) => reportAndDie({ type: 'exit', code }))

/** Polls the usage of this process, and reports it at each poll over a limit. */
function watchUsage({ memoryMb, cpuMs }: HullAssignment, tooMuch: (report: HullReport) => void): void {
  /** Samples of the window, oldest first: the time, and the processor time used until then. */
  const samples: { readonly at: number; readonly cpu: number }[] = [{ at: monotonicMs(), cpu: cpuUsed() }]
  setInterval(() => {
    const memory = residentBytes()
    if (memory > memoryMb * MB) return tooMuch({ type: 'memory', usedMb: Math.round(memory / MB) })
    const now = { at: monotonicMs(), cpu: cpuUsed() }
    samples.push(now)
    while (samples[1]!.at <= now.at - CPU_WINDOW_MS) samples.shift()
    const used = now.cpu - samples[0]!.cpu
    if (used > cpuMs) tooMuch({ type: 'cpu', usedMs: Math.round(used) })
  }, POLL_MS)
}

function cpuUsed(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/**
 * Without /proc, as in bubblewrap, only the peak is known. A process that was started without a wrapper inherits the
 * peak of its parent.
 */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return process.resourceUsage().maxRSS * KB
  }
}

let received = ''
function receive(text: string): void {
  received += text
  const end = received.indexOf('\n')
  if (end < 0) return
  watchUsage(JSON.parse(received.slice(0, end)) as HullAssignment, reportAndDie)
  received = ''
}

/** Without `node:net`, which costs time and memory to load. The read fails when the host ends. */
function listen(): void {
  read(CONTROL_FD, Buffer.alloc(LINE_BYTES), (error, length, bytes) => {
    if (error !== null || length === 0) return die()
    receive(bytes.toString('utf8', 0, length))
    listen()
  })
}

receive(rest)
listen()
