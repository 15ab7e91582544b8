import { createSandbox } from '@bulkhead/sandbox'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { verifySandbox, type SandboxTarget } from '../../src/index.ts'

const ours = (placement: 'thread' | 'process'): SandboxTarget => ({
  placement, create: ({ workspace }) => createSandbox({ workspace, spares: { process: 0, thread: 0 } }),
})

it.each(thoroughly(['thread'] as const, ['thread', 'process'] as const))('our sandbox meets every requirement in a %s', async (placement) => {
  const { checks, summary } = await verifySandbox(ours(placement))
  expect(checks.filter(({ ok }) => ok !== true)).toEqual([])
  expect(summary.conforms).toBe(true)
})
