import type { ConfigFile, LayerConfig } from '@bulkhead/contract'

/** How long approvals last. */
export interface ApprovalTerms {
  /** undefined: as long as the session. */
  readonly sessionMs: number | undefined
  readonly projectMs: number
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const PROJECT_DAYS = 30

type Term = keyof NonNullable<ConfigFile['approvals']>

/** The nearest layer decides, as for any other setting; but a project's own file can only make it shorter. */
export function approvalTerms(layers: readonly LayerConfig[]): ApprovalTerms {
  const days = termOf('projectDays', layers, PROJECT_DAYS)
  const minutes = termOf('sessionMinutes', layers, Infinity)
  return { projectMs: days * DAY_MS, sessionMs: Number.isFinite(minutes) ? minutes * MINUTE_MS : undefined }
}

function termOf(name: Term, layers: readonly LayerConfig[], standard: number): number {
  const said = (of: (layer: LayerConfig['layer']) => boolean) =>
    layers.filter(({ layer }) => of(layer)).map(({ config }) => config.approvals?.[name]).findLast((term) => term !== undefined)
  return Math.min(said((layer) => layer !== 'project') ?? standard, said((layer) => layer === 'project') ?? Infinity)
}
