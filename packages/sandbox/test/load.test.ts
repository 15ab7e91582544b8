import type { CompartmentRequest } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { checkOffers } from '../src/session/open.ts'

const request = {
  extension: { id: 'sample', version: '1.0.0', layer: 'global' },
  tools: [{ name: 'run', grant: {}, inputSchema: { type: 'object' }, requires: {} }],
} as unknown as CompartmentRequest

const offering = (...names: readonly string[]): Json => ({ tools: names.map((name) => ({ name })), phases: [] })

function refusalOf(reply: Json): string {
  try {
    checkOffers(reply, request)
  } catch (error) {
    return String((error as Error).message)
  }
  throw new Error('nothing was refused')
}

it('names the tools that only the manifest or only the code has', () => {
  expect(refusalOf(offering('jump', 'fly'))).toBe(
    'The code of sample does not match its manifest: the manifest declares run, which the code does not offer; '
    + 'the code offers jump, fly, which the manifest does not declare. Make both agree.',
  )
})

it('lists only a few of the undeclared names', () => {
  const names = Array.from({ length: 10_000 }, (_, n) => `t${n}`)
  expect(refusalOf(offering('run', ...names))).toContain('the code offers t0, t1, t2, t3, t4 and 9995 more, which')
})

it('does not repeat an invalid tool name', () => {
  const refusal = refusalOf(offering('run', `\u001b[2J${'x'.repeat(1_000_000)}`))
  expect(refusal).toContain('the code offers (invalid name), which')
  expect(refusal.length).toBeLessThan(300)
})

it('accepts code that matches the manifest', () => {
  expect(checkOffers(offering('run'), request)).toEqual({ phases: new Set(), approvalKeys: new Set() })
})
