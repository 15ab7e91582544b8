export const LIFECYCLE_PHASES = ['init', 'activate', 'deactivate', 'dispose'] as const
/** The phases that the code of an extension may implement. A missing phase is a no-op. */
export type LifecyclePhase = (typeof LIFECYCLE_PHASES)[number]

export const LIFECYCLE_STATES = [
  'validated', 'initialising', 'loaded', 'activating', 'active', 'draining', 'inactive', 'disposed', 'failed',
] as const
export type LifecycleState = (typeof LIFECYCLE_STATES)[number]
export type LifecycleSignal =
  | 'init' | 'initialised' | 'activate' | 'activated' | 'drain' | 'drained' | 'dispose' | 'fail'

/** All transitions. An absent cell is an impossible transition. */
export const LIFECYCLE = {
  validated: { init: 'initialising', dispose: 'disposed' },
  initialising: { initialised: 'loaded', fail: 'failed' },
  loaded: { activate: 'activating', dispose: 'disposed', fail: 'failed' },
  activating: { activated: 'active', fail: 'failed' },
  active: { drain: 'draining', fail: 'failed' },
  draining: { drained: 'inactive', fail: 'failed' },
  inactive: { activate: 'activating', dispose: 'disposed', fail: 'failed' },
  failed: { init: 'initialising', dispose: 'disposed' },
  disposed: {},
} as const satisfies Record<LifecycleState, Partial<Record<LifecycleSignal, LifecycleState>>>

export function nextState(state: LifecycleState, signal: LifecycleSignal): LifecycleState | undefined {
  const cells: Partial<Record<LifecycleSignal, LifecycleState>> = LIFECYCLE[state]
  return Object.hasOwn(cells, signal) ? cells[signal] : undefined
}
