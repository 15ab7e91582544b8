// Prints the megabytes of an idle host of a given size, or of each of several idle instances of one kind: resident
// (RSS), or proportional (PSS), where pages that processes share are divided among them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { createSandbox } from '@bulkhead/sandbox'
import { echoRequest } from '../loads/echo.ts'
import type { FleetSize } from '../loads/fleet.ts'

export type IdleKind = 'worker' | 'thread' | 'released' | 'node' | 'process'
export type Footprint = 'Rss' | 'Pss'

const COUNT = 8
const SETTLE_MS = 300
/** Short, because the idle time does not change the memory that is left. */
const IDLE_MS = 50
const PAGE_RELEASE_MS = 9_000
const KB_PER_MB = 1024
const each = <T>(start: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: COUNT }, start))

async function megabytes(pid: number | 'self', footprint: Footprint): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(new RegExp(`^${footprint}:\\s+(\\d+)`, 'm').exec(rollup)?.[1]) / KB_PER_MB
}

async function childPids(): Promise<readonly number[]> {
  const children = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8')
  return children.split(' ').filter(Boolean).map(Number)
}

/** Memory of a process and its descendants, because a hull may be a child of the program that confines it. */
async function treeMb(pid: number, footprint: Footprint): Promise<number> {
  const below = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean).map(Number)
  const sizes = await Promise.all([megabytes(pid, footprint), ...below.map((child) => treeMb(child, footprint))])
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** The memory that one thread adds to this process. */
async function perThread(start: () => Promise<unknown>, settled = atRest): Promise<number> {
  // The first one also loads what all of them share.
  await start()
  await settled()
  const before = await megabytes('self', 'Rss')
  await each(start)
  await settled()
  return (await megabytes('self', 'Rss') - before) / COUNT
}

async function perProcess(start: () => Promise<unknown>, footprint: Footprint): Promise<number> {
  const earlier = new Set(await childPids())
  await each(start)
  await atRest()
  const pids = (await childPids()).filter((pid) => !earlier.has(pid))
  const sizes = await Promise.all(pids.map((pid) => treeMb(pid, footprint)))
  return sizes.reduce((sum, size) => sum + size, 0) / COUNT
}

async function atRest(): Promise<void> {
  await sleep(SETTLE_MS)
  collectGarbage()
}

/** V8 keeps pages of ended threads for the next thread. A collection some seconds later frees them. */
async function afterPageRelease(): Promise<void> {
  await atRest()
  await sleep(PAGE_RELEASE_MS)
  await atRest()
}

/** Resets the flag, because threads inherit it and a compartment does not start if `gc` is exposed. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return collect
}
const collectGarbage = collector()

async function measured(kind: IdleKind, footprint: Footprint): Promise<number> {
  if (kind === 'worker') {
    return perThread(() => once(new Worker('setInterval(() => undefined, 1e6)', { eval: true }), 'online'))
  }
  if (kind === 'node') {
    return perProcess(async () => {
      const child = spawn(process.execPath, ['-e', 'process.stdout.write("."); setInterval(() => undefined, 1e6)'])
      process.once('exit', () => child.kill())
      await once(child.stdout, 'data')
    }, footprint)
  }
  const isReleased = kind === 'released'
  const spares = { process: 0, thread: 0 }
  const sandbox = createSandbox({ workspace: '/', spares, ...(isReleased && { idleMs: IDLE_MS }) })
  const request = await echoRequest(isReleased ? 'thread' : kind)
  const first = await sandbox.open(request)
  const open = async () => {
    await sandbox.open(request)
    if (isReleased) while (sandbox.usage().thread.used > 0) await sleep(IDLE_MS)
  }
  const settled = isReleased ? afterPageRelease : atRest
  const perOne = await (kind === 'process' ? perProcess(open, footprint) : perThread(open, settled))
  await first.close()
  return perOne
}

async function measuredHost(size: FleetSize): Promise<number> {
  const { layOutFleet, openFleet, startFleet } = await import('../loads/fleet.ts')
  const { workspace, remove } = await layOutFleet(size.loaded)
  const host = await openFleet(workspace)
  await startFleet(host, size)
  collectGarbage()
  const resident = await megabytes('self', 'Rss')
  await host.close()
  await remove()
  return resident
}

const [kind, detail] = process.argv.slice(2) as ['host', string] | [IdleKind, Footprint]
const found = kind === 'host' ? await measuredHost(JSON.parse(detail) as FleetSize)
  : await measured(kind, detail as Footprint)
process.stdout.write(String(found), () => process.exit())
