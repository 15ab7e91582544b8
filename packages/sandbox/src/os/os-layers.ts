import { isAbsolute } from 'node:path'
import { isResourceShortage, resourceShortage } from '@bulkhead/broker'
import { BulkheadError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { PROGRAM_FOLDERS } from '@bulkhead/kit/programs'
import { installed, installedLayers, limitsOfLauncher, nodeNeeds, type Machine } from './installed-layers.ts'
import { KeptTrials } from './kept-trials.ts'
import { provenLauncher, without } from './launcher-layer.ts'
import { inactive, type OsLayer, type OsLayers } from './os-layer.ts'
import { tryLayers, trialOf } from './trial.ts'
import { provenUtilLinux } from './util-linux.ts'

/**
 * auto: the layers that work here. require: limits, and bubblewrap or the launcher with its filter, or no process
 * compartments. off: none.
 */
export type OsMode = 'auto' | 'require' | 'off'

export interface ProbedMachine extends Machine {
  readonly platform: string
  /** For each program that is started. */
  readonly timeoutMs: number
}

const THIS_MACHINE: ProbedMachine = {
  node: process.execPath,
  platform: process.platform,
  architecture: process.arch,
  folders: PROGRAM_FOLDERS,
  timeoutMs: 10_000,
}

/** Layers, and whether an earlier process tried them. Then they count only once a hull has shown that they stand. */
export interface FoundLayers {
  readonly layers: OsLayers
  readonly isKept: boolean
}

let found: Promise<FoundLayers> | undefined

/**
 * The layers that work on this machine, tried once per process, or kept in a folder by an earlier one. A failure is
 * tried again. `onTrial`: called when trials begin.
 */
export function findOsLayers(folder?: string, onTrial?: () => void): Promise<FoundLayers> {
  found ??= find(folder, false, onTrial)
  return found
}

/** Tries all layers again, whatever was kept. */
export function findAgain(folder: string | undefined): Promise<FoundLayers> {
  found = find(folder, true)
  return found
}

function find(folder: string | undefined, isFresh = false, onTrial?: () => void): Promise<FoundLayers> {
  const trials = new KeptTrials(folder, isFresh, onTrial)
  const finding: Promise<FoundLayers> = probeOsLayers(THIS_MACHINE, trials).then((layers) => {
    // A stale answer may be why a wall does not stand, and a weaker one would be chosen.
    if (trials.isMixed) return find(folder, true)
    trials.save()
    return { layers, isKept: trials.wasUsed }
  })
  finding.catch(() => {
    if (found === finding) found = undefined
  })
  return finding
}

/** A hull has shown that these layers stand. */
export function confirmLayers(layers: OsLayers): void {
  found = Promise.resolve({ layers, isKept: false })
}

/** The layers that work on this machine, tried by this process. */
export async function detectOsLayers(folder?: string): Promise<OsLayers> {
  const { layers, isKept } = await findOsLayers(folder)
  return isKept ? (await findAgain(folder)).layers : layers
}

/** The layers for process compartments. Rejects with CapabilityUnavailable when one is required and missing. */
export async function osLayersFor(mode: OsMode, detect: () => Promise<OsLayers> = detectOsLayers): Promise<OsLayers> {
  return mode === 'off' ? withoutLayers('it is disabled') : requiredLayers(mode, await detect())
}

/** Throws CapabilityUnavailable when one is required and missing. */
export function requiredLayers(mode: OsMode, layers: OsLayers): OsLayers {
  if (mode === 'require') refuseWithout(layers)
  return layers
}

export function withoutLayers(reason: string): OsLayers {
  const layer = inactive(reason)
  return { rlimits: layer, bubblewrap: layer, seccomp: layer, launcher: layer, utilLinux: layer }
}

/**
 * A layer that fails is inactive, with the reason. Rejects with NoPlaceFree when the system is out of resources:
 * otherwise untrusted code would run without layers from then on.
 */
export async function probeOsLayers(machine: ProbedMachine, trials = new KeptTrials(undefined)): Promise<OsLayers> {
  if (machine.platform !== 'linux') return withoutLayers('it exists on Linux only')
  // Without /proc, Node uses the name it was started by.
  if (!isAbsolute(machine.node)) return withoutLayers('the path of Node is not known, because /proc is not mounted')
  try {
    return await provenLayers(machine, trials)
  } catch (error) {
    if (BulkheadError.is(error)) throw error
    if (isResourceShortage(error)) throw notTried(messageOf(error), error)
    return withoutLayers(messageOf(error))
  }
}

async function provenLayers(machine: ProbedMachine, trials: KeptTrials): Promise<OsLayers> {
  const { node, timeoutMs } = machine
  const none = withoutLayers('it was not tried')
  const needs = await trials.answer('needs', () => nodeNeeds(node, timeoutMs))
  const offered = { ...withoutLayers('bubblewrap does more'), ...await installedLayers(machine, needs) }
  const triedFailure = async (layers: OsLayers): Promise<string | null> => {
    const failure = await tryLayers(node, layers, timeoutMs)
    if (failure === undefined) return null
    const { why, fault } = failure
    // A process without layers shows whether the layers or the system are at fault.
    const isSystem = fault === 'unknown' ? await tryLayers(node, none, timeoutMs) !== undefined : fault === 'system'
    if (isSystem) throw notTried(why)
    return why
  }
  // A failure is not kept: the machine may have been busy, and the next process would do without the layer.
  const failureOf = async (layers: OsLayers): Promise<string | undefined> =>
    await trials.answer(trialOf(node, layers), () => triedFailure(layers), (why) => why === null) ?? undefined
  // If everything is installed it usually works, and one trial is enough.
  const isComplete = offered.rlimits.active && offered.bubblewrap.active && offered.seccomp.active
  if (isComplete && await failureOf(offered) === undefined) return offered

  /** The layer if it works together with the earlier ones, or why it does not. */
  const proven = async <Means>(
    layer: OsLayer<Means>, within: (layer: OsLayer<Means>) => OsLayers,
  ): Promise<OsLayer<Means>> => {
    if (!layer.active) return layer
    const failure = await failureOf(within(layer))
    return failure === undefined ? layer : inactive(failure)
  }
  const rlimits = await proven(offered.rlimits, (layer) => ({ ...none, rlimits: layer }))
  const withBubblewrap = (layer: OsLayers['bubblewrap']): OsLayers => ({ ...none, rlimits, bubblewrap: layer })
  const strict = await proven(offered.bubblewrap, withBubblewrap)
  // Releases before 0.8, and setuid installations, cannot forbid namespaces inside.
  const bubblewrap = !strict.active && offered.bubblewrap.active
    ? await proven({ ...offered.bubblewrap, refusesNamespaces: false }, withBubblewrap)
    : strict
  if (bubblewrap.active) {
    const seccomp = await proven(offered.seccomp, (layer) => ({ ...none, rlimits, bubblewrap, seccomp: layer }))
    return { ...offered, rlimits, bubblewrap, seccomp }
  }

  const trial = {
    isRoot: process.getuid?.() === 0,
    find: (program: string) => installed(program, machine.folders, {}),
  }
  const limits = rlimits.active ? rlimits : await limitsOfLauncher(needs)
  const isHidden = machine.hidden?.includes('launcher') === true
  const files = [node, ...needs.libraries]
  const { launcher, seccomp } = isHidden ? without('it is hidden') : await provenLauncher(machine.architecture, files, {
    ...trial, trials, failureOf: (layer, filter) => failureOf({ ...none, rlimits: limits, launcher: layer, seccomp: filter }),
  })
  if (launcher.active) {
    return { rlimits: limits, bubblewrap, seccomp, launcher, utilLinux: inactive('the launcher does more') }
  }
  const utilLinux = await provenUtilLinux({
    ...trial, failureOf: (layer) => failureOf({ ...none, rlimits, utilLinux: layer }),
  })
  return { rlimits, bubblewrap, seccomp, launcher, utilLinux }
}

/** Made when it is needed: the first one takes 40 ms. */
const listed = (words: readonly string[]): string => new Intl.ListFormat('en-GB').format(words)

const notTried = (why: string, cause?: unknown): BulkheadError =>
  resourceShortage('The layers of the operating system could not be tried', why, cause)

/**
 * Inside bubblewrap the seccomp filter is not required: it is an additional layer, and not known for every architecture.
 * Behind the launcher it closes what Landlock leaves open.
 */
function refuseWithout({ rlimits, bubblewrap, launcher, seccomp }: OsLayers): void {
  const wallFaults = bubblewrap.active || (launcher.active && seccomp.active) ? [] : [
    `bubblewrap (${bubblewrap.reason})`,
    launcher.active ? 'the filter of the launcher' : `the launcher (${launcher.reason})`,
  ]
  const missing = [...wallFaults, ...(rlimits.active ? [] : [`limits of the system (${rlimits.reason})`])]
  if (missing.length === 0) return
  throw new BulkheadError(
    'CapabilityUnavailable',
    `sandbox.os is "require", but this machine lacks ${listed(missing)}. `
      + 'Install bubblewrap and util-linux and allow user namespaces, or do not require it.',
    { data: { missing } },
  )
}
