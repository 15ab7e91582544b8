import {
  encodeOrder, launcherCommand, launcherFilter, provenWall, ruleSet, type FilteredPowers, type WallTrial,
} from '@bulkhead/broker'
import type { KeptTrials } from './kept-trials.ts'
import { inactive, type LauncherMeans, type OsLayer, type OsLayers } from './os-layer.ts'
import { namespaceArgs, NOBODY, provenForm, type InsidePromises, type LayerTrial } from './util-linux.ts'

// How the launcher confines a hull without bubblewrap.
const POWERS = { sockets: 'nothing', processes: false, metadata: false } as const satisfies Partial<FilteredPowers>

/** Node ends if it may not open the configuration of OpenSSL, but not if there is none. */
const WITHOUT_CONFIGURATION = '--openssl-config=/nowhere'

export interface LauncherHull {
  readonly argv: readonly string[]
  /** Written to the descriptor. */
  readonly order: Uint8Array
}

/** The command that runs Node behind the launcher, which gets its order from this descriptor. */
export function launcherHull(
  { files, isOtherUser, namespaces }: LauncherMeans, filter: Uint8Array | undefined,
  limits: ReadonlyMap<string, number>, [node, ...args]: readonly [string, ...string[]], orderFd: number,
): LauncherHull {
  const id = Number(NOBODY)
  return {
    argv: [...(namespaces.active ? namespaceArgs(namespaces) : []), ...launcherCommand(orderFd)],
    order: encodeOrder({
      argv: [node, WITHOUT_CONFIGURATION, ...args], env: {}, descriptors: [3, 4],
      wall: { rules: ruleSet({ run: files }), filter, limits, ...(isOtherUser && { user: { uid: id, gid: id } }) },
    }),
  }
}

export interface ProvenLauncher {
  readonly launcher: OsLayer<LauncherMeans>
  readonly seccomp: OsLayers['seccomp']
}

export const without = (reason: string): ProvenLauncher => ({
  launcher: inactive(reason), seccomp: inactive('neither bubblewrap nor the launcher works here, which would set it'),
})

/**
 * The launcher in the strictest form that works here, and its filter. First an attacker tries all promises of the wall,
 * then a hull starts behind it.
 */
export async function provenLauncher(
  architecture: string, files: readonly string[], { isRoot, find, trials, failureOf }: Omit<LayerTrial<LauncherMeans>, 'failureOf'> & {
    readonly trials: KeptTrials
    failureOf(launcher: OsLayer<LauncherMeans>, seccomp: OsLayers['seccomp']): Promise<string | undefined>
  },
): Promise<ProvenLauncher> {
  const wall = await trials.answer(['launcher', ...files], () => provenHullWall(files), ({ stands }) => stands)
  if (!wall.stands) return without(wall.reason)
  const filter = launcherFilter({ ...POWERS, confinesSignals: wall.confinesSignals }, architecture)
  if (filter === undefined) return without(`the numbers of system calls on ${architecture} are not known`)
  const seccomp = { active: true, filter } as const
  const forms = [...(isRoot ? [{ files, isOtherUser: true }] : []), { files, isOtherUser: false }]
  const launcher = await provenForm<typeof forms[number], LauncherMeans>({
    isRoot, find,
    // The test process reports about itself from /proc.
    failureOf: (layer) => failureOf(layer.active ? { ...layer, files: [...files, '/proc'] } : layer, seccomp),
  }, forms)
  return launcher.active ? { launcher, seccomp } : without(launcher.reason)
}

/** With the places of the trial, but without /proc: Node must start without it. */
const provenHullWall = (files: readonly string[]): Promise<WallTrial> =>
  provenWall(POWERS, ({ seen, own }) => ruleSet({ run: files, read: [seen], write: [own] }))

/** What the test process must report about itself. */
export const promisesOfLauncher = ({ isOtherUser, namespaces }: LauncherMeans): InsidePromises =>
  ({ emptySets: ['CapEff', 'CapPrm', 'CapInh'], isOtherUser, namespaces })
