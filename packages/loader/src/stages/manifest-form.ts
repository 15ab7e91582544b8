import { contractCompatible, CONTRACT_VERSION, manifestSchema } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Shaped, Written } from '../describe/extension.ts'
import { placeIssues, pointerOf } from '../files/schema-issues.ts'
import { MAX_FAULTS, pass, type StageResult } from '../model/result.ts'

/** The manifest against its schema, defaults filled in. */
export function manifestForm(written: Written): StageResult<Shaped> {
  const { json, ...rest } = written
  const parsed = manifestSchema.safeParse(json)
  if (parsed.success) return pass({ ...rest, manifest: parsed.data })
  const newer = cureForOtherContract(json)
  const { manifestAt: { file, pointer }, origin } = rest
  return {
    ok: false,
    faults: placeIssues(parsed.error.issues, manifestSchema).slice(0, MAX_FAULTS).map(({ steps, message }) => ({
      stage: 'shape', code: 'ShapeInvalid', path: pointer + pointerOf(steps),
      message: `${visibleText(pointerOf(steps)) || 'The manifest'} ${message}.`,
      ...(origin.kind === 'files' && { file }), ...(newer !== undefined && { cure: newer }),
    })),
  }
}

/** A key this host does not know is most often a key of a later contract. */
function cureForOtherContract(json: Json): string | undefined {
  const wanted = isJsonObject(json) ? json['contractVersion'] : undefined
  if (typeof wanted !== 'string' || !/^\d+\.\d+\.\d+$/.test(wanted) || contractCompatible(wanted)) return undefined
  return `The manifest is written for contract ${wanted} and this host speaks ${CONTRACT_VERSION}: use a host that has it.`
}
