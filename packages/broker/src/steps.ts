import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { stringArgument, type Capabilities } from './model/capability.ts'

const NAME_CHARS = 128

const nameOf = (args: readonly Json[]): string => stringArgument(args, 0, 'The name of the step', NAME_CHARS)

/** Steps of a call. Every tool may have some: the host keeps their results, and the tool gets no power by them. */
export const stepCapability: Capabilities = {
  /** null: the step must run, and `step.end` follows. */
  async 'step.begin'({ steps }, args) {
    const kept = await steps?.begin(nameOf(args))
    return kept === undefined ? null : { result: kept.result }
  },
  /** Without a result: the step failed. Returns what is kept. */
  async 'step.end'({ steps }, args) {
    const { result } = isJsonObject(args[1]) ? args[1] : { result: undefined }
    await steps?.end(nameOf(args), result)
    return result === undefined ? null : { result }
  },
}
