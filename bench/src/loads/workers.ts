import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addToFleet, openMachineKey } from '@bulkhead/workers'
import type { Host } from 'bulkhead'

const peer = fileURLToPath(new URL('../peers/worker.ts', import.meta.url))

export interface WorkersOf {
  readonly host: Host
  /** Of the host. */
  readonly home: string
  readonly url: string
  readonly count: number
  readonly capacity: number
  readonly label: string
}

/** Starts workers in processes of their own. They and the host trust each other. */
export async function startWorkers(
  { host, home, url, count, capacity, label }: WorkersOf, cleanup: AsyncDisposableStack,
): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), 'bulkhead-bench-worker-'))
  cleanup.defer(() => rm(own, { recursive: true, force: true }))
  addToFleet(join(home, 'fleet.json'), 'worker', 'w', openMachineKey(join(own, 'machine-key.pem')).publicKey)
  addToFleet(join(own, 'fleet.json'), 'caller', 'c', openMachineKey(join(home, 'machine-key.pem')).publicKey)
  const packages = new Map(host.tools().filter(({ layer }) => layer === 'project')
    .map(({ extension, packageDigest }) => [extension, packageDigest]))
  for (const [name, digest] of packages) addToFleet(join(own, 'fleet.json'), 'package', name, digest)
  await Promise.all(Array.from({ length: count }, async () => {
    const terms = JSON.stringify({ url, home: own, capacity, label })
    const worker = fork(peer, [terms], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    cleanup.defer(async () => { worker.disconnect(); await once(worker, 'exit') })
    await once(worker, 'message')
  }))
}
