import { coreSatisfies } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { validRange } from 'semver'
import type { Shaped, Terms } from '../describe/extension.ts'
import { pass, refuse, type StageResult } from '../model/result.ts'

/** This host lies in the range the extension was tested with. */
export function requiredCoreVersion(shaped: Shaped, { coreVersion }: Terms): StageResult<Shaped> {
  const range = shaped.manifest.requiredCoreVersion
  if (coreSatisfies(range, coreVersion)) return pass(shaped)
  const readable = validRange(range) !== null
  return refuse({
    stage: 'requiredCoreVersion', code: 'RequiredCoreVersionMismatch', path: '/requiredCoreVersion',
    message: readable
      ? `The extension asks for a host in ${visibleText(range)}; this host is ${coreVersion}.`
      : `"${visibleText(range)}" is not a range of versions.`,
    ...(!readable && { cure: 'Write a range such as ^1.0.0.' }),
  })
}
