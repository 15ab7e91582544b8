import { styleText } from 'node:util'
import type { Diagnostic } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/contract/plain'

/** Why something is not there that perhaps should be, for a person beside whatever a program reads. */
export const tellFaults = (found: readonly Diagnostic[]): void =>
  void process.stderr.write(found.filter(({ severity }) => severity === 'error').map((fault) => diagnosticText(fault)).join(''))

/** What was found, where it is, and what cures it, in a few lines for a person. */
export function diagnosticText(found: Diagnostic): string {
  const colour = found.severity === 'error' ? 'red' : 'yellow'
  const place = found.path === '' ? found.location : `${found.location} at ${found.path}`
  const fallback = found.fallbackTo === undefined ? '' : ` The one of the ${found.fallbackTo} layer serves instead.`
  return [
    '',
    `${styleText(colour, found.severity)} ${found.code} (${found.stage})${found.extensionId === null ? '' : ` in ${visibleText(found.extensionId)}`}`,
    `  ${visibleText(found.message)}${fallback}`,
    `  where: ${visibleText(place)}`,
    `  cure:  ${visibleText(found.cure)}`,
    '',
  ].join('\n')
}
