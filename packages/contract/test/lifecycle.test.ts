import { describe, expect, it } from 'vitest'
import {
  LIFECYCLE, LIFECYCLE_PHASES, LIFECYCLE_STATES, nextState, type LifecycleSignal, type LifecycleState,
} from '../src/model/lifecycle.ts'

const SIGNALS: readonly LifecycleSignal[] = [
  'init', 'initialised', 'activate', 'activated', 'drain', 'drained', 'dispose', 'fail',
]
const transitions = LIFECYCLE_STATES.flatMap((from) => SIGNALS.flatMap((signal) => {
  const to = nextState(from, signal)
  return to ? [{ from, signal, to }] : []
}))
const reachable = (from: LifecycleState, seen = new Set<LifecycleState>([from])): ReadonlySet<LifecycleState> => {
  const next = transitions.filter((step) => step.from === from && !seen.has(step.to))
  for (const { to } of next) reachable(to, seen.add(to))
  return seen
}

describe('the lifecycle', () => {
  it('has these transitions', () => {
    expect(transitions.map(({ from, signal, to }) => `${from} ${signal} ${to}`)).toEqual([
      'validated init initialising', 'validated dispose disposed',
      'initialising initialised loaded', 'initialising fail failed',
      'loaded activate activating', 'loaded dispose disposed', 'loaded fail failed',
      'activating activated active', 'activating fail failed',
      'active drain draining', 'active fail failed',
      'draining drained inactive', 'draining fail failed',
      'inactive activate activating', 'inactive dispose disposed', 'inactive fail failed',
      'failed init initialising', 'failed dispose disposed',
    ])
    expect(LIFECYCLE_PHASES).toEqual(['init', 'activate', 'deactivate', 'dispose'])
  })

  it('has only known states and listed transitions', () => {
    expect(Object.keys(LIFECYCLE).toSorted()).toEqual([...LIFECYCLE_STATES].toSorted())
    expect(transitions.every(({ to }) => LIFECYCLE_STATES.includes(to))).toBe(true)
    expect(Object.values(LIFECYCLE).flatMap((cells) => Object.keys(cells))).toHaveLength(transitions.length)
  })

  it('reaches every state from validated, and disposed from every state', () => {
    expect([...reachable('validated')].toSorted()).toEqual([...LIFECYCLE_STATES].toSorted())
    for (const state of LIFECYCLE_STATES) expect(reachable(state)).toContain('disposed')
  })

  it('has no transition out of disposed', () => {
    for (const signal of SIGNALS) expect(nextState('disposed', signal)).toBeUndefined()
  })

  it('has no transition by an inherited name', () => {
    expect(nextState('active', 'constructor' as LifecycleSignal)).toBeUndefined()
  })
})
