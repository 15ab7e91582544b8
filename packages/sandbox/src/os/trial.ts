import { hash } from 'node:crypto'
import { mentionsResourceShortage } from '@bulkhead/broker'
import type { Readable } from 'node:stream'
import { oneLine } from './installed-layers.ts'
import type { OsLayers, InsideReport } from './os-layer.ts'
import { hullCommand, killHull, processEnd, spawnHull } from './spawn-hull.ts'
import { promisesOfLauncher } from './launcher-layer.ts'
import { findFault, NAMESPACES, promisesOf } from './util-linux.ts'

/** Does the same as a hull: it starts a thread, uses an open socket, and exits. */
const PROVE = `
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
const inside = () => {
  try {
    const namespaces = ${JSON.stringify(NAMESPACES)}.map((name) => readlinkSync('/proc/self/ns/' + name))
    return { status: readFileSync('/proc/self/status', 'latin1'), namespaces }
  } catch {
    return null
  }
}
const root = () => {
  try {
    return readdirSync('/')
  } catch {
    return []
  }
}
const control = new Socket({ fd: 3 })
new Worker('', { eval: true }).once('exit', (code) => {
  control.end(JSON.stringify([code, inside(), ...root()]), () => process.exit())
})`
const ARGS = ['--input-type=module', '--no-warnings', '--eval', PROVE]
const MEMORY_MB = 128
const MAX_CHARS = 16_384

export interface LayerFailure {
  readonly why: string
  /** `unknown`: it ended without output, or not at all. */
  readonly fault: 'layers' | 'system' | 'unknown'
}

const fromOutput = (output: string): LayerFailure =>
  ({ why: oneLine(output), fault: mentionsResourceShortage(output) ? 'system' : 'layers' })
const silent = (why: string): LayerFailure => ({ why, fault: 'unknown' })

/** Identifies a trial of these layers: what is started, and how. */
export function trialOf(node: string, layers: OsLayers): string {
  const { file, args, data = [] } = hullCommand(node, ARGS, layers, { memoryMb: MEMORY_MB })
  return hash('sha256', JSON.stringify([file, args, Buffer.from(data).toString('base64')]))
}

/**
 * Starts a test process under these layers. Returns why they do not work, if they do not. Rejects when nothing starts.
 */
export async function tryLayers(node: string, layers: OsLayers, timeoutMs: number): Promise<LayerFailure | undefined> {
  const child = spawnHull(node, ARGS, layers, { memoryMb: MEMORY_MB })
  if (child.pid === undefined) {
    return new Promise((resolve) => child.once('error', ({ message }) => resolve(fromOutput(message))))
  }
  type Pipes = readonly [null, Readable, Readable, Readable, Readable]
  const [, stdout, stderr, control, channel] = child.stdio as unknown as Pipes
  const [proof, errorOutput] = [control, stderr, stdout, channel].map(collect)
  let late = false
  const timer = setTimeout(() => {
    late = true
    killHull(child)
  }, timeoutMs)
  const end = await new Promise<string>((resolve) => child.once('close', (...how) => resolve(processEnd(...how))))
  clearTimeout(timer)
  if (late) return silent(`it had not ended after ${timeoutMs} ms`)
  if (end === 'code 0') return check(proof!(), layers)
  const output = errorOutput!()
  return output.trim() === '' ? silent(`it ended with ${end}`) : fromOutput(output)
}

function check(proof: string, { bubblewrap, launcher, utilLinux }: OsLayers): LayerFailure | undefined {
  if (!/^\[0,.*\]$/.test(proof)) return fromOutput(`the test process reported: ${proof}`)
  const [, inside, ...root] = JSON.parse(proof) as [0, InsideReport | null, ...string[]]
  if (!bubblewrap.active) {
    const promises = launcher.active ? promisesOfLauncher(launcher)
      : utilLinux.active ? promisesOf(utilLinux) : undefined
    const why = promises && findFault(promises, inside)
    if (why !== undefined) return fromOutput(why)
    return launcher.active ? seen(root) : undefined
  }
  const ours = new Set([...bubblewrap.files.keys()].map((path) => path.split('/')[1]))
  const others = root.filter((name) => !ours.has(name))
  return seen(others)
}

const seen = (names: readonly string[]): LayerFailure | undefined =>
  names.length === 0 ? undefined : fromOutput(`files of the host can be seen inside: ${names.join(', ')}`)

/** Reads to the end, and keeps only the beginning. */
function collect(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    text = (text + chunk).slice(0, MAX_CHARS)
  })
  stream.on('error', () => undefined)
  return () => text
}
