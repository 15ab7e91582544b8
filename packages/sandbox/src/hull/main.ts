// The main thread of a hull, handed over as text: it needs no file. It starts the one worker that runs an extension,
// stays awake while that may spin, and ends the process when the worker, the memory or the host is gone.
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { HullReport, HullStart } from '../wire/hull-protocol.ts'

const CONTROL_FD = 3
const MEMORY_POLL_MS = 50
const MB = 1024 * 1024

const die = (): void => void process.kill(process.pid, 'SIGKILL')
const control = new Socket({ fd: CONTROL_FD })
control.on('error', die)
control.on('close', die)

const reportAndDie = (report: HullReport): void => void control.write(`${JSON.stringify(report)}\n`, die)

function start({ boot, options, workerData, memoryMb }: HullStart): void {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(boot)}`), { ...options, workerData })
  worker.on('error', (error: unknown) => {
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
    reportAndDie({
      type: 'error',
      ...(typeof code === 'string' && { code }),
      ...(typeof message === 'string' && { message: message.slice(0, 2_000) }),
    })
  })
  worker.on('exit', (code) => reportAndDie({ type: 'exit', code }))
  setInterval(() => {
    const used = process.memoryUsage.rss()
    if (used > memoryMb * MB) reportAndDie({ type: 'memory', usedMb: Math.round(used / MB) })
  }, MEMORY_POLL_MS)
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
