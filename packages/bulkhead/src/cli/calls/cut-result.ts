import type { Outcome } from '@bulkhead/contract'
import { hint } from '../output.ts'

/** Of a call whose session is over. The file of a long result was removed with it. */
export const withoutFile = ({ metadata: { output_path: _, output_cut: __, ...metadata }, ...body }: Outcome): Outcome =>
  ({ ...body, metadata }) as Outcome

/** Tells a person that the result is not all there is. */
export function tellCut({ metadata: { truncated = false, tool } }: Outcome): void {
  if (!truncated) return
  process.stderr.write(hint(
    'The result is long, so only a part is shown. To see more, raise '
      + `tools.${tool}.maxOutput or tools.${tool}.maxEntries with "bulkhead config set".\n`,
  ))
}
