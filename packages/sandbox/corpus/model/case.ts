import type { CompartmentLimits, ErrorCode, LifecyclePhase } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { HostFate } from './fate.ts'

/** The placements of third-party code. Inline is for our own code only. */
export const PLACEMENTS = ['process', 'thread'] as const
export type AttackPlacement = (typeof PLACEMENTS)[number]

export const SECTIONS = {
  A: 'files by path',
  B: 'links',
  C: 'descriptors',
  D: 'writes to files',
  E: 'other storage',
  F: 'network',
  G: 'processes and native code',
  H: 'signals and the state of the process',
  I: 'inspector, V8 and vm',
  J: 'module loading',
  K: 'globals and prototypes',
  L: 'internal ports and other threads',
  M: 'messages of Comlink',
  N: 'data sent to the host',
  O: 'exhaustion of resources',
  P: 'lifecycle',
  Q: 'manifests and packages',
  R: 'old memory and side channels',
} as const
export type Section = keyof typeof SECTIONS

/** The result of a step. */
export type Outcome = { readonly returned: Json } | { readonly refused: ErrorCode }

/**
 * What the host does with the compartment of an attack. `open` always comes first, even if a script does not name it.
 */
export type Step = 'open' | LifecyclePhase | 'call' | 'calls' | 'derive' | 'close' | 'ended' | 'reopen'

export interface Attack {
  /** Up to 264 the number in corpus.md; above that, attacks that were added later. */
  readonly id: number
  readonly section: Section
  readonly title: string
  /** The body of `async (facts, runtime) => report`, with the names of `extensions/attacker.js` in scope. */
  readonly body: string
  /** Further files of the package, by path. `index.js` replaces the whole extension. */
  readonly files: Readonly<Record<string, string | Uint8Array>>
  /** `wire`: the attacker controls the worker, and the body gets the raw channel to the host instead of a runtime. */
  readonly in: 'compartment' | 'wire'
  /** Runs in its own compartment, because it would disturb other attacks. */
  readonly alone: boolean
  readonly requires: JsonObject
  /** Hosts of the secret that the tool may use but not see. Empty: it has no secret. */
  readonly secretHosts: readonly string[]
  readonly limits: Partial<CompartmentLimits>
  /** When the host cancels a call, in ms. */
  readonly deadlineMs: number
  /** The steps of the host and their expected results, in order. */
  readonly script: readonly (readonly [Step, Outcome])[]
  /** The placements that must contain it. */
  readonly placements: readonly AttackPlacement[]
  /**
   * What the system needs for that: `descriptor paths` are in /proc on Linux, Landlock is set by the launcher, and
   * namespaces come from `unshare`.
   */
  readonly where: 'everywhere' | 'descriptor paths' | 'Landlock or namespaces'
  /**
   * `system without bubblewrap`: a process runs without lockdown, permission and bubblewrap, as for code that has
   * escaped from Node. A thread keeps all layers, because the system cannot confine it.
   */
  readonly heldBy: 'all layers' | 'system without bubblewrap'
  /** The folder of the target that is the workspace. */
  readonly workspace: 'work' | 'w*rk' | 'a,b'
  /** What the host does while the attack runs. */
  readonly meanwhile: 'nothing' | 'swaps a link' | 'calls the tool that asks' | 'frees secrets'
  /** Success in a thread depends on chance, so it always counts as not contained there. */
  readonly lucky: boolean
  /** In a process: the share of time for which the host may be busy. */
  readonly busyShare: number
  /** Where it need not be contained and the effect on the host depends on chance: every possible effect. */
  readonly fates: readonly HostFate['kind'][]
  /** Where it need not be contained: how long to wait before the host counts as stuck or blocked, in ms. */
  readonly patienceMs: number
  /**
   * Whether the same code succeeds where nothing confines it: in a thread without lockdown and permission, or in a host
   * without the gate. `inert`: Node itself prevents it in every worker.
   */
  readonly control: 'reaches' | 'inert' | 'none'
}

export type AttackOptions = Partial<Omit<Attack, 'id' | 'section' | 'title' | 'body'>>

/** The grant of every tool of the corpus: a folder to read, a folder below it to write, and one file to read. */
const REQUIRES: JsonObject = { fs: { read: ['own/**', 'exact.txt'], write: ['own/out/**'] } }

const DEFAULTS = {
  files: {},
  in: 'compartment',
  alone: false,
  requires: REQUIRES,
  secretHosts: [],
  limits: {},
  deadlineMs: 120_000,
  placements: PLACEMENTS,
  where: 'everywhere',
  heldBy: 'all layers',
  workspace: 'work',
  meanwhile: 'nothing',
  lucky: false,
  busyShare: 1,
  fates: [],
  patienceMs: 10_000,
  control: 'reaches',
} as const satisfies AttackOptions

export const returned = (value: Json): Outcome => ({ returned: value })
export const refused = (code: ErrorCode): Outcome => ({ refused: code })
export const DONE: Outcome = { returned: null }

type InSection = (id: number, title: string, body: string, expected: JsonObject | NonNullable<Attack['script']>,
  options?: AttackOptions) => Attack

/** Creates attacks of one section. By default an attack is one call with this exact report. */
export const attacksOf = (section: Section, common: AttackOptions = {}): InSection => (id, title, body, expected,
  options = {}) => ({
  ...DEFAULTS,
  ...common,
  ...options,
  id,
  section,
  title,
  body,
  script: isScript(expected) ? expected : [['call', returned(expected)]],
})

const isScript = (expected: JsonObject | Attack['script']): expected is Attack['script'] => Array.isArray(expected)
