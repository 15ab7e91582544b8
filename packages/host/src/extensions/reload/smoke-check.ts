import { BulkheadError, type Clock, type Layer } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { settlesWithin } from '../../model/bounded-wait.ts'
import type { Extension } from '../lifecycle/extension.ts'
import type { Starter } from '../lifecycle/extension-parts.ts'

/** A new generation that runs and is not offered yet, for a check of the embedder's own. */
export interface Trial {
  readonly id: string
  readonly version: string
  readonly layer: Layer
  readonly generation: number
  readonly tools: readonly string[]
  /** Straight into the compartment: within the grant of the tool, without the policy of any session. */
  call(tool: string, args: JsonObject): Promise<Json>
}

/** A throw keeps the generation from taking over. */
export type SmokeCheck = (trial: Trial) => void | Promise<void>

/**
 * Starts a generation and sees whether it stands: its code was imported and offers what its manifest says, `init` and
 * `activate` succeeded, and it is still alive afterwards. Rejects with what is wrong; whoever asked stops it.
 */
export async function prove(
  extension: Extension, { check, starter, clock }: { check: SmokeCheck | undefined; starter: Starter | undefined; clock: Clock },
): Promise<void> {
  await extension.start(starter)
  if (check) await withinTime(extension, check, clock)
  // What its last phase left behind, such as a rejection nobody handles, has had its chance to end it.
  await new Promise<void>((resolve) => { setImmediate(resolve) })
  if (extension.state === 'active') return
  const { id } = extension.descriptor
  throw extension.fault ?? new BulkheadError('CompartmentCrashed', `The compartment of "${id}" ended right after it was activated.`)
}

async function withinTime(extension: Extension, check: SmokeCheck, clock: Clock): Promise<void> {
  const ending = new AbortController()
  const checked = (async () => check(trialOf(extension, ending.signal)))()
  const { phaseMs } = extension.arrangement.limits
  try {
    if (await settlesWithin(clock, phaseMs, checked)) return await checked
    checked.catch(() => {})
    const message = `The smoke check of "${extension.descriptor.id}" took longer than ${phaseMs} ms.`
    throw new BulkheadError('LifecycleTimeout', message, { data: { extension: extension.descriptor.id } })
  } catch (thrown) {
    throw BulkheadError.from(thrown, 'LifecycleFailure')
  } finally {
    ending.abort(new BulkheadError('ToolCancelled', 'The smoke check is over.'))
  }
}

function trialOf(extension: Extension, signal: AbortSignal): Trial {
  const { descriptor: { id, version, layer, manifest }, generation } = extension
  let calls = 0
  return {
    id, version, layer, generation,
    tools: manifest.tools.map(({ name }) => name),
    async call(tool, args) {
      const compartment = await extension.start()
      return compartment.call({ callId: `smoke-check-${++calls}`, tool, args, signal })
    },
  }
}
