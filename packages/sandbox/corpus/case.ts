import type { CompartmentLimits, ErrorCode, LifecyclePhase } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { HostFate } from './run/verdict.ts'

/** The placements a stranger's code can be given. Inline is for code of ours only. */
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
  J: 'loading of modules',
  K: 'poisoned realms',
  L: 'internal ports and other threads',
  M: 'the wire of Comlink',
  N: 'data that crosses',
  O: 'exhaustion',
  P: 'lifecycle',
  Q: 'manifests and packages',
  R: 'old memory and side channels',
} as const
export type Section = keyof typeof SECTIONS

/** What a step of a script came to. */
export type Outcome = { readonly returned: Json } | { readonly refused: ErrorCode }

/** What the host does with the compartment of an attack. `open` is done first, whether a script names it or not. */
export type Step = 'open' | LifecyclePhase | 'call' | 'calls' | 'derive' | 'close' | 'ended' | 'reopen'

export interface Attack {
  /** The number of corpus.md up to 264; beyond it, attacks that were added. */
  readonly id: number
  readonly section: Section
  readonly title: string
  /** The body of `async (facts, runtime) => report`, with the names of `extensions/attacker.js` in scope. */
  readonly body: string
  /** More files of the package, by path; one named `index.js` takes the place of the whole extension. */
  readonly files: Readonly<Record<string, string | Uint8Array>>
  /** `wire`: the worker itself is the attacker's, and the body gets the raw channel to the host in place of a runtime. */
  readonly in: 'compartment' | 'wire'
  /** In a compartment of its own, because others in it would notice. */
  readonly alone: boolean
  readonly requires: JsonObject
  /** Hosts of a secret that the tool may use and not see, which is the one of the ground; none: it has no secret. */
  readonly secretHosts: readonly string[]
  readonly limits: Partial<CompartmentLimits>
  /** When the host gives a call up, in ms. */
  readonly deadlineMs: number
  /** What the host does and must see, in order. */
  readonly script: readonly (readonly [Step, Outcome])[]
  /** Which placements must contain it. */
  readonly placements: readonly AttackPlacement[]
  /** What a system must have for that: `descriptor paths` are those of Linux where /proc is mounted, `namespaces` are made by `unshare`. */
  readonly where: 'everywhere' | 'descriptor paths' | 'namespaces'
  /**
   * `system without bubblewrap`: in a process neither lockdown nor permission stands, as for code that has broken out of Node, and
   * bubblewrap is not installed. In a thread, which the system cannot hold, nothing is gone.
   */
  readonly heldBy: 'all layers' | 'system without bubblewrap'
  /** Which folder of the ground is the workspace. */
  readonly workspace: 'work' | 'w*rk' | 'a,b'
  /** What the host does while the attack runs. */
  readonly meanwhile: 'nothing' | 'swaps a link' | 'calls the tool that asks' | 'frees secrets'
  /** Whether it succeeds in a thread is luck: it counts as not contained there, whatever is seen. */
  readonly lucky: boolean
  /** In a process: the share of its time for which the host may be kept busy. */
  readonly busyShare: number
  /** Where it need not be contained, and chance decides what becomes of the host: each that may. */
  readonly fates: readonly HostFate['kind'][]
  /** Where it need not be contained: how long the host is watched before it is taken for stuck or blocked, in ms. */
  readonly patienceMs: number
  /**
   * Whether the same code reaches its aim where nothing confines it: a thread of the host with lockdown and permission
   * off, or a host without the gate. `inert`: Node itself refuses it in every worker.
   */
  readonly control: 'reaches' | 'inert' | 'none'
}

export type AttackOptions = Partial<Omit<Attack, 'id' | 'section' | 'title' | 'body'>>

/** What tools of the corpus are granted: one folder to read, one below it to write, one file of its own. */
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

/** Attacks of one section: by default one call whose report must be exactly this. */
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
