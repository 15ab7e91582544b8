import type { ConfigFile } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { createWorld } from '../twin/world.ts'

const ALLOW: ConfigFile = { rules: [{ permission: 'run', pattern: '*', action: 'allow' }] }
const ADVICE = 'Allow every call of run, whatever its arguments, in every session: bulkhead policy add run run allow'

async function explained(mode: 'local' | 'external', config: ConfigFile) {
  const { host } = createWorld({ extensions: [{ tools: { run: { mode, gated: true } } }], config })
  const session = await host.openSession({
    interactor: { interact: async () => ({ status: 'rejected' as const, reason: '' }) },
  })
  const { decision, remedies } = await session.explain({ id: 'c', name: 'run', arguments: {} })
  return { decision, advisesRule: remedies.includes(ADVICE) }
}

it('explain suggests a rule only if it would change the decision', async () => {
  expect(await explained('external', {})).toEqual({ decision: 'ask', advisesRule: true })
  expect(await explained('external', ALLOW)).toEqual({ decision: 'allow', advisesRule: false })
  expect(await explained('local', {})).toEqual({ decision: 'ask', advisesRule: true })
  expect(await explained('local', ALLOW)).toEqual({ decision: 'allow', advisesRule: false })
})
