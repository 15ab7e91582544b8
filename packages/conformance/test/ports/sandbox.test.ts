import { PLACEMENTS, type Placement, type Sandbox } from '@bulkhead/contract'
import { createSandbox } from '@bulkhead/sandbox'
import { afterEach, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { SANDBOX_REQUIREMENTS, verifySandbox, type SandboxTarget } from '../../src/index.ts'
import { brokenBy, expectEachBroken, faultsIn } from './gate.ts'
import { FAULTY_SANDBOXES } from './sandbox-faults.ts'

const opened: Sandbox[] = []
/** A faulty one may not close. */
afterEach(async () => {
  for (const sandbox of opened.splice(0)) await sandbox.close()
})

const ours = (placement: Placement, wrap = (sandbox: Sandbox) => sandbox): SandboxTarget => ({
  placement, create({ workspace }) {
    const sandbox = createSandbox({ workspace, spares: { process: 0, thread: 0 } })
    opened.push(sandbox)
    return wrap(sandbox)
  },
})

async function meetsAll(placement: Placement): Promise<void> {
  const { checks, summary } = await verifySandbox(ours(placement))
  expect(checks.filter(({ ok }) => ok !== true)).toEqual([])
  expect(summary.conforms).toBe(true)
}
it('our sandbox meets every requirement in the placement thread', () => meetsAll('thread'))
it.each(PLACEMENTS.filter((placement) => placement !== 'thread'))(
  'our sandbox meets every requirement in the placement %s', LONG, meetsAll,
)

it('each requirement on a sandbox can be broken', () => expectEachBroken(SANDBOX_REQUIREMENTS, FAULTY_SANDBOXES))

/** `pnpm soak` tries all of them. */
const SAMPLED = new Set(['calls back twice'])
const tried = Object.entries(FAULTY_SANDBOXES).filter(([name]) => thoroughly(SAMPLED.has(name), true))
it.each(tried)('finds a sandbox that %s', async (_, { breaks, wrap }) => {
  const only = brokenBy(SANDBOX_REQUIREMENTS, breaks)
  expect(faultsIn(await verifySandbox(ours('thread', wrap), { only, patienceMs: 5000 }))).toEqual(breaks.toSorted())
})

it('skips the checks of an experiment that could not be done, also if it hangs', async () => {
  const failing: SandboxTarget = { create: () => Promise.reject(new Error('no sandbox')) }
  const { checks, summary } = await verifySandbox(failing, { only: ['close'] })
  expect(checks).toMatchObject(checks.map(() => ({ ok: null, evidence: expect.stringContaining('no sandbox') })))
  expect(summary).toMatchObject({ conforms: false, must: { skipped: 4 } })
  const hanging: SandboxTarget = { create: () => new Promise(() => {}) }
  const { checks: [check] } = await verifySandbox(hanging, { only: ['sandbox-close'], patienceMs: 1 })
  expect(check).toMatchObject({ id: 'sandbox-close', ok: null, evidence: 'it never settled' })
  await expect(verifySandbox(failing, { only: ['sandbox-clos'] })).rejects.toMatchObject({
    code: 'ConfigInvalid', message: expect.stringContaining('"sandbox-close"'),
  })
})
