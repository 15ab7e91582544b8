import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { CompartmentLimits } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { HullReport, HullStart } from '../wire/hull-protocol.ts'
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
  const { control, channel } = streamsOf(child)
  const start: HullStart = {
    boot,
    options: workerOptions(limits),
    workerData: { modules, entry, authorUrl, limits },
    memoryMb: limits.memoryMb,
  }
  control.on('error', () => undefined)
  control.write(`${JSON.stringify(start)}\n`)
  let killed = false
  return {
    transport: socketTransport(channel, { maxFrameBytes: limits.messageBytes, readOnlyWhenDrained: true }),
    exited: lastWords(child, control, channel).then(({ report, ended, said }): HullExit => {
      if (report !== undefined) return exitOf(report, limits)
      if (killed) return { kind: 'killed' }
      if (OUT_OF_MEMORY.test(said)) return { kind: 'memory', text: 'more heap than it may' }
      return { kind: 'crashed', text: `its process ended with ${ended}${said === '' ? '' : `: ${said.slice(0, 500)}`}` }
    }),
    kill() {
      killed = true
      killGroup(child)
    },
  }
}

function streamsOf(child: ChildProcess): { readonly control: Socket; readonly channel: Socket } {
  // When no descriptor is left there are no streams at all, whatever the types say.
  const [, , , control, channel] = (child.stdio ?? []) as unknown as readonly [null, Readable, Readable, Socket?, Socket?]
  if (control !== undefined && channel !== undefined) return { control, channel }
  // Without a listener the failure would end the host.
  child.once('error', () => undefined)
  throw new BulkheadError(
    'CompartmentStartFailed',
    'No process could be started for the compartment: the host has no descriptors left.',
  )
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It ended in between.
  }
}

interface LastWords {
  readonly report: HullReport | undefined
  readonly ended: string
  readonly said: string
}

/** Settles once nothing of the process is left and all it said has been read. Contract: never rejects. */
async function lastWords(child: ChildProcess, control: Socket, channel: Socket): Promise<LastWords> {
  const said = [collect(child.stdout!), collect(child.stderr!)]
  const reports = collect(control)
  const ended = await new Promise<string>((resolve) => {
    // A channel that is not being read would never end.
    child.once('exit', () => channel.resume())
    child.once('close', (code, signal) => resolve(signal ?? `code ${code}`))
    child.once('error', (error) => resolve(`an error: ${error.message}`))
  })
  return { report: firstReport(reports()), ended, said: said.map((text) => text()).join('\n').trim() }
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
    if (type === 'error') {
      return { type, ...(typeof code === 'string' && { code }), ...(typeof message === 'string' && { message }) }
    }
  } catch {
    // It ended without a word, or in the middle of one.
  }
  return undefined
}
