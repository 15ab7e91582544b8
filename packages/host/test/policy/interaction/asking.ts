import type { InteractionRequest, Outcome } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { SessionOptions } from '../../../src/index.ts'
import type { MemoryStore } from '../../twin/store.ts'
import { createWorld, type ExtensionSketch, type TwinRuntime, type WorldSketch } from '../../twin/world.ts'

export const ask = (prompt: string): InteractionRequest => ({ kind: 'Ask', prompt })

/** A tool that asks these questions one after the other and returns the answers. */
export const asking = (questions: readonly InteractionRequest[], more: ExtensionSketch = {}): ExtensionSketch => ({
  tools: {
    quiz: {
      requires: { capabilities: ['interact'] }, mode: 'safe_write', gated: false,
      execute: async (_, { services, callId, signal }: TwinRuntime) => {
        const answers: Json[] = []
        for (const question of questions) {
          const response = await services.interact!(callId, question, signal)
          answers.push(response.status === 'accepted' ? response.value : response.status)
        }
        return answers
      },
    },
  },
  ...more,
})
export const CALL = { id: 'q1', name: 'quiz', arguments: { about: 'ships' } }

export async function opened(
  store: MemoryStore, extension: ExtensionSketch, options: SessionOptions = { pause: true }, sketch: WorldSketch = {},
) {
  const world = createWorld({ store, extensions: [extension], ...sketch })
  return { world, session: await world.host.openSession(options) }
}
export function pausedIn(outcome: Outcome): string {
  if (outcome.type !== 'error' || outcome.error.code !== 'ClarificationNeeded') throw new Error(JSON.stringify(outcome))
  return (outcome.error.data as { readonly paused: string }).paused
}
