import type { InteractionEnvelope, Interactor } from '@bulkhead/contract'
import type { InstallPlan, Verdict } from '@bulkhead/loader'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { agree, readConsent } from '../src/cli/review.ts'

const planOf = (verdict: Verdict) =>
  ({
    extension: { id: 'weather', version: '2.0.0', digests: { package: 'ab'.repeat(64) } }, verdict,
  }) as unknown as InstallPlan
const first = planOf({ kind: 'consent', explicit: false, reasons: ['new'] })
const wider = planOf({ kind: 'consent', explicit: true, reasons: ['adds net: b.example'] })
const refused = planOf({ kind: 'refused', message: 'No.' })

function person(value: boolean | 'gone') {
  const asked: InteractionEnvelope[] = []
  const interactor: Interactor = {
    interact: async (envelope) => {
      asked.push(envelope)
      return value === 'gone' ? { status: 'rejected' } : { status: 'accepted', value }
    },
  }
  return { asked, interactor }
}
const outcome = (plan: InstallPlan, over: Partial<Parameters<typeof agree>[1]>) =>
  agree(plan, { yes: false, accept: undefined, interactor: undefined, ...over }).then(
    () => 'agreed', (error: unknown) => BulkheadError.from(error).code,
  )

describe('consent', () => {
  it.each([
    ['is not needed if nothing is added', planOf({ kind: 'silent' }), {}, 'agreed'],
    ['is required without a user', first, {}, 'ConsentRequired'],
    ['is given to a new package by --yes', first, { yes: true }, 'agreed'],
    ['is not given to added powers by --yes', wider, { yes: true }, 'ConsentRequired'],
    ['is given to added powers by --accept with the digest', wider, { accept: 'ab'.repeat(6) }, 'agreed'],
    ['is not given by the digest of another package', wider, { accept: 'cd'.repeat(6) }, 'ConsentRequired'],
    [
      'is not given by another digest, even if none is needed', planOf({ kind: 'silent' }), { accept: 'cd'.repeat(6) },
      'ConsentRequired',
    ],
    ['comes after the refusal of the policy', refused, { accept: 'cd'.repeat(6) }, 'UpdateRefused'],
    [
      'cannot override the refusal of the policy', refused,
      { yes: true, accept: 'ab'.repeat(6), interactor: person(true).interactor }, 'UpdateRefused',
    ],
  ])('%s', async (_, plan, over, expected) => expect(await outcome(plan, over)).toBe(expected))

  it.each([
    [true, 'agreed'], [false, 'ConsentRequired'], ['gone', 'ConsentRequired'],
  ] as const)('depends on the answer %s', async (value, expected) => {
    const { asked, interactor } = person(value)
    expect(await outcome(wider, { yes: true, interactor })).toBe(expected)
    expect(asked).toMatchObject([{ request: { kind: 'Confirm', prompt: expect.stringContaining('weather 2.0.0') } }])
  })
})

it.each(['', 'ab', 'AB'.repeat(6), 'xy'.repeat(6), 'ab'.repeat(65)])('--accept %s is rejected', (accept) => {
  expect(() => readConsent({ accept })).toThrow(/takes the digest that --dry-run shows/)
})
