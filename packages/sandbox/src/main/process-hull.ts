import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { CompartmentLimits } from '@bulkhead/contract'
import type { HullReport, HullStart } from '../hull/protocol.ts'
import { socketTransport } from '../wire/socket-transport.ts'
import type { Hull, HullExit } from './hull.ts'
import { exitOf, workerOptions } from './hull.ts'
import type { Image } from './image.ts'

const FLAGS = [
  // No file, no network, no process; only the one worker thread.
  '--permission', '--allow-worker',
  // A signal must not open the inspector, fresh buffers must not show old memory, a crash report must not show variables.
  '--disable-sigusr1', '--zero-fill-buffers', '--report-exclude-env',
  '--no-warnings', '--input-type=module',
]

/** Enough of what a dying process says to tell a lack of memory from other ends. */
const DIAGNOSTIC_CHARS = 4_096
const OUT_OF_MEMORY = /heap out of memory|allocation failed|out of memory/i

/** A child process of its own: whatever happens in it, ending it takes one signal. */
export function startProcessHull({ hull, boot, modules, entry, authorUrl }: Image, limits: CompartmentLimits): Hull {
  const child = spawn(process.execPath, [...FLAGS, '--eval', hull], {
    cwd: '/',
    env: {},
    // A process group of its own, so that a signal to the host's group leaves the ending to the host.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  // Heard from here on: without a listener a failure to start would end the host.
  const failed = new Promise<Error>((resolve) => child.once('error', resolve))
  // Without descriptors to spare there are no streams at all, whatever the types say.
  const [, , , control, channel] = (child.stdio ?? []) as unknown as readonly [null, Readable, Readable, Socket?, Socket?]
  if (control === undefined || channel === undefined) throw new BulkheadError('CompartmentStartFailed', 'A process for the compartment could not be started: no descriptors are left.')
  let killed = false

  const start: HullStart = { boot, options: workerOptions(limits), workerData: { modules, entry, authorUrl, limits }, memoryMb: limits.memoryMb }
  control.on('error', () => undefined)
  control.write(`${JSON.stringify(start)}\n`)

  return {
    transport: socketTransport(channel, { maxFrameBytes: limits.messageBytes, readOnlyWhenDrained: true }),
    exited: exitOfProcess(child, control, channel, limits, () => killed),
    kill() {
      killed = true
      killGroup(child)
    },
  }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It ended in between.
  }
}

async function exitOfProcess(child: ChildProcess, control: Socket, channel: Socket, limits: CompartmentLimits, wasKilled: () => boolean): Promise<HullExit> {
  const said = [collect(child.stdout!), collect(child.stderr!)]
  const reports = collect(control)
  const [code, signal] = await new Promise<readonly [code: number | null, signal: string | null]>((resolve) => {
    // A channel that is not being read would never end.
    child.once('exit', () => channel.resume())
    // `close` comes after the streams have ended, so the last words are there.
    child.once('close', (exitCode, exitSignal) => resolve([exitCode, exitSignal]))
    child.once('error', (error) => {
      child.stdio.forEach((stream) => stream?.destroy())
      said.push(() => error.message)
      resolve([null, null])
    })
  })
  const cause = firstReport(reports())
  if (cause !== undefined) return exitOf(cause, limits)
  if (wasKilled()) return { kind: 'killed' }
  const words = said.map((text) => text()).join('\n').trim()
  if (OUT_OF_MEMORY.test(words)) return { kind: 'memory', text: 'more heap than it may' }
  return { kind: 'crashed', text: `its process ended with ${signal ?? `code ${code}`}${words === '' ? '' : `: ${words.slice(0, 500)}`}` }
}

/** Reads a stream to its end and keeps the beginning: the rest is thrown away, never gathered. */
function collect(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    if (text.length < DIAGNOSTIC_CHARS) text += chunk.slice(0, DIAGNOSTIC_CHARS - text.length)
  })
  return () => text
}

/** The main thread of a hull is ours, but shares a process with a stranger, so what it says is read with care. */
function firstReport(text: string): HullReport | undefined {
  try {
    const { type, code, message, usedMb } = JSON.parse(text.split('\n', 1)[0] ?? '') as Record<string, unknown>
    if (type === 'memory') return { type, usedMb: Number(usedMb) }
    if (type === 'exit') return { type, code: Number(code) }
    if (type === 'error') return { type, ...(typeof code === 'string' && { code }), ...(typeof message === 'string' && { message }) }
  } catch {
    // It ended without a word, or in the middle of one.
  }
  return undefined
}
