// The main thread of a hull, handed over as text: it needs no file. It starts the one worker that runs an extension,
// stays awake while that may spin, and ends the process when the worker, the memory or the host is gone.
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { HullReport, HullStart } from './protocol.ts'

const CONTROL_FD = 3
const MEMORY_POLL_MS = 50
const MB = 1024 * 1024

const die = (): void => void process.kill(process.pid, 'SIGKILL')
const control = new Socket({ fd: CONTROL_FD })
control.on('error', die)
control.on('close', die)

function report(message: HullReport): void {
  control.write(`${JSON.stringify(message)}\n`)
}

function reportAndDie(message: HullReport): void {
  control.write(`${JSON.stringify(message)}\n`, die)
}

function start({ boot, worker: workerData, limits }: HullStart): void {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(boot)}`), {
    // -i: without it the permission set silently includes the working folder.
    execArgv: ['-i', '--permission'],
    env: {},
    argv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
    workerData,
  })
  worker.on('error', (error: unknown) => {
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
    reportAndDie(code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? { type: 'memory', text: `more than ${limits.heapMb} MB of heap` }
      : { type: 'crashed', text: `an error nobody caught: ${String(message ?? error).slice(0, 2_000)}` })
  })
  worker.on('exit', (code) => reportAndDie({ type: 'crashed', text: `its thread ended with code ${code}` }))
  setInterval(() => {
    const rss = process.memoryUsage.rss()
    if (rss > limits.memoryMb * MB) reportAndDie({ type: 'memory', text: `${Math.round(rss / MB)} of ${limits.memoryMb} MB of memory` })
  }, MEMORY_POLL_MS)
  report({ type: 'started' })
}

let received = ''
control.setEncoding('utf8')
control.on('data', (text: string) => {
  received += text
  const end = received.indexOf('\n')
  if (end < 0) return
  start(JSON.parse(received.slice(0, end)) as HullStart)
  received = ''
})
