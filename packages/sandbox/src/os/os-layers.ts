import { isAbsolute } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { isResourceShortage, resourceShortage } from '@bulkhead/broker'
import type { OsLayers } from './hull-command.ts'
import type { Machine } from './installed-layers.ts'
import { installed, installedLayers } from './installed-layers.ts'
import { nodeNeeds } from './node-needs.ts'
import { inactive, type OsLayer } from './os-layer.ts'
import { provenUtilLinux } from './proven-util-linux.ts'
import { tryLayers } from './trial.ts'

/** auto: what works here. require: all that holds hostile code, or no process compartment at all. off: nothing. */
export type OsMode = 'auto' | 'require' | 'off'

export interface ProbedMachine extends Machine {
  readonly platform: string
  /** For each program that is started. */
  readonly patienceMs: number
}

const THIS_MACHINE: ProbedMachine = {
  node: process.execPath,
  platform: process.platform,
  architecture: process.arch,
  folders: ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/run/current-system/sw/bin'],
  patienceMs: 10_000,
}

let detected: Promise<OsLayers> | undefined

/** What this machine can do, found out once per process by doing it. Rejects as the probe does, which is then done again. */
export function detectOsLayers(): Promise<OsLayers> {
  detected ??= probeOsLayers(THIS_MACHINE).catch((error: unknown) => {
    detected = undefined
    throw error
  })
  return detected
}

/** The layers a process compartment is started with. Rejects with CapabilityUnavailable when one is required and missing. */
export async function osLayersFor(mode: OsMode, detect: () => Promise<OsLayers> = detectOsLayers): Promise<OsLayers> {
  if (mode === 'off') return withoutLayers('it is switched off')
  const layers = await detect()
  if (mode === 'require') refuseWithout(layers)
  return layers
}

export function withoutLayers(reason: string): OsLayers {
  return { rlimits: inactive(reason), bubblewrap: inactive(reason), seccomp: inactive(reason), utilLinux: inactive(reason) }
}

/**
 * Whatever fails is a reason. Rejects with NoPlaceFree when it fails because the system has no room for now: who took that for
 * an answer would run strangers without walls from then on.
 */
export async function probeOsLayers(machine: ProbedMachine): Promise<OsLayers> {
  if (machine.platform !== 'linux') return withoutLayers('it exists on Linux only')
  // Node learns it from /proc, and without that takes the word it was called by for it.
  if (!isAbsolute(machine.node)) return withoutLayers('the path of Node is not known, because /proc is not mounted')
  try {
    return await provenLayers(machine)
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    if (isResourceShortage(error)) throw notTried(messageOf(error), error)
    return withoutLayers(messageOf(error))
  }
}

async function provenLayers(machine: ProbedMachine): Promise<OsLayers> {
  const { node, patienceMs } = machine
  const none = withoutLayers('it was not tried')
  const offered = await installedLayers(machine, await nodeNeeds(node, patienceMs))
  const complaintAbout = async (layers: OsLayers): Promise<string | undefined> => {
    const complaint = await tryLayers(node, layers, patienceMs)
    if (complaint === undefined) return undefined
    const { why, blames } = complaint
    // A hull without walls tells who is to blame for the silence of one with them.
    const isSystem = blames === 'unknown' ? await tryLayers(node, none, patienceMs) !== undefined : blames === 'system'
    if (isSystem) throw notTried(why)
    return why
  }
  // Where all of it is installed it mostly works too, and one trial tells.
  const isComplete = offered.rlimits.active && offered.bubblewrap.active && offered.seccomp.active
  if (isComplete && await complaintAbout(offered) === undefined) return offered

  /** The layer if it works together with those proven before it, or what was said when it did not. */
  const proven = async <Means>(layer: OsLayer<Means>, within: (layer: OsLayer<Means>) => OsLayers): Promise<OsLayer<Means>> => {
    if (!layer.active) return layer
    const complaint = await complaintAbout(within(layer))
    return complaint === undefined ? layer : inactive(complaint)
  }
  const rlimits = await proven(offered.rlimits, (layer) => ({ ...none, rlimits: layer }))
  const walled = (layer: OsLayers['bubblewrap']): OsLayers => ({ ...none, rlimits, bubblewrap: layer })
  const strict = await proven(offered.bubblewrap, walled)
  // Releases before 0.8, and those installed to run as root, do not know how to refuse namespaces inside.
  const bubblewrap = !strict.active && offered.bubblewrap.active
    ? await proven({ ...offered.bubblewrap, refusesNamespaces: false }, walled)
    : strict
  const seccomp = bubblewrap.active
    ? await proven(offered.seccomp, (layer) => ({ ...none, rlimits, bubblewrap, seccomp: layer }))
    : inactive('it is set up by bubblewrap, which does not work here')
  const utilLinux = bubblewrap.active ? offered.utilLinux : await provenUtilLinux({
    isRoot: process.getuid?.() === 0,
    find: (program) => installed(program, machine.folders, {}),
    complaintAbout: (layer) => complaintAbout({ ...none, rlimits, utilLinux: layer }),
  })
  return { rlimits, bubblewrap, seccomp, utilLinux }
}

const notTried = (why: string, cause?: unknown): BulkheadError =>
  resourceShortage('What holds a process here could not be tried', why, cause)

/** The filter of system calls is a further wall behind these two, and not known for every architecture: it is not required. */
function refuseWithout({ rlimits, bubblewrap }: OsLayers): void {
  const missing = [
    ...(bubblewrap.active ? [] : [`bubblewrap (${bubblewrap.reason})`]),
    ...(rlimits.active ? [] : [`limits of the system (${rlimits.reason})`]),
  ]
  if (missing.length === 0) return
  throw new BulkheadError(
    'CapabilityUnavailable',
    `Compartments shall be held by the operating system, which cannot be done here for lack of ${missing.join(' and ')}. `
      + 'Install bubblewrap and util-linux and allow user namespaces, or do not require it.',
    { data: { missing } },
  )
}
