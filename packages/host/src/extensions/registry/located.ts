import { BulkheadError } from '@bulkhead/contract'
import { isJsonObject } from '@bulkhead/kit/json'

/** Whatever `work` throws says in `data.path` where in the manifest it lies: at `base`, or below it. */
export function located<Value>(base: string, work: () => Value): Value {
  try {
    return work()
  } catch (thrown) {
    const error = BulkheadError.from(thrown)
    throw new BulkheadError(error.code, error.message, { cause: error.cause, data: { path: base + pathOf(error) } })
  }
}

export const pathOf = ({ data }: BulkheadError): string => isJsonObject(data) && typeof data['path'] === 'string' ? data['path'] : ''
