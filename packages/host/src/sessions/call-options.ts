import { BulkheadError, requireOptions } from '@bulkhead/contract'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import type { CallOptions } from '../calls/receive.ts'
import type { CallAllOptions } from './session.ts'

/** Options as they can be used; `wrong` says why they cannot be. */
export type ReadOptions<Options> = Options & { readonly wrong?: BulkheadError }

const ONE: OptionForms<CallOptions> = {
  signal: forms.signal,
  // Looked at together with the call.
  timeoutMs: forms.anything,
}
const ALL: OptionForms<CallAllOptions> = { ...ONE, strategy: forms.anything, steering: forms.method }

/** A call ends in an outcome whatever it is given: what cannot be used becomes its error. Contract: never throws. */
export const readCallOptions = (options: CallOptions): ReadOptions<CallOptions> => read('call', options, ONE)
export const readCallAllOptions = (options: CallAllOptions): ReadOptions<CallAllOptions> => read('callAll', options, ALL)

function read<Options extends object>(called: string, options: Options, table: OptionForms<Options>): ReadOptions<Options> {
  try {
    requireOptions(called, options, table)
    return options
  } catch (thrown) {
    const { message, data } = BulkheadError.from(thrown)
    return { wrong: new BulkheadError('InputInvalid', message, { data: data ?? null }) } as ReadOptions<Options>
  }
}
