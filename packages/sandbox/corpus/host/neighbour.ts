import type { CompartmentSession } from '@bulkhead/contract'
import { DEFAULT_LIMITS, NO_GRANT } from '@bulkhead/contract'
import { createSandbox } from '../../src/index.ts'
import type { AttackPlacement } from '../model/case.ts'

const SOURCE = 'export default { tools: { greet: { execute: ({ name }) => `hello ${name}` } } }'
const ANSWER_MS = 60_000

/** An honest extension in the same placement as the attacker's. */
export interface Neighbour {
  /** `hello you`, or why there is no answer. Contract: never rejects. */
  answer(): Promise<string>
}

export async function openNeighbour(placement: AttackPlacement): Promise<Neighbour> {
  const session: CompartmentSession = await createSandbox({ workspace: '/', spares: { process: 0, thread: 0 } }).open({
    extension: { id: 'neighbour', version: '1.0.0', layer: 'global' },
    placement,
    code: { kind: 'files', main: './index.js', files: new Map([['index.js', Buffer.from(SOURCE)]]) },
    tools: [{ name: 'greet', grant: NO_GRANT, inputSchema: { type: 'object' }, requires: {} }],
    config: {},
    limits: DEFAULT_LIMITS,
    services: { log: () => undefined, env: new Map(), envDeclared: new Set() },
  })
  let greeted = 0
  return {
    answer: () => session.call({
      callId: `greet-${++greeted}`, tool: 'greet', args: { name: 'you' }, signal: AbortSignal.timeout(ANSWER_MS),
    }).then(String, String),
  }
}
