/** What is asked of every extension, as data: each id is proved by the check of the same name. */
export const REQUIREMENTS = {
  'exports': 'The code offers exactly what the manifest declares.',
  'lifecycle-order': 'init, activate, deactivate and dispose each end well, in this order, within their time.',
  'dispose-idempotent': 'A second dispose does nothing and does not fail.',
  'worst-arguments': 'Arguments that are hostile but well formed get an answer or an error, and the compartment lives on.',
  'abort': 'A call that is cancelled does not bring its compartment down.',
} as const satisfies Record<string, string>

export type RequirementId = keyof typeof REQUIREMENTS

export interface ConformanceResult {
  readonly requirement: RequirementId
  readonly ok: boolean
  /** What happened, where it did not go well. */
  readonly detail?: string
}
