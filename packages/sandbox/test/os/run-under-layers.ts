import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, onTestFinished } from 'vitest'
import type { OsLayers } from '../../src/os/os-layer.ts'
import { probeOsLayers } from '../../src/os/os-layers.ts'
import { processEnd } from '../../src/os/spawn-hull.ts'
import { killHull, spawnHull } from '../../src/os/spawn-hull.ts'

export interface RunOptions {
  readonly memoryMb?: number
  readonly flags?: readonly string[]
}

/** Node without its permission model: only the layers confine it. */
export function start(layers: OsLayers, script: string, { memoryMb = 256, flags = [] }: RunOptions = {}): ChildProcess {
  const args = [...flags, '--input-type=module', '--no-warnings', '--eval', script]
  const child = spawnHull(process.execPath, args, layers, { memoryMb })
  onTestFinished(() => killHull(child))
  return child
}

export function pipesOf(child: ChildProcess): { readonly control: Duplex; readonly channel: Duplex } {
  const [, , , control, channel] = child.stdio as unknown as readonly [null, null, null, Duplex, Duplex]
  return { control, channel }
}

export interface Run {
  readonly stdout: string
  readonly stderr: string
  readonly end: string
}

/** Runs a script until its end. */
export async function run(layers: OsLayers, script: string, options?: RunOptions): Promise<Run> {
  return outcomeOf(start(layers, script, options))
}

export async function outcomeOf(child: ChildProcess): Promise<Run> {
  const { control, channel } = pipesOf(child)
  control.resume()
  channel.resume()
  const [stdout, stderr, end] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    new Promise<string>((resolve) => child.once('close', (...how) => resolve(processEnd(...how)))),
  ])
  return { stdout, stderr, end }
}

/** The value of an expression in an async function as JSON, or the code of the error it throws. */
export const attempt = async (layers: OsLayers, expression: string): Promise<unknown> =>
  (await attemptAll(layers, [expression]))[0]

/** The same for several expressions in one process, one after the other. */
export async function attemptAll(layers: OsLayers, expressions: readonly string[]): Promise<readonly unknown[]> {
  const { stdout, stderr } = await run(layers, `
    import * as childProcess from 'node:child_process'
    import * as fs from 'node:fs'
    import * as net from 'node:net'
    import * as os from 'node:os'
    const connect = (...where) => new Promise((resolve, reject) => {
      net.connect(...where).once('connect', () => resolve('connected')).once('error', reject)
    })
    const outcomes = []
    for (const attempt of [${expressions.map((expression) => `async () => ${expression}`).join(', ')}]) {
      outcomes.push(
        await attempt().then((value) => ({ value }), (error) => ({ refused: error.code ?? error.message })),
      )
    }
    fs.writeSync(1, JSON.stringify(outcomes))
    process.exit()
  `)
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as unknown[]
}

/** The processes of a hull, from the one the host started to the one that runs Node. */
export function chainOf(pid: number): number[] {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
  return child === undefined ? [pid] : [pid, ...chainOf(child)]
}

/** Gone, or a zombie. */
export function isGone(pid: number): boolean {
  try {
    return /^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return true
  }
}

const SYSTEM_PROGRAMS = ['prlimit', 'setpriv', 'unshare', 'sh']

/** A folder with the programs of the layers, without bubblewrap. */
export async function programsWithoutBubblewrap(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bulkhead-programs-'))
  afterAll(() => rm(folder, { recursive: true }))
  await chmod(folder, 0o755)
  for (const name of SYSTEM_PROGRAMS) {
    const path = ['/usr/bin', '/bin'].map((system) => join(system, name)).find((found) => existsSync(found))
    if (path !== undefined) await symlink(path, join(folder, name))
  }
  return folder
}

/** The layers of this machine if bubblewrap were not installed. `hidden`: other layers that it should not have. */
export const layersWithoutBubblewrap = async (...hidden: readonly string[]): Promise<OsLayers> => probeOsLayers({
  node: process.execPath, platform: process.platform, architecture: process.arch,
  folders: [await programsWithoutBubblewrap()], hidden, timeoutMs: 10_000,
})
