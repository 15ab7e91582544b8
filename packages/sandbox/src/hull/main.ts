// The main thread of a hull, handed over as text: it needs no file. It starts the one worker that runs an extension,
// stays awake while that may spin, and ends the process when the worker, its limits or the host are gone.
import { readSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { HullAssignment, HullReport, HullStart } from '../wire/hull-protocol.ts'
import type { WorkerStart } from '../wire/worker-start.ts'
import { watchUsage } from './usage.ts'

const CONTROL_FD = 3
const CHUNK_BYTES = 65_536

const die = (): void => void process.kill(process.pid, 'SIGKILL')

/** Without waiting for events, and without `node:net`, which takes its time to load: the worker can start meanwhile. */
function firstLine(): { readonly line: string; readonly rest: Buffer } {
  const chunks: Buffer[] = []
  for (;;) {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    const length = readSync(CONTROL_FD, chunk)
    if (length === 0) die()
    const end = chunk.subarray(0, length).indexOf('\n')
    if (end < 0) {
      chunks.push(chunk.subarray(0, length))
      continue
    }
    return { line: Buffer.concat([...chunks, chunk.subarray(0, end)]).toString(), rest: chunk.subarray(end + 1, length) }
  }
}

const { line, rest } = firstLine()
const { boot, options, author, script, cacheBase64, spare } = JSON.parse(line) as HullStart
const compiled = { text: script, cache: Buffer.from(cacheBase64, 'base64') }
const workerData: WorkerStart = { script: compiled, author, spare, readable: [], inHull: true }
const worker = new Worker(boot, { ...options, eval: true, workerData })

const { Socket } = process.getBuiltinModule('node:net')
const control = new Socket({ fd: CONTROL_FD })
control.on('error', die)
control.on('close', die)

const report = (what: HullReport, then?: () => void): void => void control.write(`${JSON.stringify(what)}\n`, then)
const reportAndDie = (what: HullReport): void => report(what, die)

worker.once('message', () => report({ type: 'ready' }))
worker.on('error', (error: unknown) => {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  reportAndDie({
    type: 'error',
    ...(typeof code === 'string' && { code }),
    ...(typeof message === 'string' && { message: message.slice(0, 2_000) }),
  })
})
worker.on('exit', (code) => reportAndDie({ type: 'exit', code }))

let received = ''
function receive(text: string): void {
  received += text
  const end = received.indexOf('\n')
  if (end < 0) return
  watchUsage(JSON.parse(received.slice(0, end)) as HullAssignment, reportAndDie)
  received = ''
}

receive(rest.toString())
control.setEncoding('utf8')
control.on('data', receive)
