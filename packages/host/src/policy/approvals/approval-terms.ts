import type { ConfigFile, LayerConfig } from '@bulkhead/contract'

/** Which approvals there are, and how long they last. */
export interface ApprovalTerms {
  /** Whether approvals for a project are given, and count. */
  readonly forProject: boolean
  /** undefined: as long as the session. */
  readonly sessionMs: number | undefined
  readonly projectMs: number
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const PROJECT_DAYS = 30

type Approvals = NonNullable<ConfigFile['approvals']>
type Term = 'projectDays' | 'sessionMinutes'

/** Each call looks at them, and they change with a reload only. */
const known = new WeakMap<readonly LayerConfig[], ApprovalTerms>()

/** The nearest layer decides, as for any other setting. A project and the machine can only restrict. */
export const approvalTerms = (layers: readonly LayerConfig[]): ApprovalTerms =>
  known.getOrInsertComputed(layers, () => {
    const days = termOf('projectDays', layers, PROJECT_DAYS)
    const minutes = termOf('sessionMinutes', layers, Infinity)
    return {
      forProject: last('project', layers, (layer) => !onlyRestricts(layer)) === true
        && layers.every(({ layer, config }) => !onlyRestricts(layer) || config.approvals?.project !== false),
      projectMs: days * DAY_MS, sessionMs: Number.isFinite(minutes) ? minutes * MINUTE_MS : undefined,
    }
  })

function termOf(name: Term, layers: readonly LayerConfig[], standard: number): number {
  const of = (one: LayerConfig['layer']) => last(name, layers, (layer) => layer === one)
  const shortest = [of('project'), of('machine')].filter((term) => term !== undefined)
  return Math.min(last(name, layers, (layer) => !onlyRestricts(layer)) ?? standard, ...shortest)
}

const onlyRestricts = (layer: LayerConfig['layer']): boolean => layer === 'project' || layer === 'machine'

const last = <Name extends keyof Approvals>(
  name: Name, layers: readonly LayerConfig[], of: (layer: LayerConfig['layer']) => boolean,
): Approvals[Name] | undefined => layers.filter(({ layer }) => of(layer))
  .map(({ config }) => config.approvals?.[name]).findLast((value) => value !== undefined)
