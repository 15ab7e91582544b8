import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { lookWall } from '@bulkhead/broker'
import type { Attack } from '../model/case.ts'
import { fsByPath } from './a-fs-by-path.ts'
import { links } from './b-links.ts'
import { descriptors } from './c-descriptors.ts'
import { writes } from './d-writes.ts'
import { storage } from './e-storage.ts'
import { network } from './f-network.ts'
import { processes } from './g-processes.ts'
import { signals } from './h-signals.ts'
import { inspector } from './i-inspector.ts'
import { modules } from './j-modules.ts'
import { realmInsides } from './k-insides.ts'
import { realm } from './k-realm.ts'
import { realmReach } from './k-realm-reach.ts'
import { threads } from './l-threads.ts'
import { wire } from './m-wire.ts'
import { data } from './n-data.ts'
import { brokerWork } from './o-broker.ts'
import { exhaustion } from './o-exhaustion.ts'
import { memory } from './o-memory.ts'
import { nativeWork } from './o-native-work.ts'
import { lifecycle } from './p-lifecycle.ts'
import { manifest } from './q-manifest.ts'
import { sideChannels } from './r-side-channels.ts'
import { nodeModules } from './node-modules.ts'
import { shims } from './shims.ts'

/** All attacks on compartments. Attacks on packages are in packages/loader/corpus. */
export const ATTACKS: readonly Attack[] = [
  fsByPath, links, descriptors, writes, storage, network, processes, signals, inspector, modules, realm, realmInsides,
  realmReach, threads, wire, data,
  exhaustion, brokerWork, memory, lifecycle, manifest, sideChannels, shims, nodeModules, nativeWork,
].flat().toSorted((one, other) => one.id - other.id)

const isHeld = canSeparate() || (await lookWall()).stands

/** The attacks that must be contained on this system. */
export const ATTACKS_HERE: readonly Attack[] = ATTACKS.filter(({ where }) =>
  where === 'everywhere' || (where === 'Landlock or namespaces' ? isHeld : existsSync('/proc/self/fd')))

/** Whether this user may create namespaces. */
function canSeparate(): boolean {
  const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  return spawnSync('unshare', [...asUser, '--net', '--ipc', '--pid', '--fork', 'true']).status === 0
}

const byId: ReadonlyMap<number, Attack> = new Map(ATTACKS.map((attack) => [attack.id, attack]))

export function attackOf(id: number): Attack {
  const attack = byId.get(id)
  if (attack === undefined) throw new Error(`There is no attack ${id}.`)
  return attack
}
